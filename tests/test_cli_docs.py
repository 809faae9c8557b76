"""docs/score.md and meta.md: their commands print what the pages show, and their tables name flags that exist;
docs/comet.md: its Python."""

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from comet_checkpoints import RECIPES, build
from plugin_conftest import A, EXAMPLES, REF, SOURCE, lines_of

from ctx_metrics.cli import command_parser

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE, META = ((DOCS / name).read_text(encoding="utf-8") for name in ("score.md", "meta.md"))


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """The page's commands, each with the lines that it prints."""
    found = []
    for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", page, re.M):
        for text in re.split(r"^ {4}\$ ", block, flags=re.M)[1:]:
            command, *printed = text.replace("\\\n        ", "").rstrip("\n").split("\n")
            found.append((command, [re.sub(r"^ {4}", "", line) for line in printed]))
    return found


BLOCKS = blocks(PAGE)
RUN = [block for block in [*BLOCKS, *blocks(META)] if not block[0].startswith("comet-score")]
VERSIONS = re.compile(r"\b(ctx|torch|tokenizers|version):[^|\s]+")  # in signatures


def test_the_page_has_its_examples():
    assert len(BLOCKS) == 9 and len(RUN) == 8 + len(blocks(META)) and len(blocks(META)) == 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The examples, with the checkpoints of random weights beside them."""
    folder = tmp_path_factory.mktemp("examples")
    for file in EXAMPLES.iterdir():
        (folder / file.name).symlink_to(file)
    for name in ("regression", "kiwi", "xcomet"):
        build(RECIPES[name], folder / f"tiny-{name}", "encoder")
    return folder


@pytest.mark.parametrize("command, printed", RUN, ids=[str(number) for number in range(len(RUN))])
def test_examples_print_what_the_page_shows(ctx, folder, monkeypatch, command, printed):  # noqa: F811
    monkeypatch.chdir(folder)
    *paste, command = command.split(" | ")
    columns = [lines_of(name) for name in paste[0].split()[1:]] if paste else []
    stdin = "".join("\t".join(row) + "\n" for row in zip(*columns)).encode()
    done = ctx(*shlex.split(command)[1:], "--ctx-device", "cpu", stdin=stdin)
    text = VERSIONS.sub(r"\1", done.err + done.out).rstrip("\n")
    whole = re.sub(r"\n {4}(?=\S)", " ", "\n".join(printed).replace("|\n    ", "|"))  # lines that the page wraps
    whole = VERSIONS.sub(r"\1", whole)
    pattern = "\n".join(".*" if line == "..." else re.escape(line) for line in whole.split("\n"))
    assert re.fullmatch(pattern, text, re.DOTALL), done.err + done.out


def test_the_way_to_the_layout_of_comet_score(ctx, folder, monkeypatch):  # noqa: F811
    monkeypatch.chdir(folder)
    argv = ["-s", SOURCE, "-t", A, "-r", REF, "--model", "tiny-xcomet", "--scale", "1", "-o", "new.json"]
    assert ctx("score", *argv).code == 0
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], {})
    old = json.loads((folder / "old.json").read_text(encoding="utf-8"))
    new = json.loads((folder / "new.json").read_text(encoding="utf-8"))
    assert list(old) == [A] and len(old[A]) == 59
    for k, (segment, texts) in enumerate(zip(old[A], zip(*map(lines_of, (SOURCE, A, REF))))):
        assert (segment["src"], segment["mt"], segment["ref"]) == texts and segment["COMET"] == new[k]["score"]
        assert segment.get("errors", []) == new[k]["error_spans"]
    assert sum("errors" in segment for segment in old[A]) > 20


def test_the_python_of_the_page_on_comet(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    page = (EXAMPLES.parent / "docs" / "comet.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```\n\n((?: {4}[^\n]*\n)+)", page, re.DOTALL)
    assert len(found) == 2
    for code, printed in found:
        exec(code, {})
        assert capsys.readouterr().out == re.sub("^ {4}", "", printed, flags=re.M)


def flags_of(subcommand: str) -> set[str]:
    """All flags that a subcommand's help shows."""
    argv = [subcommand, "-m", "comet", "slide", "doccomet", "bleu", "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        command_parser(argv).parse_args(argv)
    return set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", text.getvalue()))


def test_the_flags_in_the_tables_exist():
    known = flags_of("score") | {"-i", "--input", "--sources", "--version"}
    ours = set()
    for line in PAGE.splitlines():
        if line.startswith("|") and "---" not in line and "| the command" not in line:
            cells = line.split("|")[1:-1]
            cell = cells[1] if len(cells) == 3 else cells[0]
            ours |= set(re.findall(r"(?<![\w-])--?[a-z][\w-]*(?![.\w-])", cell))
    assert len(ours) > 25 and ours <= known, ours - known


def test_the_flags_on_the_page_of_meta_exist():
    ours = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", META)) - {"--data"}  # the benchmark's
    assert len(ours) > 20 and ours <= flags_of("meta"), ours - flags_of("meta")


def test_every_flag_of_comet_score_is_in_the_table():
    score = pytest.importorskip("comet.cli.score")
    with open(score.__file__, encoding="utf-8") as file:
        flags = set(re.findall(r"\"(--?[a-z][\w-]*)\"", file.read()))
    table = PAGE.split("## Coming from comet-score")[1].split("## Coming from pymarian-eval")[0]
    named = set(
        re.findall(r"`(--?[a-z][\w-]*)", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line))
    )
    assert len(flags) > 15 and flags <= named, flags - named
