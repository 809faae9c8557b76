"""docs/score.md, meta.md, pairwise.md, pairwise-rank.md and training.md: their commands print what the pages show, and their
tables name flags that exist; docs/comet.md: its Python."""

import importlib.util
import re
import shlex
from argparse import ArgumentParser
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from cli_pages import DOCS, VERSIONS, assert_about_as_printed, blocks, flags_of, unwrapped
from comet_checkpoints import RECIPES, build
from plugin_conftest import EXAMPLES, SOURCE, A, lines_of, sacrebleu
from selection import some_rows

from ctx_metrics import Pairwise

PAGE, META, TRAINING, PAIRWISE, RANK, COMPARE = (
    (DOCS / name).read_text(encoding="utf-8")
    for name in ("score.md", "meta.md", "training.md", "pairwise.md", "pairwise-rank.md", "compare.md")
)


BLOCKS = blocks(PAGE)
# comet-score is another package's; what --resume finds is left by the command above it, and tests/scale sees it
RUN = [block for block in [*BLOCKS, *blocks(META)] if not re.match("comet-score|.*--resume", block[0])]
PROGRESS = re.compile(r"^ctx-metrics: .* in [\d,.]+ s\n", re.M)  # not where stderr is a terminal, as on the pages


def test_the_page_has_its_examples():
    assert len(BLOCKS) == 10 and len(RUN) == 9 and len(blocks(META)) == 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The examples, with the checkpoints of random weights beside them."""
    folder = tmp_path_factory.mktemp("examples")
    for file in EXAMPLES.iterdir():
        (folder / file.name).symlink_to(file)
    for name in ("regression", "kiwi", "xcomet"):
        build(RECIPES[name], folder / f"tiny-{name}", "encoder")
    return folder


COSTLY = (0, 1, 2, 4, 7, 8)  # the tests of score and of meta see what they print


@pytest.mark.parametrize(
    "command, printed",
    some_rows(RUN, [block for number, block in enumerate(RUN) if number not in COSTLY]),
    ids=[str(number) for number in range(len(RUN))],
)
def test_examples_print_what_the_page_shows(ctx, folder, monkeypatch, command, printed):
    monkeypatch.chdir(folder)
    *paste, command = command.split(" | ")
    columns = [lines_of(name) for name in paste[0].split()[1:]] if paste else []
    stdin = "".join("\t".join(row) + "\n" for row in zip(*columns)).encode()
    done = ctx(*shlex.split(command)[1:], "--ctx-device", "cpu", stdin=stdin)
    text = VERSIONS.sub(r"\1", PROGRESS.sub("", done.err) + done.out).rstrip("\n")
    # the last digit is rounded another way where a machine's sums differ
    parts = [re.split(r"(-?\d*\.\d+)", line) for line in unwrapped(printed).split("\n")]
    pattern = "\n".join(
        "(?:.*)" if line == ["..."] else re.escape("#".join(line[::2])).replace(r"\#", r"(-?\d*\.\d+)")
        for line in parts
    )
    found = re.fullmatch(pattern, text, re.DOTALL)
    assert found, done.err + done.out
    for mine, shown in zip(found.groups(), [number for line in parts for number in line[1::2]], strict=True):
        assert len(mine) == len(shown) and abs(float(mine) - float(shown)) < 1.5 * 10.0 ** -len(shown.split(".")[1])


@pytest.mark.full
def test_the_tutorial_of_training(ctx, tmp_path, monkeypatch):
    for file in EXAMPLES.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    tutorial = TRAINING.split("## Tutorial")[1].split("\n## ")[0]
    commands = blocks(tutorial)
    assert len(commands) == 2 == len(re.findall(r"^ {4}\$ ", TRAINING, re.M)) - 1  # and that of pairs
    for command, printed in commands:
        done = ctx(*shlex.split(command)[1:], "--ctx-device", "cpu")
        assert_about_as_printed(PROGRESS.sub("", done.err) + done.out, unwrapped(printed))


ALONE = {
    "training of pairs": blocks(TRAINING.split("## Pairs: ")[1].split("\n## ")[0]),
    "pairwise": blocks(PAIRWISE),
    "ranking": blocks(RANK),
    "annotate": [block for block in blocks((DOCS / "annotate.md").read_text(encoding="utf-8")) if block[1]],
}


@pytest.mark.full
@pytest.mark.parametrize("name", ALONE)
def test_a_page_shows_what_is_printed(ctx, folder, monkeypatch, name):
    columns = zip(*(lines_of(name) for name in ("docids.txt", SOURCE, A)), strict=True)
    (folder / "corpus.tsv").write_text("".join("\t".join(row) + "\n" for row in columns))
    monkeypatch.chdir(folder)
    assert len(ALONE[name]) == 1 + (name == "pairwise")
    for command, printed in ALONE[name]:
        program, *argv = [*shlex.split(command), "--ctx-device", "cpu"]
        if program == "sacrebleu":
            done = sacrebleu(*argv)
            text = done.stderr + done.stdout
        else:
            done = ctx(*argv)
            text = done.err + done.out
        assert_about_as_printed(text, unwrapped(printed))


def test_the_ratings_of_the_tutorial_are_what_the_page_says():
    columns = {}
    for name in ("ratings.tsv", "ratings-dev.tsv", "judged.tsv"):
        header, *rows = [line.split("\t") for line in lines_of(name)]
        columns[name] = [dict(zip(header, row)) for row in rows]
        assert {len(row) for row in rows} == {len(header)}
        texts = lines_of("docids.txt"), lines_of("source.de.txt"), lines_of("ref.en.txt")
        assert {(row["doc"], row["src"], row["ref"]) for row in columns[name]} <= set(zip(*texts))
    assert [len(rows) for rows in columns.values()] == [80, 72, 125]
    outputs = [{(row["system"], row["doc"], row["seg"]) for row in rows} for rows in columns.values()]
    assert [len(each) for each in outputs] == [66, 36, 125]
    documents = [{row["doc"] for row in rows} for rows in columns.values()]
    assert not documents[0] & documents[1] and not (documents[0] | documents[1]) & documents[2]
    assert {row["rater"] for rows in list(columns.values())[:2] for row in rows} == {"anna", "boris"}


def test_the_python_of_the_page_on_comet(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    page = (EXAMPLES.parent / "docs" / "comet.md").read_text(encoding="utf-8")
    [(code, printed)] = re.findall(r"```python\n(.*?)```\n\n((?: {4}[^\n]*\n)+)", page, re.DOTALL)
    exec(code, {})
    assert_about_as_printed(capsys.readouterr().out, unwrapped(re.sub("^ {4}", "", printed, flags=re.M).split("\n")))


OF_MODELS = [f"--{name}-model" for name in ("bleurt", "esim", "judge", "metricx", "pairwise")]


@pytest.mark.parametrize(
    "page, commands, more, least",
    [
        (PAGE.partition("## Coming from")[0], ["score"], ["--version", *OF_MODELS], 15),
        (META, ["meta", "score"], ["--data"], 20),  # the benchmark's
        (TRAINING, ["train", "train pairwise", "score", "meta"], OF_MODELS, 40),
        (RANK, ["pairwise rank"], [], 4),
        (COMPARE.partition("## Coming from")[0], ["compare"], ["--compare"], 10),
    ],
    ids=["score", "meta", "train", "pairwise rank", "compare"],
)
def test_the_flags_on_a_page_exist(page, commands, more, least):
    ours = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", page))
    known = set().union(more, *map(flags_of, commands))
    assert len(ours) >= least and ours <= known, ours - known


def test_the_flags_of_pairwise_are_those_of_its_page():
    group = ArgumentParser().add_argument_group()
    Pairwise.add_arguments(group)
    known = {flag for action in group._group_actions for flag in action.option_strings}
    table = PAIRWISE.split("## Flags")[1].split("\n\n    ")[0]
    assert set(re.findall(r"`(--[a-z-]+)`", table)) == known


@pytest.mark.parametrize("command", ["score", "compare"])
def test_every_flag_of_comets_command_is_in_the_table(command):
    package = importlib.util.find_spec("comet")  # which takes seconds to import
    if package is None:
        pytest.skip("COMET is not installed")
    code = (Path(package.origin).parent / "cli" / f"{command}.py").read_text(encoding="utf-8")
    flags = set(re.findall(r"\"(--?[a-z][\w-]*)\"", code))
    page = (DOCS / f"{command}.md").read_text(encoding="utf-8")
    table = page.split(f"## Coming from comet-{command}")[1].split("## Coming from pymarian-eval")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if "|" in line]
    named = set(re.findall(r"`(--?[a-z][\w-]*)", "".join(cells)))
    assert len(flags) > 15 and flags <= named, flags - named
