"""No output replaces an input or another output, for every flag of every command, as its parser declares it."""

import argparse
import os
import re
import subprocess
import sys
from itertools import cycle, permutations

import pytest

from ctx_metrics.cli import checked, command_parser, main
from ctx_metrics.entry_points import installed
from ctx_metrics.errors import InputError
from ctx_metrics.paths import Reads, Writes, check_paths
from ctx_metrics.plugin.prompt import sacrebleu_parser
from ctx_metrics.registry import metric_table
from ctx_metrics.settings import CommandLine

SACREBLEU = "sacrebleu"
COMMANDS = sorted(each.name for each in installed("ctx_metrics.commands"))
WITH_METRICS = ("annotate", "compare", "mbr", "meta", "report", "rerank", "score")
# of a server; in `cite`, of a text
OF_NO_FOLDER = ("--judge-model", "--comet-model", "--slide-model", "--doccomet-model")
# what stands in --help for words that are no path; METRIC:SET and the like have a type
WORDS = set("CODE METRIC NAME NAMES PAIR SPEC TEXT URL LAYERS WORD [SET:]SYSTEM NAME[:WEIGHT]".split())
WRITES = re.compile(
    r"\b(write (the|pages|a)|draw|keeps? (results|the|translations)|output (file|folder)|(file|folder) for)\b", re.I
)


