"""Whole documents and paths through their segments, against slide's own scores of everything that could be chosen."""

from itertools import product

import numpy as np
import pytest
from comet_checkpoints import RECIPES, build
from comet_texts import TEXTS
from selection import some_rows

from ctx_metrics import COMET, InputError
from ctx_metrics.choice.candidates import Item, order
from ctx_metrics.choice.documents import best_documents, best_paths, search
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.metrics.slide import SLIDE
from ctx_metrics.run.run import Run
from ctx_metrics.run.texts import Texts
from ctx_metrics.scoring.context import MetricSettings
from ctx_metrics.windows import sentence_windows

ENGINE = EngineOptions(device="cpu", quiet=True)
SOURCES = [src for src, *_ in TEXTS[:7]]
OUTPUTS = list(dict.fromkeys(mt for _, mt, _ in TEXTS if mt.strip()))
ITEMS = [Item(tuple(OUTPUTS[(3 * i + k) % len(OUTPUTS)] for k in range(3)), None, src) for i, src in enumerate(SOURCES)]
IDS = ["a"] * 4 + ["b"] * 3


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    return str(build(RECIPES["referenceless"], tmp_path_factory.mktemp("comet") / "referenceless"))


def run_of(*metrics: MetricSettings) -> Run:
    return Run(Texts(), metrics, {}, ENGINE, text_checks=False)


def slide(model: str, hypotheses: list[str], first: int, last: int, **settings) -> float:
    metric = SLIDE(model=model, sources=SOURCES[first:last], doc_ids=IDS[first:last], engine=ENGINE, **settings)
    return metric.corpus_score(hypotheses, []).score


def test_the_best_document_is_the_one_with_the_best_score(model):
    found = best_documents(run_of(MetricSettings("slide", SLIDE, {"model": model, "window": 2})), [1.0], ITEMS, IDS)
    for first, last in ((0, 4), (4, 7)):
        expected = [
            slide(model, [item.candidates[k] for item in ITEMS[first:last]], first, last, window=2) for k in range(3)
        ]
        for place in range(first, last):
            assert found.scores[place] == pytest.approx(expected, abs=1e-4)
    assert "window:2" in found.signatures["slide"]


SHAPES = [(2, 1, "weight"), (3, 3, "include"), (3, 2, "drop"), (9, 9, "weight")]


@pytest.mark.parametrize(("window", "stride", "partial"), some_rows(SHAPES, SHAPES[::2]))
def test_a_wide_beam_finds_the_best_path(model, window, stride, partial):
    """Of all 81 and 27 paths."""
    settings = {"window": window, "stride": stride, "partial": partial}
    if partial == "drop":
        items, ids = ITEMS[:3], IDS[:3]
    else:
        items, ids = ITEMS, IDS
    found = best_paths(run_of(MetricSettings("slide", SLIDE, {"model": model, **settings})), items, ids, beam=81)
    for first, last in ((0, 4), (4, 7)) if len(items) == 7 else ((0, 3),):
        scored = {
            path: slide(
                model, [item.candidates[k] for item, k in zip(items[first:last], path)], first, last, **settings
            )
            for path in product(range(3), repeat=last - first)
        }
        chosen = tuple(order(scores)[0] for scores in found.scores[first:last])
        assert scored[chosen] == pytest.approx(max(scored.values()), abs=1e-4)
        assert np.nanmax(found.scores[first]) == pytest.approx(max(scored.values()), abs=1e-4)
        assert [np.isnan(scores).sum() for scores in found.scores[first:last]] == [2] * (last - first)


def test_a_narrow_beam_is_greedy_and_never_better():
    """Values by hand: a first choice that looks good and leads nowhere."""

    def values(texts):
        worth = {(0,): 1.0, (1,): 0.9, (0, 0): 0.1, (0, 1): 0.2, (1, 0): 0.3, (1, 1): 5.0}
        return [worth[choices] for *_, choices in texts]

    windows = [sentence_windows(2, 2, 2)]
    assert search([[2, 2]], windows, values, 1) == [((0, 1), 0.2)]
    assert search([[2, 2]], windows, values, 2) == [((1, 1), 5.0)]


def test_documents_that_cannot_be_made(model):
    items = [*ITEMS[:6], Item(("a",), None, "b")]
    with pytest.raises(InputError, match="source 7 has 1 candidate, but source 1 has 3"):
        best_documents(run_of(MetricSettings("slide", SLIDE, {"model": model})), [1.0], items, IDS)


def test_paths_that_cannot_be_found(model):
    for metrics, said in (
        ([MetricSettings("comet", COMET)], "needs the windows of slide"),
        ([MetricSettings("slide", SLIDE, {"model": model, "tokens": 50})], "does not work with windows of tokens"),
    ):
        with pytest.raises(InputError, match=said):
            best_paths(run_of(*metrics), ITEMS, IDS, 2)
