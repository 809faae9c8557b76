"""`ctx-metrics filter-refs`: files with what is kept, scores, and the guard's report."""

import doctest
import json
import os
import re
import shlex
from pathlib import Path

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import EXAMPLES

from ctx_metrics import release

# cosines: cat-dog .6, cat-bird 0, dog-bird .8
VECTORS = "cat 1 0\ndog 3 4\nbird 0 1\n"
TWO = {"ref": "cat\ndog\n\ncat\n", "a": "cat\nbird\ncat\n\n", "b": "bird\ndog\ndog\ncat dog\n"}


@pytest.fixture
def run(ctx, tmp_path, monkeypatch):
    """Runs the command on files of two pseudo-reference systems and a reference, which `files` can replace."""
    release()

    def call(*argv: str, **files: str):
        for name, text in {**TWO, **files}.items():
            (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
        (tmp_path / "v.vec").write_text(VECTORS)
        monkeypatch.chdir(tmp_path)
        return ctx("filter-refs", *argv)

    return call


def cells(out):
    """The rows of the printed tables."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]


BASE = ["-r", "ref.txt", "--pseudo-refs", "a.txt", "b.txt", "-o", "out"]
MAS = ["--pseudo-filter", "mas", "--pseudo-vectors", "v.vec", "--pseudo-threshold", "0.79"]


def test_text_files_and_scores(run, tmp_path):
    done = run(*BASE, *MAS)
    assert done.code == 0
    assert sorted(os.listdir(tmp_path / "out")) == ["a.filtered.txt", "b.filtered.txt", "scores.tsv"]
    # a: 1 kept; dog-bird .8 kept; no reference; empty.  b: 0; 1 kept; no reference; ((1 + .6) / 2 + 1) / 2 = .9 kept
    assert (tmp_path / "out/a.filtered.txt").read_text() == "cat\nbird\n\n\n"
    assert (tmp_path / "out/b.filtered.txt").read_text() == "\ndog\n\ncat dog\n"
    assert (tmp_path / "out/scores.tsv").read_text() == (
        "segment\tpseudo-system\tscore\tkept\n"
        "1\ta\t1.000000\t1\n1\tb\t0.000000\t0\n"
        "2\ta\t0.800000\t1\n2\tb\t1.000000\t1\n"
        "3\ta\t\t0\n3\tb\t\t0\n"
        "4\ta\t\t0\n4\tb\t0.900000\t1\n"
    )
    assert cells(done.out)[1:] == [["a", "2", "2"], ["b", "2", "2"]]
    assert "near-equal" not in done.out
    assert "Written: a.filtered.txt, b.filtered.txt, scores.tsv in out" in done.out
    assert "a: 1 pseudo-reference is empty and left out (segment 4)" in done.err
    assert "1 segment has no reference to filter by, so no pseudo-reference (segment 3)" in done.err


def test_jsonl_has_null_for_rejected_lines(run, tmp_path):
    assert run(*BASE, *MAS, "--format", "jsonl").code == 0
    lines = (tmp_path / "out/a.filtered.jsonl").read_text().splitlines()
    objects = [json.loads(line) for line in lines]
    assert [each.pop("score") for each in objects] == pytest.approx([1.0, 0.8, None, None])
    assert objects == [
        {"segment": 1, "text": "cat", "pseudo": "cat", "kept": True},
        {"segment": 2, "text": "bird", "pseudo": "bird", "kept": True},
        {"segment": 3, "text": None, "pseudo": "cat", "kept": False},
        {"segment": 4, "text": None, "pseudo": "", "kept": False},
    ]


def test_the_guard_reports_and_leaves_the_files_alone(run, tmp_path):
    done = run(*BASE, *MAS, "-t", "b.txt", "c.txt", "-q", c="x\ndog\ny\nz\n")
    # b is itself; c has 1 of b's 4 lines, and none of a's 3 that are not empty; b and a share none
    assert cells(done.out)[-3:] == [["% near-equal lines", "a", "b"], ["b", "0.0", "100.0 *"], ["c", "0.0", "25.0"]]
    assert "* treated as the system under test" in done.out
    assert (tmp_path / "out/b.filtered.txt").read_text() == "\ndog\n\ncat dog\n"
    done = run(*BASE, *MAS, "-t", "b.txt", "--pseudo-guard", "off")
    assert "100.0" in done.out and "*" not in done.out


def test_no_filter_keeps_all_but_empty_lines(run, tmp_path):
    assert run(*BASE, "--pseudo-filter", "none").code == 0
    assert (tmp_path / "out/a.filtered.txt").read_text() == TWO["a"]
    assert "1\ta\t\t1\n" in (tmp_path / "out/scores.tsv").read_text()


def test_several_references_and_xz(run, tmp_path):
    import lzma

    (tmp_path / "p.en.xz").write_bytes(lzma.compress(b"bird\nbird\n"))
    flags = ["-r", "ref.txt", "two.txt", "--pseudo-refs", "p.en.xz", "-o", "out"]
    done = run(*flags, *MAS, ref="cat\ncat\n", two="bird\n\n")
    assert done.code == 0 and (tmp_path / "out/p.en.filtered.txt").read_text() == "bird\n\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--pseudo-filter", "none", "-t", "short.txt"], "short.txt has 1 line, but ref.txt has 4"),
        (["--pseudo-refs", "x/a.txt", "y/a.txt", "x-a.txt"], "would both be written to x-a.filtered.txt"),
    ],
)
def test_errors_are_one_line_and_write_nothing(run, tmp_path, argv, words):
    done = run(*BASE, *argv, short="cat\n")
    assert done.code == 1 and words in done.err and done.err.count("\n") == 1 and done.out == ""
    assert not [name for folder in tmp_path.rglob("out") for name in os.listdir(folder)]


def test_the_page(ctx, tmp_path, monkeypatch):
    """docs/pseudo-references.md: its command prints what the page shows, and its Python runs."""
    page = Path(__file__).resolve().parents[2] / "docs" / "pseudo-references.md"
    text = page.read_text(encoding="utf-8")
    command, shown = re.search(r"^    \$ ctx-metrics (.*?\n.*?)\n(.*? in filtered)$", text, re.M | re.S).groups()
    for file in EXAMPLES.glob("*.txt"):
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    done = ctx(*shlex.split(command.replace("\\\n", " ")))
    assert done.out.splitlines() == [line.removeprefix("    ") for line in shown.splitlines()]
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried == 9 and failed == 0
