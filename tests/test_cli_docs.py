"""docs/score.md: its commands print what the page shows, and its tables name flags that exist."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import lines_of

from ctx_metrics.cli import command_parser

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "score.md").read_text(encoding="utf-8")


def blocks() -> list[tuple[str, list[str]]]:
    """The page's commands, each with the lines that it prints."""
    found = []
    for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", PAGE, re.M):
        for text in re.split(r"^ {4}\$ ", block, flags=re.M)[1:]:
            command, *printed = text.replace("\\\n        ", "").rstrip("\n").split("\n")
            found.append((command, [re.sub(r"^ {4}", "", line) for line in printed]))
    return found


BLOCKS = blocks()
RUN = [block for block in BLOCKS if "tiny-comet" not in block[0]]  # that checkpoint is no file of the examples


def test_the_page_has_its_examples():
    assert len(BLOCKS) == 9 and len(RUN) == 7


@pytest.mark.parametrize("command, printed", RUN, ids=[str(number) for number in range(len(RUN))])
def test_examples_print_what_the_page_shows(ctx, command, printed):  # noqa: F811
    *paste, command = command.split(" | ")
    columns = [lines_of(name) for name in paste[0].split()[1:]] if paste else []
    stdin = "".join("\t".join(row) + "\n" for row in zip(*columns)).encode()
    done = ctx(*shlex.split(command)[1:], "--ctx-device", "cpu", stdin=stdin)
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in printed)
    assert re.fullmatch(pattern, (done.err + done.out).rstrip("\n"), re.DOTALL), done.err + done.out


def test_the_flags_in_the_tables_exist():
    parser = command_parser(["score", "-m", "comet", "slide", "doccomet"])
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        parser.parse_args(["score", "-m", "comet", "slide", "doccomet", "--help"])
    known = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text.getvalue())) | {"-i", "--input", "--sources", "--version"}
    ours = set()
    for line in PAGE.splitlines():
        if line.startswith("|") and "---" not in line:
            cells = line.split("|")[1:-1]
            cell = cells[1] if len(cells) == 3 else cells[0]
            ours |= set(re.findall(r"(?<![\w-])--?[a-z][\w-]*(?![.\w-])", cell))
    assert len(ours) > 25 and ours <= known, ours - known


def test_every_flag_of_comet_score_is_in_the_table():
    score = pytest.importorskip("comet.cli.score")
    with open(score.__file__, encoding="utf-8") as file:
        flags = set(re.findall(r"\"(--?[a-z][\w-]*)\"", file.read()))
    table = PAGE.split("## Coming from comet-score")[1].split("## Coming from pymarian-eval")[0]
    named = set(
        re.findall(r"`(--?[a-z][\w-]*)", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line))
    )
    assert len(flags) > 15 and flags <= named, flags - named
