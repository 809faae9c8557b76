"""What pages show of the command: commands with what they print, and flags."""

import contextlib
import io
import re
from pathlib import Path

from ctx_metrics.cli import command_parser

DOCS = Path(__file__).resolve().parent.parent / "docs"
VERSIONS = re.compile(r"\b(ctx|torch|tokenizers|version):[^|\s\"]+")  # in signatures
NUMBER = re.compile(r"-?\d*\.\d+")


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """The page's commands that start with `$`, each with the lines that it prints."""
    page = re.sub(r"(?ms)^```\n(\$ .*?)^```", lambda block: re.sub("(?m)^", "    ", block[1]), page)
    found = []
    for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", page, re.M):
        for text in re.split(r"^ {4}\$ ", block, flags=re.M)[1:]:
            command, *printed = re.sub(r" *\\\n {8}", " ", text).rstrip("\n").split("\n")
            found.append((command, [re.sub(r"^ {4}", "", line) for line in printed]))
    return found


def unwrapped(printed: list[str]) -> str:
    """What is printed, with the lines that the page wraps made whole, and without versions."""
    return VERSIONS.sub(r"\1", re.sub(r"\n {4}(?=\S)", " ", "\n".join(printed).replace("|\n    ", "|")))


def assert_about_as_printed(text: str, page: str) -> None:
    """As on the page ("..." stands for any lines), but for what another machine's sums change in trained weights: hashes, and
    in scores a little."""
    text, page = (re.sub(r"ckpt:\w+", "ckpt:", VERSIONS.sub(r"\1", each)).strip("\n") for each in (text, page))
    parts = [NUMBER.sub("#", re.sub(r"  +|[═─]+", " ", each)) for each in (text, page)]
    pattern = "\n".join("(?:.*)" if line == "..." else re.escape(line) for line in parts[1].split("\n"))
    assert re.fullmatch(pattern, parts[0], re.DOTALL), text
    shown = page.split("...")[0]  # the lines before the first that is left out
    ours, theirs = ([float(number) for number in NUMBER.findall(each)] for each in (text, shown))
    for mine, other in zip(ours, theirs):
        assert abs(mine - other) <= (1 if abs(other) > 2 else 0.02), (mine, other)


def flags_of(subcommand: str) -> set[str]:
    """All flags that a subcommand's help shows."""
    argv = {
        "train": ["train", "esim", "--teacher", "comet", "--help"],
        "train pairwise": ["train", "pairwise", "--help"],
        "pairwise rank": ["pairwise", "rank", "--help"],
    }.get(subcommand, [subcommand, "-m", "comet", "slide", "doccomet", "bleu", "--help"])
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        command_parser(argv).parse_args(argv)
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text.getvalue()))