def parser_of(command: str) -> argparse.ArgumentParser:
    """The parser of a command, with the flags of all metrics."""
    metrics = ["-m", *sorted(metric_table().plugins)]
    if command == SACREBLEU:
        return sacrebleu_parser(metrics)
    words = command.split(".")
    parser = command_parser([*words, *(metrics if command in WITH_METRICS else [])])
    for word in words:
        groups = [each.choices for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        parser = groups[0][word] if groups else parser
    return parser


def of_type(parser: argparse.ArgumentParser, kind: type) -> list[argparse.Action]:
    return [each for each in parser._actions if isinstance(each.type, kind)]


def name_of(action: argparse.Action) -> str:
    return next(iter(action.option_strings), action.dest)


def value_of(action: argparse.Action, path: object) -> object:
    path = f"cmd:{path}" if action.dest == "rtt_bt" else path
    return [str(path)] if action.nargs in ("+", "*") or isinstance(action.nargs, int) else str(path)


def line_of(parser: argparse.ArgumentParser, values: dict[argparse.Action, object]) -> CommandLine:
    """A parsed command line with these values, and with `sys.txt` as every list of inputs that is not among them."""
    usual = {each.dest: each.default for each in parser._actions if each.default != argparse.SUPPRESS}
    usual |= {each.dest: None for each in of_type(parser, Writes)}
    lists = {each.dest: ["sys.txt"] for each in of_type(parser, Reads) if isinstance(value_of(each, ""), list)}
    return CommandLine(**(usual | lists | {action.dest: value_of(action, path) for action, path in values.items()}))


@pytest.fixture(scope="module")
def parsers():
    return {command: parser_of(command) for command in [*COMMANDS, SACREBLEU]}


@pytest.fixture
def written(tmp_path, monkeypatch, parsers):
    """For each command and each of its flags that write: the flag, its value, and the files that it can write."""
    monkeypatch.chdir(tmp_path)

    def found(command: str):
        parser = parsers[command]
        for number, action in enumerate(of_type(parser, Writes)):
            value = action.type.parse(f"{number}.{'html' if action.dest == 'report' else 'tsv'}")
            targets = action.type.of(line_of(parser, {action: value}), value)
            yield action, value, [os.path.join(*target).replace("*", "x") for target in targets]

    return found


@pytest.mark.parametrize("command", [*COMMANDS, SACREBLEU])
def test_every_flag_says_whether_it_reads_or_writes(parsers, command):
    undeclared, wrong = [], []
    for action in parsers[command]._actions:
        if action.nargs == 0 or action.choices or isinstance(action.type, Writes):
            continue
        if (
            action.type in (None, str, os.path.expanduser)
            and action.metavar not in WORDS | {None}
            and name_of(action) not in OF_NO_FOLDER
        ):
            undeclared.append(name_of(action))
        if isinstance(action.type, Reads) and WRITES.search(action.help or ""):
            wrong.append(name_of(action))
    assert (undeclared, wrong) == ([], [])


@pytest.mark.parametrize("command", [*COMMANDS, SACREBLEU])
def test_no_output_replaces_an_input(parsers, written, tmp_path, command):
    parser = parsers[command]
    for action, value, targets in written(command):
        for target in targets:
            (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / target).write_text("It rains.\n")
            link = tmp_path / "link"
            link.unlink(missing_ok=True)
            link.symlink_to(tmp_path / target)
            folder = (tmp_path / target).parent
            forms = cycle([f"./{target}", link, folder, tmp_path])
            for reads in of_type(parser, Reads):
                if action.type.targets and (isinstance(value_of(reads, ""), list) or reads.dest == "set"):
                    continue  # such an input decides what is written
                for path in (target, next(forms)):
                    with pytest.raises(InputError, match=f"^{name_of(action)} .*(input file|folder of inputs)"):
                        check_paths(parser, [line_of(parser, {action: value, reads: path})])


@pytest.mark.parametrize("command", [*COMMANDS, SACREBLEU])
def test_no_output_replaces_another(parsers, written, command):
    parser = parsers[command]
    for (one, value, targets), (other, _, _) in permutations(written(command), 2):
        for target in targets:
            with pytest.raises(InputError, match=f"{name_of(one)}|{name_of(other)}"):
                check_paths(parser, [line_of(parser, {one: value, other: target})])


@pytest.mark.parametrize(
    "words, error",
    [
        ("score -t hyp --align -r ref.txt -o hyp/d.txt", "-o hyp/d.txt: hyp is a folder of inputs; name another one"),
        ("score -t hyp --align -r ref.txt --align-output .", None),
        ("score -t hyp/a.txt --align -r ref.txt --align-output hyp", "--align-output hyp/a.txt: it is an input file"),
        ("compare -t hyp/a.txt ref.txt -r ref.txt -o x.png --plot x.png", "-o and --plot name one file, x.png"),
        ("compare -t hyp/a.txt ref.txt -r ref.txt -o x.png --plot X.png", "-o x.png and --plot X.png can be one file"),
        ("score -t hyp -r hyp -o x --ctx-cache x", "-o x would be a file, and --ctx-cache x lies in a folder"),
        ("report --set a -t hyp/a.txt -r ref.txt --set b -t ref.txt -r ref.txt -o hyp/a.txt", "it is an input"),
        (
            "report --align --align-output new --set a -t hyp/a.txt -r ref.txt --set b -t a.txt -r ref.txt",
            "--align-output: two files would be written to new/a.txt; rename one of the inputs",
        ),
        ("annotate h*/*.txt -o hyp", None),
        ("annotate hyp -o hyp/new", "-o hyp/new: hyp is a folder of inputs"),
        ("train esim --train ref.txt:0.5 --dev hyp --out x --teacher chrf --teacher-scores ref.txt", "--teacher-sc"),
        ("roundtrip -t ref.txt --bt cmd:hyp/a.rtt.txt -o hyp", None),
        ("roundtrip -t a.txt --bt cmd:hyp/a.rtt.txt -o hyp", "-o hyp/a.rtt.txt: it is an input file"),
    ],
)
def test_commands_check_before_they_work(tmp_path, monkeypatch, capsys, words, error):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hyp").mkdir()
    for name in ("ref.txt", "a.txt", "hyp/a.txt", "hyp/a.rtt.txt"):
        (tmp_path / name).write_text("It rains.\n")
    if error is None:
        checked(words.split())
        return
    assert main(words.split()) == 1
    assert error in capsys.readouterr().err


def test_the_file_on_the_standard_input_is_not_replaced(tmp_path):
    (tmp_path / "hyp.txt").write_text("It rains.\n")
    (tmp_path / "ref.txt").write_text("It rained.\n")
    command = [
        os.path.join(os.path.dirname(sys.executable), "ctx-metrics"),
        *"score -r ref.txt -m chrf -o hyp.txt".split(),
    ]
    with open(tmp_path / "hyp.txt") as stdin:
        done = subprocess.run(command, stdin=stdin, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "-o hyp.txt: it is the standard input" in done.stderr
    assert (tmp_path / "hyp.txt").read_text() == "It rains.\n"
