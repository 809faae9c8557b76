"""Words that shells complete, and the scripts that ask for them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture

from ctx_metrics.plugin.prompt import sacrebleu_parser
from ctx_metrics.registry import metric_table
from ctx_metrics.shell.completion import completions

METRICS = [name.lower() for name in metric_table()]
TYPED = {
    "ctx-metrics sc": ["score"],
    "ctx-metrics --ver": ["--version"],
    "ctx-metrics pairwise ": ["rank"],
    "ctx-metrics pairwise r": ["rank"],
    "ctx-metrics score --format j": ["jsonl", "json"],
    "ctx-metrics score -m bleu ch": ["chrf"],
    "ctx-metrics score -m ": METRICS,
    "ctx-metrics score --slide-w": [],  # slide is not named
    "ctx-metrics score -m slide --slide-w": ["--slide-window"],
    "ctx-metrics score -m comet --comet-inputs mt+s": ["mt+src", "mt+src+ref"],
    "ctx-metrics score --scale 1 ": [],  # its one value is there
    "ctx-metrics score --level segment s": ["segment", "system"],
    "ctx-metrics score -t sys": [],  # files are the shell's
    "ctx-metrics score --sou": ["--source"],  # not the hidden --sources
    "ctx-metrics flags rttb": ["rttbertscore", "rttbleu"],
    "ctx-metrics cite com": ["comet"],
    "ctx-metrics train pairwise --fea": ["--features"],
    "ctx-metrics completion f": ["fish"],
    "ctx-metrics nothing --x": [],
    "/usr/bin/sacrebleu -m slide --slide-w": ["--slide-window"],
    "sacrebleu --paired-b": ["--paired-bs", "--paired-bs-n"],
    "sacrebleu --doc": ["--docids"],
    "sacrebleu ref.txt -m bleu co": ["comet"],
    "sacrebleu --ctx-dtype ": ["fp32", "bf16", "fp16"],
    "sacrebleu -i a.txt --tokenize zh ": [],
}


@pytest.mark.parametrize("typed", TYPED)
def test_words_are_completed(typed):
    assert completions(typed.split(" ")) == TYPED[typed]


def test_nothing_typed_completes_to_nothing():
    assert completions([]) == completions(["ctx-metrics"]) == []


def test_the_command_of_sacrebleu_stays_as_it_was():
    import sacrebleu.sacrebleu as command

    before = {name: vars(command)[name] for name in ("argparse", "METRICS", "parse_args")}
    assert "--bertr-model" in sacrebleu_parser(["-m", "bertr"])._option_string_actions
    assert {name: vars(command)[name] for name in before} == before


def test_the_command_prints_a_line_for_each_word(ctx):
    assert ctx("completion", "words", "ctx-metrics", "score", "--format", "js") == (0, "jsonl\njson\n", "")
    assert ctx("completion", "words", "ctx-metrics", "score", "-t", "x") == (0, "", "")
    assert ctx("completion", "csh").code == 2
    assert "unrecognized arguments: --format" in ctx("completion", "bash", "--format").err


ASK = {
    "bash": "source {script}; COMP_WORDS=({words} '{last}'); COMP_CWORD={number}; _ctx_metrics; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
    "zsh": "compdef() {{ }}; compadd() {{ print -l -- $found }}; _files() {{ }}; source {script}; words=({words} '{last}'); "
    "CURRENT={number}+1; _ctx_metrics",
    "fish": "source {script}; complete -C '{words} {last}'",
}


@pytest.mark.full
@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize(
    "typed", ["ctx-metrics score -m bleu ch", "ctx-metrics score --format j", "sacrebleu --ctx-dtype "]
)
def test_shells_complete_with_the_script(ctx, tmp_path, shell, typed):
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    script = tmp_path / "script"
    script.write_text(ctx("completion", shell).out)
    *words, last = typed.split(" ")
    asked = ASK[shell].format(script=script, words=" ".join(words), last=last, number=len(words))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    start = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *start, "-c", asked], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    # fish adds nothing, but sorts
    assert sorted(done.stdout.split()) == sorted(TYPED[typed]), done.stderr
