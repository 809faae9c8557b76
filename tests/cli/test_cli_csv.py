"""A file that ends in .csv holds comma-separated values, cell by cell what a .tsv file holds."""

import csv
import shutil

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import EXAMPLES, REF, A, B
from report_pages import data_of

INPUTS = ["-r", REF, "-l", "de-en", "-m", "chrf"]
COMMANDS = {
    "score": ["score", "-t", A, B, *INPUTS, "--names", "a,b", 'c "d"'],
    "compare": ["compare", "-t", A, B, *INPUTS, "--samples", "99", "--names", "a,b", 'c "d"'],
    "meta": ["meta", "judged.tsv", "-l", "de-en", "-m", "chrf"],
}


def cells_of(path) -> list[list[str]]:
    if path.suffix == ".tsv":
        return [line.split("\t") for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_cells_are_those_of_tsv(ctx, tmp_path, command):
    paths = [tmp_path / f"table.{ending}" for ending in ("tsv", "csv")]
    for path in paths:
        assert ctx(*COMMANDS[command], "-o", path).code == 0
    first, second = map(cells_of, paths)
    assert first == second and len(first) > 1 and {len(row) for row in first} == {len(first[0])}
    assert command == "meta" or {row[1] for row in second[1:]} <= {"a,b", 'c "d"'}
    assert ctx(*COMMANDS[command], "--format", "csv").out == paths[1].read_text()


@pytest.mark.full
def test_scores_and_texts_of_a_report(ctx, tmp_path):
    """A report reads the scores of a .csv, and writes its texts as one."""
    scores, texts, page = tmp_path / "scores.csv", tmp_path / "texts.csv", tmp_path / "page.html"
    assert ctx("score", "-t", A, B, *INPUTS, "-o", scores, "-q").code == 0
    assert ctx("report", "-t", A, B, "--scores", scores, "--texts", texts, "-o", page, "-q").code == 0
    header, *rows = cells_of(texts)
    assert header[-1] == "hypothesis" and len(rows) == 2 * 59 and any("," in row[-1] for row in rows)
    assert [row[-1] for row in rows[:59]] == (EXAMPLES / A).read_text(encoding="utf-8").splitlines()
    assert data_of(page)["metrics"][0]["segments"][0] == [float(row[header.index("chrf")]) for row in rows[:59]]


@pytest.mark.parametrize("command", ["mbr", "rerank"])
def test_a_choice_has_no_such_format(ctx, tmp_path, command):
    shutil.copy(EXAMPLES / A, tmp_path / "a.txt")
    done = ctx(command, tmp_path / "a.txt", A, "-s", REF, "-m", "chrf", "-o", tmp_path / "best.csv")
    assert done.code == 2 and "there is no format csv here; name a .jsonl or .nbest file" in done.err
    assert not (tmp_path / "best.csv").exists()


ADDRESSES = {
    **COMMANDS,
    "report": ["report", "-t", A, *INPUTS],
    "mbr": ["mbr", A, B, "-m", "chrf"],
    "annotate": ["annotate", "judged.tsv", "-m", "chrf"],
}


@pytest.mark.parametrize("command", ADDRESSES)
def test_nothing_is_written_to_memory(ctx, command):
    done = ctx(*ADDRESSES[command], "-o", "memory://x")
    assert done.code in (1, 2) and done.out == "" and "memory://x: " in done.err.splitlines()[-1]
    assert "it is an address" in done.err or "lost when the command ends" in done.err
