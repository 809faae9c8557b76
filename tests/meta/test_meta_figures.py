"""Which figures an evaluation draws, and with what; how they look is tests/meta/test_meta_plots.py."""

import re
from dataclasses import replace

import numpy as np
import pytest
from plugin_conftest import EXAMPLES

pytest.importorskip("matplotlib")

from ctx_metrics.judgements.judged import JudgedSet, MetricScores
from ctx_metrics.meta import Significance, evaluate, make_protocols, read_judged
from ctx_metrics.meta import figures as meta_figures

KNOWN = make_protocols()
DRAWN = ("agreement_bars", "window_heatmap", "system_scatter", "length_lines")


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws an evaluation; gives {file: (what drew it, its arguments)}."""
    made = {}

    def stand_in(name):
        return lambda *arguments: (name, arguments)

    for name in DRAWN:
        monkeypatch.setattr(meta_figures, name, stand_in(name))
    monkeypatch.setattr(meta_figures, "save", lambda figure, path: made.update({path: figure}))

    def call(sets, scores, names, largest=None, form="png"):
        made.clear()
        protocols = [KNOWN[name] for name in names]
        report = evaluate(sets, scores, protocols, Significance("none"))
        meta_figures.draw(report, sets, scores, protocols, str(tmp_path / f"new.{form}"), largest)
        assert all(path.startswith(f"{tmp_path}/new.") for path in made)
        return {path.removeprefix(f"{tmp_path}/new."): figure for path, figure in made.items()}

    return call


def random_set(name: str, **fields) -> tuple[JudgedSet, list[MetricScores]]:
    """Four systems on three documents of different length, and a metric."""
    random = np.random.default_rng(len(name))
    judged = JudgedSet(
        name,
        ["A", "B", "C", "D"],
        6,
        **{"doc_ids": ["x", "y", "y", "z", "z", "z"], "segment_scores": random.normal(size=(4, 6)), **fields},
    )
    found = random.normal(size=(4, 6))
    return judged, [MetricScores("m", found, found.mean(axis=1))]


def grid(judged: JudgedSet, largest: int) -> list[MetricScores]:
    cells = [(w, s) for w in range(1, largest + 1) for s in range(1, w + 1)]
    random = np.random.default_rng(9)
    return [MetricScores(f"slide({w},{s})", None, random.normal(size=len(judged.systems))) for w, s in cells]


def test_every_figure_that_there_is_something_for(drawn):
    judged, scores = random_set("wmt22.zh-en")
    files = drawn([judged], {judged.name: scores + grid(judged, 2)}, ["sys-acc", "acc-eq"], 2)
    assert {name: figure[0] for name, figure in files.items()} == {
        "agreement.sys-acc.png": "agreement_bars",
        "agreement.acc-eq.png": "agreement_bars",
        "slide-grid.sys-acc.png": "window_heatmap",
        "systems.wmt22.zh-en.png": "system_scatter",
        "document-length.sys-acc.png": "length_lines",
        "document-length.acc-eq.png": "length_lines",
    }


def test_the_grid_is_a_heat_map_and_no_metric_of_the_other_figures(drawn):
    judged, scores = random_set("toy")
    cells = grid(judged, 2)
    files = drawn([judged], {"toy": scores + cells}, ["sys-acc"], 2, "pdf")
    values, largest, title, measure = files["slide-grid.sys-acc.pdf"][1]
    for cell in cells:
        window, stride = map(int, re.findall(r"\d", cell.name))
        assert values[window, stride] == KNOWN["sys-acc"].measure(judged, cell.system_scores).value
    assert (len(values), largest, title, measure) == (3, 2, "slide on toy", "system-level pairwise accuracy")
    assert list(files["systems.toy.pdf"][1][3]) == ["m"]
    assert list(files["document-length.sys-acc.pdf"][1][0].values) == ["m"]
    of_score_files = drawn([judged], {"toy": cells}, ["sys-acc"])  # which a run without --slide-grid may read
    assert of_score_files["slide-grid.sys-acc.png"][1][1] == 2


def test_systems_that_nobody_judged_are_no_points_and_outliers_are_named(drawn):
    judged, scores = random_set("toy", system_scores=np.array([1.0, 1.1, np.nan, 0.9]))
    files = drawn([judged], {"toy": scores}, ["sys-acc"])
    name, systems, human, metrics, outliers = files["systems.toy.png"][1]
    assert (name, systems, human.tolist(), outliers) == ("toy", ["A", "B", "D"], [1.0, 1.1, 0.9], [])
    assert metrics["m"].tolist() == scores[0].system_scores[[0, 1, 3]].tolist()
    judged, scores = random_set("toy", system_scores=np.array([1.0, 1.1, -50.0, 0.9]))
    assert drawn([judged], {"toy": scores}, ["sys-acc"])["systems.toy.png"][1][4] == ["C"]


def test_the_embedded_model_is_not_called_comet(drawn):
    judged, scores = random_set("toy")
    named = [replace(scores[0], name="comet", signature="nrefs:1|model:embedded-unified")]
    files = drawn([judged], {"toy": named}, ["sys-acc"])
    assert files["agreement.sys-acc.png"][1][0].metrics == ["comet-embedded"]
    assert [*files["systems.toy.png"][1][3]] == ["comet-embedded"]
    assert [*files["document-length.sys-acc.png"][1][0].values] == ["comet-embedded"]


def test_what_has_no_figure(drawn):
    judged, scores = random_set("no/documents", doc_ids=None)
    assert set(drawn([judged], {judged.name: scores}, ["seg-pearson"])) == {
        "agreement.seg-pearson.png", "systems.no_documents.png"
    }  # fmt: skip
    segments = [MetricScores("m", scores[0].segment_scores, None)]
    assert set(drawn([judged], {judged.name: segments}, ["seg-pearson"])) == {"agreement.seg-pearson.png"}
    [preferences] = read_judged(str(EXAMPLES / "preferences.tsv"))
    random = np.random.default_rng(0).normal(size=(5, preferences.segments))
    files = drawn([preferences], {"preferences": [MetricScores("m", random, None)]}, ["darr"])
    assert set(files) == {"agreement.darr.png"}
