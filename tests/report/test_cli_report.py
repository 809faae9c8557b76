"""`ctx-metrics report`, `ctx-metrics meta --report` and sacrebleu's --ctx-report: what they read and write."""

import json
import sys
from types import SimpleNamespace

import pytest
from cli_conftest import ctx  # noqa: F401  a fixture
from plugin_conftest import DOCIDS, NAME_A, NAME_B, NAMES, REF, SOURCE, A, B, C, lines_of
from plugin_conftest import fresh_sacrebleu as sacrebleu
from report_pages import data_of

from ctx_metrics import InputError
from ctx_metrics.report import output
from ctx_metrics.report.page import check_installed

INPUTS = ["-t", A, B, "-r", REF, "-l", "de-en"]


def alike(one, other) -> bool:
    """Whether data are equal but for the last digits of numbers, in which processes with other threads may differ."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == (pytest.approx(other, abs=1e-4) if isinstance(other, float) else other)


def scores_of(data: dict) -> dict:
    return {each["title"]: each["segments"] for each in data["metrics"] if each["title"] != "missing words, % ↓"}


@pytest.mark.full
def test_a_page_and_all_exports(ctx, tmp_path):
    files = {"texts": "t.tsv", "tables": "t.tex", "pearmut": "p.json", "subset2evaluate": "s.jsonl"}
    paths = {name: tmp_path / file for name, file in files.items()}
    page = tmp_path / "page.html"
    flags = [word for name, path in paths.items() for word in (f"--{name}", path)]
    done = ctx("report", *INPUTS, "-s", SOURCE, "--docids", DOCIDS, "-m", "bleu", "bertr", "-o", page, *flags)
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[-1] == f"ctx-metrics: written: {', '.join(map(str, [page, *paths.values()]))}"
    data = data_of(page)
    assert data["systems"] == [NAME_A, NAME_B] and data["source"] == lines_of(SOURCE)
    assert [data["source_lang"], data["target_lang"]] == ["de", "en"] and len(data["documents"]) == 7
    scored = ctx("score", *INPUTS, "-m", "bleu", "bertr", "--level", "segment", "--format", "tsv", "-q").rows()
    shown = [score for metric in data["metrics"][:2] for of_system in metric["segments"] for score in of_system]
    assert sorted(shown) == pytest.approx(sorted(float(row["score"]) for row in scored), abs=1e-4)
    assert len(paths["texts"].read_text().splitlines()) == 1 + 2 * 59
    assert paths["tables"].read_text().count("tabular") == 2  # one table, its begin and its end
    assert len([json.loads(line) for line in paths["subset2evaluate"].read_text().splitlines()]) == 59
    assert sum(map(len, json.loads(paths["pearmut"].read_text())["data"][0])) == 59


@pytest.mark.full
def test_scores_of_files_beside_metrics(ctx, tmp_path):
    lines = "".join(f"{name}\t{k % 5}\n" for name in NAMES[:2] for k in range(59))
    (tmp_path / "human.seg.score").write_text(lines)
    page = tmp_path / "page.html"
    done = ctx("report", *INPUTS, "--scores", tmp_path / "human.seg.score", "-m", "chrf", "-o", page, "-q")
    assert done.code == 0
    assert list(scores_of(data_of(page))) == ["human", "chrF2"]


@pytest.mark.full
def test_what_is_scored_without_flags(ctx, tmp_path):
    page = tmp_path / "page.html"
    assert ctx("report", "-t", A, "-r", REF, "-l", "de-en", "-o", page, "-q").code == 0
    assert list(scores_of(data_of(page))) == ["BLEU", "chrF2", "COMET-embedded"]


@pytest.mark.full
def test_the_sacrebleu_command_writes_the_same_page(ctx, tmp_path):
    """Beside the scores that it prints without it; the page's texts, scores and matches are those of `report`."""
    own, other = tmp_path / "own.html", tmp_path / "other.html"
    plain = [REF, "-i", A, B, "-l", "de-en", "-m", "bleu", "bertr", "--docids", DOCIDS]
    done = sacrebleu(*plain, "--ctx-report", str(own), "--source", SOURCE)
    assert done.returncode == 0 and done.stdout == sacrebleu(*plain).stdout
    flags = ["-s", SOURCE, "--docids", DOCIDS, "-m", "bleu", "bertr"]
    assert ctx("report", *INPUTS, *flags, "-o", other, "-q").code == 0
    one, two = data_of(own), data_of(other)
    assert one.pop("charts") and two.pop("charts") and alike(one, two)
    done = sacrebleu(*plain, "--ctx-report", str(own))  # again, over the page that is there
    assert done.returncode == 0 and data_of(own)["source"] is None


@pytest.mark.full
def test_the_sacrebleu_command_with_its_own_metrics_alone(tmp_path):
    page = tmp_path / "page.html"
    done = sacrebleu(REF, "-i", C, "-m", "bleu", "ter", "--ctx-report", str(page), "-b")
    assert done.returncode == 0 and list(scores_of(data_of(page))) == ["BLEU", "TER ↓"]
    assert data_of(page)["systems"] == [NAMES[2]]


def judged(path):
    """Writes a table of invented judgements of two systems."""
    rows = [
        f"{system}\t{i}\t{text}\t{reference}\t{(i * 7 + k) % 11}"
        for k, system in enumerate((A, B))
        for i, (text, reference) in enumerate(zip(lines_of(system), lines_of(REF)), 1)
    ]
    path.write_text("system\tseg\tmt\tref\tscore\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.full
def test_meta_shows_people_beside_metrics(ctx, tmp_path):
    table, folder = judged(tmp_path / "judged.de-en.tsv"), tmp_path / "pages"
    done = ctx("meta", table, "-m", "chrf", "--report", folder, "-o", tmp_path / "table.txt")
    assert done.code == 0, done.err
    [page] = folder.iterdir()
    assert page.name == "judged.de-en.html" and f"pages: {page}" in done.err
    data = data_of(page)
    assert list(scores_of(data)) == ["human", "chrF2"]
    assert data["metrics"][0]["segments"][1][:3] == [8, 4, 0]


@pytest.mark.full
def test_meta_writes_one_page_of_all_sets(ctx, tmp_path):
    tables = [judged(tmp_path / f"{name}.de-en.tsv") for name in ("one", "two")]
    page = tmp_path / "all.html"
    done = ctx("meta", *tables, "-m", "chrf", "--report", page, "-o", tmp_path / "table.txt")
    assert done.code == 0 and f"pages: {page}" in done.err, done.err
    assert [list(scores_of(data_of(page, k))) for k in (0, 1)] == [["human", "chrF2"]] * 2
    html = page.read_text()
    assert "<title>2 systems on 2 test sets" in html or f"{A} and {B} on 2 test sets</title>" in html
    assert '<a href="#2/overview">two.de-en</a>' in html


def test_what_is_missing_is_said_before_scoring(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(InputError, match="a report needs vl_convert, which is not installed"):
        check_installed()
    with pytest.raises(InputError, match="a report needs vl_convert"):
        output.check(SimpleNamespace(), None)
