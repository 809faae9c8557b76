"""The grid of windows and strides: the same numbers as separate runs, each window read once."""

import math

import pytest
from test_slide import SEVEN, StubEstimator, texts

from ctx_metrics import SLIDE
from ctx_metrics.metrics.slide import slide_grid
from ctx_metrics.models import load

SYSTEMS = [SEVEN, texts(70, 60, 50, 40, 30, 20, 15)]
DOC_IDS = ["a"] * 4 + ["b"] * 2 + ["c"]


@pytest.fixture
def stub(monkeypatch) -> StubEstimator:
    stub = StubEstimator()
    monkeypatch.setattr(load, "load_estimator", lambda **settings: stub)
    return stub


@pytest.mark.parametrize("partial", ["drop", "include", "weight"])
def test_equals_separate_runs(stub, partial):
    references = [texts(10, 25, 30, 40, 50, 65, 70)]
    grid = slide_grid(SLIDE(doc_ids=DOC_IDS, partial=partial), SYSTEMS, references, 4)
    assert list(grid) == [(w, s) for w in range(1, 5) for s in range(1, w + 1)]
    assert len(stub.calls) == 1
    for (window, stride), found in grid.items():
        metric = SLIDE(doc_ids=DOC_IDS, window=window, stride=stride, partial=partial)
        assert found == pytest.approx([metric.corpus_score(system, references).score for system in SYSTEMS], abs=1e-9)


def test_each_distinct_window_is_read_once(stub):
    slide_grid(SLIDE(doc_ids=["d"] * 7), [SEVEN], [SEVEN], 3)
    (examples,) = stub.calls
    # 7 of one sentence, 6 of two, 5 of three; the partial windows are among them
    assert len(examples) == len(set(examples)) == 18


def test_nothing_scored_is_nan(stub):
    grid = slide_grid(SLIDE(doc_ids=DOC_IDS, partial="drop"), [SEVEN], [SEVEN], 5)
    assert [math.isnan(grid[w, w][0]) for w in (1, 2, 4, 5)] == [False, False, False, True]


def test_real_model_agrees_with_separate_runs():
    references = ["It rains.", "We left early.", "The train was late.", "Nobody came."]
    hypotheses = ["It pours.", "We left.", "The train came late.", "No one came."]
    doc_ids = ["x", "x", "x", "y"]
    grid = slide_grid(SLIDE(doc_ids=doc_ids, target_lang="en"), [hypotheses], [references], 3)
    for (window, stride), (found,) in grid.items():
        metric = SLIDE(doc_ids=doc_ids, target_lang="en", window=window, stride=stride)
        assert found == pytest.approx(metric.corpus_score(hypotheses, [references]).score, abs=1e-4)
