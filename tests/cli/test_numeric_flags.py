"""Every flag that takes a number: whatever number or word it is given, the command ends with one line, or with a result."""

import argparse

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import REF, SOURCE, A, B, sacrebleu

from ctx_metrics.cli import command_parser
from ctx_metrics.flag_types import MOST_DECIMALS

VALUES = ["-1", "0", f"1{20 * '0'}", "1e99", "nan", "word"]
TEXTS = ["-t", A, B, "-r", REF]
FREE = {  # by a command, what it scores without a model, and in full tests
    "score": [*TEXTS, "-l", "de-en", "-q"],
    "compare": [*TEXTS, "-l", "de-en", "-q"],
    "report": [*TEXTS, "-l", "de-en", "-q", "-o", "OUT"],
    "mbr": [A, B, "-l", "de-en", "-q"],
    "annotate": ["TABLE", "-l", "de-en", "-q", "-o", "OUT"],
    "meta": ["JUDGED", "-q"],
    "align": [A, "-r", REF, "-l", "de-en", "-o", "OUT"],
    "roundtrip": ["-i", A, "-l", "de-en", "--rtt-bt", "cmd:cat", "--rtt-cache", "none", "-o", "OUT"],
    "filter-refs": ["-r", REF, "--pseudo-refs", A, "--pseudo-filter", "none", "-o", "OUT"],
    "rerank": [A, B, "-s", SOURCE, "-l", "de-en", "-q"],
}
WITHOUT_METRICS = ("align", "roundtrip", "filter-refs")
ALL_METRICS = ["bleu", "chrf", "ter", "meteor", "nist", "bertr", "bertscore", "comet", "slide", "judge", "prbleu"]


def numbers(argv: list[str]) -> dict[str, argparse.Action]:
    """The numeric flags of a command."""
    parser = command_parser(argv).parse_args(argv, argparse.Namespace()).parser
    return {
        max(each.option_strings, key=len): each for each in parser._actions if each.option_strings and is_number(each)
    }


def is_number(action: argparse.Action) -> bool:
    def read(text: str) -> bool:
        try:
            return isinstance(action.type(text), (int, float))
        except (argparse.ArgumentTypeError, ValueError):
            return False

    return action.type is not None and action.nargs != 0 and not action.choices and (read("1") or read("0.5"))


@pytest.mark.parametrize(
    "words",
    [
        *[
            " ".join([command, *words]) + " -m chrf" * (command not in WITHOUT_METRICS)
            for command, words in FREE.items()
        ],
        f"score -t A -r B -l de-en -m {' '.join(ALL_METRICS)} doccomet bertscore",
        "meta spans A B",
        "meta paraphrase A -m chrf",
        "train comet --train A --dev B --out C",
        "train pairwise --train A --dev B --out C",
        "pairwise rank A -i B",
        "paraphrase train --train A --dev B --out C",
        "paraphrase score A",
    ],
)
def test_every_number_has_an_upper_bound(words):
    flags = numbers(words.split())
    assert flags or words.split()[0] in WITHOUT_METRICS
    for flag, action in flags.items():
        for text in ("1" + 20 * "0", "1e20"):
            with pytest.raises(argparse.ArgumentTypeError):
                pytest.fail(f"{flag} is {action.type(text)}")


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=[pytest.mark.full] * (each not in ("score", "mbr"))) for each in FREE]
)
def test_numbers(ctx, tmp_path, monkeypatch, command):
    table, judged = tmp_path / "t.tsv", tmp_path / "j.tsv"
    table.write_text("src\tmt\tref\tdoc\nEs regnet.\tIt rains.\tIt is raining.\td\n")
    rows = [
        (system, i, f"Text {i} is here.", f"Text {i} was {system}.", i * k % 5)
        for k, system in enumerate("abc")
        for i in range(9)
    ]
    judged.write_text("system\tsegment\tref\tmt\tscore\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    words = [{"TABLE": str(table), "JUDGED": str(judged)}.get(word, word) for word in FREE[command]]
    metrics = [] if command in WITHOUT_METRICS else ["comet"] if command == "rerank" else ["chrf"]
    known = ALL_METRICS if command != "rerank" else ["comet"]
    flags = numbers([command, *words, *(["-m", *known] if metrics else [])])
    assert flags or command in WITHOUT_METRICS
    wrong = []
    for k, flag in enumerate(flags):
        own = [each for each in known if flag.startswith((f"--{each}-", "--pseudo-" if each == "prbleu" else "--none"))]
        if {*own} - {"bleu", "chrf", "ter"}:
            continue  # of a metric, whose own tests try its settings
        for n, value in enumerate(VALUES):
            argv = [word.replace("OUT", str(tmp_path / f"out{k}-{n}")) for word in words]
            try:
                done = ctx(command, *argv, *(["-m", *(own or metrics)] if metrics else []), flag, value)
            except Exception as error:
                wrong.append(f"{flag} {value}: {error!r}")
                continue
            lines = [line for line in done.err.splitlines() if "error: " in line]
            if (
                done.code not in (0, 1, 2)
                or len(lines) != (done.code > 0)
                or (done.code == 0 and value in ("nan", "word"))
            ):
                wrong.append(f"{flag} {value}: {done}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.full
@pytest.mark.parametrize(
    "flags, said",
    [
        (["--width", "-1"], f"--width -1: give a number of decimals from 0 to {MOST_DECIMALS}"),
        (["-w", "99999999999"], f"--width 99999999999: give a number of decimals from 0 to {MOST_DECIMALS}"),
        (["--chrf-char-order", "0"], "--chrf-char-order 0: give at least 1"),
        (["--chrf-word-order", "-1"], "--chrf-word-order -1: give at least 0"),
        (["--chrf-beta", "-1"], "--chrf-beta -1: give at least 0"),
        (["--confidence", "--confidence-n", "0"], "--confidence-n 0: give at least 1"),
        (["--smooth-value", "nan"], "--smooth-value nan: give a number of at least 0"),
    ],
)
def test_numbers_of_sacrebleu(flags, said):
    done = sacrebleu(REF, "-i", A, "-m", "nist", "chrf", *flags)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"sacreBLEU: error: {said}\n")
