"""Writes docs/flags.md and docs/commands.md, the pages of all flags, from what declares them: python docs/flags.py"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ctx_metrics.cli import command_parser
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.plugin.arguments import ContextFiles, add_run_arguments, installed_outputs
from ctx_metrics.registry import metric_table
from ctx_metrics.scoring.inputs import installed_inputs
from ctx_metrics.settings import add_flags

PAGE, COMMANDS_PAGE = (Path(__file__).with_name(name) for name in ("flags.md", "commands.md"))
HEAD = """\
# Flags

The flags of all metrics in the sacrebleu command, and those that they share; `ctx-metrics score` has them too.
`sacrebleu --help` names the main ones, `ctx-metrics flags slide` explains those of `slide`, `ctx-metrics flags` the shared
ones. A misspelt flag is an error that suggests the right one. For completion in the shell, run

    ctx-metrics completion bash > ~/.ctx-metrics.bash && echo '. ~/.ctx-metrics.bash' >> ~/.bashrc

`ctx-metrics completion --help` explains zsh and fish. In Python a metric's flag is a keyword of its class:
`--bertr-max-length 99` is `BERTR(max_length=99)`. The settings declare their flags
([why](decisions/04-settings-declare-their-flags.md)), and `python docs/flags.py` writes this page from them. The flags of
the `ctx-metrics` commands have [another page](commands.md).
"""
COMMANDS_HEAD = """\
# Flags of the commands

The flags of each `ctx-metrics` command, as in its `--help`. [Another page](flags.md) has the flags of metrics and the shared
ones. `python docs/flags.py` writes both pages.
"""
COMMANDS = [
    *("score", "compare", "report", "align", "annotate", "mbr", "rerank", "meta", "meta spans", "meta paraphrase"),
    *("pairwise rank", "roundtrip", "filter-refs", "paraphrase score", "paraphrase train", "train", "train pairwise"),
]
HEADER = "| flag | meaning | default |\n|---|---|---|\n"
SHARED = {
    "The files of a run": partial(add_flags, settings=ContextFiles),
    "Tests and output files": partial(add_run_arguments, wanted=["slide"], outputs=installed_outputs()),
    **{f"{each.title[:1].upper()}{each.title[1:]}": each.add_arguments for each in installed_inputs()},
    "Engine": partial(add_flags, settings=EngineOptions),
}


def table(parser: argparse.ArgumentParser, elsewhere: str = "") -> str:
    """A parser's table of flags, without the rows that are elsewhere."""
    return HEADER + "".join(row for row in rows(parser) if row not in elsewhere)


def rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS and "--help" not in action.option_strings:
            flag = formatter._format_action_invocation(action).replace("|", "\\|")
            text = formatter._expand_help(action).replace("|", "\\|").replace("][", "]\\[")  # which would be a link
            meaning, _, default = text.partition(" (Default: ")
            yield f"| `{flag}` | {meaning} | {default.removesuffix(')')} |\n"


def parser_of(add_arguments: Callable[[argparse.ArgumentParser], None]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    return parser


def parser_of_command(name: str) -> argparse.ArgumentParser:
    """The parser of a subcommand, such as "meta spans"."""
    parser = command_parser(name.split())
    for word in name.split():
        nested = parser._subparsers._group_actions[0].choices if parser._subparsers else {}
        parser = nested.get(word, parser)  # type: ignore[union-attr]  # `train pairwise` has one parser
    return parser


def page() -> str:
    """The text of the page."""
    known = metric_table()
    metrics = {name: known[name.upper()] for name in sorted(known.plugins)}
    ours = {name: cls.add_arguments for name, cls in metrics.items() if cls.__module__.startswith("ctx_metrics.")}
    return HEAD + "".join(f"\n## {title}\n\n{table(parser_of(add))}" for title, add in (ours | SHARED).items())


def commands_page() -> str:
    """The text of the page of the commands, which leaves out what `page` has."""
    shared = page()
    return COMMANDS_HEAD + "".join(f"\n## {name}\n\n{table(parser_of_command(name), shared)}" for name in COMMANDS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    COMMANDS_PAGE.write_text(commands_page(), encoding="utf-8")
