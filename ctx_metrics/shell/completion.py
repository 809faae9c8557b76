"""Print a script that lets a shell complete the words of ctx-metrics and sacrebleu: subcommands, flags, metrics, choices.

bash: ctx-metrics completion bash > ~/.local/share/bash-completion/completions/ctx-metrics
      and in ~/.bashrc, for sacrebleu: source ~/.local/share/bash-completion/completions/ctx-metrics
zsh:  ctx-metrics completion zsh > ~/.ctx-metrics.zsh, and in ~/.zshrc, after compinit: source ~/.ctx-metrics.zsh
fish: ctx-metrics completion fish > ~/.config/fish/conf.d/ctx-metrics.fish
"""

import sys
from argparse import REMAINDER, SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..cli import command_parser
from ..plugin.prompt import sacrebleu_parser
from ..registry import metric_table
from ..settings import CommandLine, setting

SUMMARY = "print a script that lets bash, zsh or fish complete words"
ASK = "ctx-metrics completion words"  # run by the scripts; nothing is printed where the shell should offer files
SCRIPTS = {
    "bash": f"""\
_ctx_metrics() {{
    local IFS=$'\\n'
    COMPREPLY=($({ASK} "${{COMP_WORDS[@]:0:COMP_CWORD+1}}" 2>/dev/null))
}}
complete -o default -F _ctx_metrics ctx-metrics sacrebleu
""",
    "zsh": f"""\
_ctx_metrics() {{
    local -a found
    found=(${{(f)"$({ASK} "${{(@)words[1,CURRENT]}}" 2>/dev/null)"}})
    if (( $#found )); then compadd -a found; else _files; fi
}}
compdef _ctx_metrics ctx-metrics sacrebleu
""",
    "fish": f"""\
function __ctx_metrics
    set -l found ({ASK} (commandline -opc) (commandline -ct) 2>/dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c ctx-metrics -f -a '(__ctx_metrics)'
complete -c sacrebleu -f -a '(__ctx_metrics)'
""",
}


@dataclass(frozen=True)
class CompletionFlags:
    shell: Literal["bash", "zsh", "fish", "words"] = setting(
        "bash, zsh or fish; words is what the scripts ask, with the words typed so far", flag="SHELL"
    )
    typed: Sequence[str] = setting(SUPPRESS, (), flag="WORD", nargs=REMAINDER)


FLAGS = [CompletionFlags]


def run(line: CommandLine) -> int:
    asked = line[CompletionFlags]
    if asked.shell == "words":
        sys.stdout.writelines(f"{word}\n" for word in completions(asked.typed))
    elif asked.typed:
        line.error(f"unrecognized arguments: {' '.join(asked.typed)}")
    else:
        sys.stdout.write(SCRIPTS[asked.shell])
    return 0


def completions(typed: Sequence[str]) -> list[str]:
    """Return the completions of the last word typed, which may be empty; none where the name of a file is due.

    >>> completions(["ctx-metrics", "com"]), completions(["ctx-metrics", "score", "--format", "js"])
    (['compare', 'completion'], ['jsonl', 'json'])
    """
    if len(typed) < 2:
        return []
    program, *before, word = typed
    of_sacrebleu = Path(program).name == "sacrebleu"
    parser = sacrebleu_parser(before) if of_sacrebleu else _subparser(command_parser(before), before)
    if word.startswith("-"):
        # the help of sacrebleu's command leaves most of our flags out
        shown = [each for each in parser._actions if of_sacrebleu or each.help != SUPPRESS]
        found: Iterable[str] = [flag for each in shown for flag in each.option_strings if flag.startswith("--")]
    else:
        found = _values(parser, before)
    return [each for each in found if each.startswith(word)]


def _subparser(parser: ArgumentParser, words: Sequence[str]) -> ArgumentParser:
    """Return the parser of the subcommand that the words name, or of one that groups others."""
    for word in words:
        inner = next((each for each in parser._actions if isinstance(each, _SubParsersAction)), None)
        if inner is None or word not in inner.choices:
            break
        parser = inner.choices[word]
    return parser


def _values(parser: ArgumentParser, before: Sequence[str]) -> list[str]:
    """Return the values of the flag before the word, or else of positional arguments."""
    since = next((k for k, word in enumerate(reversed(before)) if word in parser._option_string_actions), None)
    if since is not None:
        flag = parser._option_string_actions[before[-1 - since]]
        if flag.nargs in ("+", "*") or (flag.nargs is None and since == 0):
            return _choices(flag)
    return [value for each in parser._actions if not each.option_strings for value in _choices(each)]


def _choices(action: Action) -> list[str]:
    if action.choices is not None:
        return [str(each) for each in action.choices]
    return [name.lower() for name in metric_table()] if action.metavar == "METRIC" else []
