"""The commands that are recorded, as they would be typed in a folder with the files that inputs.py writes.

A line is a command, and a line that is further to the right runs in the folder that the one above it has left behind; every
other one gets fresh copies of the files. `< FILE` and `NAME=VALUE` before a command mean what they mean in a shell, and
`values EXPRESSION` is `python values.py EXPRESSION`. commands.txt lists those that have no pattern, in groups; there $FILES stands
for FILES. The commands of README.md, docs/ and tests/bad_input.md are read from there.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Command(NamedTuple):
    name: str  # its group and its line
    argv: list[str]
    env: dict[str, str]
    stdin: str | None


class Chain(NamedTuple):
    """Commands that run in one folder, one after the other."""

    inputs: str  # the folder of inputs.py that is copied
    commands: list[Command]


ONE = "ref.en.txt -i system_a.en.txt -l de-en"
SEVERAL = "ref.en.txt -i system_a.en.txt system_b.en.txt system_c.en.txt -l de-en"
ROUND = "roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt -l en-de --roundtrip roundtrip/system_x.rtt.en.txt"
ROUNDS = (
    "roundtrip/source.en.txt --source roundtrip/source.en.txt -i roundtrip/system_x.de.txt roundtrip/system_y.de.txt -l en-de"
    " --roundtrip roundtrip/system_x.rtt.en.txt roundtrip/system_y.rtt.en.txt"
)
FILES = "-s source.de.txt -t system_a.en.txt system_b.en.txt system_c.en.txt -r ref.en.txt --docids docids.txt -l de-en"
METRICS = (
    "bertr bertscore bilstm bilstmatt comet esim meteor nist slide doccomet pairwise prsentbleu prbleu prchrf "
    "rttbleu rttsentbleu rttchrf rttsbert rttbertscore"
).split()
FLAGS = {
    "slide": " --docids docids.txt",
    "doccomet": " --docids docids.txt --source source.de.txt --doccomet-model tiny-regression",
    **dict.fromkeys(("prsentbleu", "prbleu", "prchrf"), " --pseudo-refs system_b.en.txt system_c.en.txt"),
}


def metrics_alone() -> Iterator[str]:
    """Every metric alone, with one and with several systems."""
    for name in METRICS:
        files = (ROUND, ROUNDS) if name.startswith("rtt") else (ONE, SEVERAL)
        one, several = (f"{each} -m {name}{FLAGS.get(name, '')}" for each in files)
        if name == "pairwise":
            one += " --pairwise-against system_b.en.txt"
        yield f"sacrebleu {one} -w 8 --confidence --confidence-n 40"
        yield f"sacrebleu {one} -sl -b -w 8 --short"
        yield f"sacrebleu {several} -f text --paired-bs --paired-bs-n 40"
        yield f"sacrebleu {several} -f latex --paired-ar --paired-ar-n 40 -j 2"
        yield f"sacrebleu {several} --ctx-seg-scores out -q"
    for name in ("bleu", "chrf", "ter"):
        yield f"sacrebleu {SEVERAL} -m {name} --ctx-seg-scores out --docids docids.txt"


SUBCOMMANDS = (
    "score align annotate compare mbr rerank report meta train pairwise roundtrip filter-refs paraphrase doctor cite "
    "convert flags completion"
).split()
BELOW = [
    *("meta paraphrase", "train comet", "train bilstm", "train bilstmatt", "train esim", "train pairwise"),
    *("pairwise rank", "paraphrase train", "paraphrase score"),
]


def helps() -> Iterator[str]:
    yield from ("ctx-metrics", "ctx-metrics --help", "ctx-metrics --version", "ctx-metrics nonsense")
    for name in [*SUBCOMMANDS, *BELOW]:
        yield f"ctx-metrics {name} --help"
        yield f"ctx-metrics {name}"
    for name in METRICS:
        yield f"ctx-metrics score -m {name} --help"


def of_the_pages() -> Iterator[str]:
    """The commands of README.md and of each page in docs/, one folder a page; what needs a network fails alike.

    Those of reproduce.md need data of WMT.
    """
    for page in [ROOT / "README.md", *sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs" / "reproduce.md"})]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ").replace("examples/", "")
        found = re.findall(r"^(?:    )?(?:\$ )?((?:sacrebleu|ctx-metrics) +\S.*)$", text, re.M)
        commands = [
            re.split(r"\s[|]\s|\s#|&&", command)[0] for command in found if " -" in command and "..." not in command
        ]
        for number, command in enumerate(dict.fromkeys(commands)):
            yield " " * bool(number) + re.sub(" +", " ", command)


def of_bad_input() -> Iterator[str]:
    """Every third: tests/test_bad_input.py runs all."""
    text = (ROOT / "tests" / "bad_input.md").read_text(encoding="utf-8")
    yield from re.findall(r"^    \$ (.+)$", text, re.M)[::3]


def groups() -> Iterator[tuple[str, Iterable[str]]]:
    """Each group's name and its lines."""
    yield "metrics", metrics_alone()
    _, *listed = re.split(r"^\[(.+)\]\n", Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"), flags=re.M)
    for name, lines in zip(listed[::2], listed[1::2]):
        yield name, lines.replace("$FILES", FILES).split("\n")
    yield "helps", helps()
    yield "pages", of_the_pages()
    yield "bad input", of_bad_input()


def parsed(group: str, line: str) -> Command:
    words = shlex.split(line)
    env = {}
    while "=" in words[0]:
        name, _, env[name] = words.pop(0).partition("=")
    stdin = None
    if "<" in words:
        *words, _, stdin = words
    if words[0] == "values":
        words[:1] = ["python", str(Path(__file__).with_name("values.py"))]
    return Command(f"{group}: {line.strip()}", words, env, stdin)


def chains() -> list[Chain]:
    found: list[Chain] = []
    names: set[str] = set()
    for group, lines in groups():
        for line in filter(str.strip, lines):
            command = parsed(group, line)
            while command.name in names:
                command = command._replace(name=command.name + " (again)")
            names.add(command.name)
            if line.startswith(" "):
                found[-1].commands.append(command)
            else:
                found.append(Chain("bad" if group == "bad input" else "examples", [command]))
    return found
