"""COMET's regressions by parts: the values of the estimator, and the choices of comet-mbr."""

import importlib.util

import numpy as np
import pytest
import torch
from comet_checkpoints import RECIPES, build
from comet_texts import TEXTS

from ctx_metrics import COMET
from ctx_metrics.choice.candidates import Item
from ctx_metrics.choice.minimum_risk import Method, MinimumRisk, distinct_texts, utility
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator
from ctx_metrics.pairs import comet as pairs
from ctx_metrics.pairs.comet import PairHead
from ctx_metrics.run.run import Run
from ctx_metrics.run.texts import Texts
from ctx_metrics.scoring.context import MetricSettings

NAMES = ["regression", "regression-layernorm", "regression-cls", "regression-patch"]
OPTIONS = EngineOptions(device="cpu", quiet=True)
TRIPLES = list(dict.fromkeys(TEXTS))[:12]
SOURCE = TRIPLES[0][0]
OUTPUTS = list(dict.fromkeys(mt for _, mt, _ in TRIPLES))
OTHERS = list(dict.fromkeys(ref for *_, ref in TRIPLES))


@pytest.fixture(scope="module", params=NAMES)
def estimator(request, tmp_path_factory):
    folder = build(RECIPES[request.param], tmp_path_factory.mktemp("comet") / request.param)
    return load_estimator(name=str(folder), options=OPTIONS)


def by_estimator(estimator, hypotheses, references) -> np.ndarray:
    examples = [Example(mt, ref, SOURCE) for mt in hypotheses for ref in references]
    values = [estimate.value for estimate in estimator.estimate(examples, "test")]
    return np.array(values).reshape(len(hypotheses), len(references))


@pytest.mark.parametrize("cells", [pairs.CELLS, 1])
def test_all_pairs_are_the_estimators(estimator, cells, monkeypatch):
    monkeypatch.setattr(pairs, "CELLS", cells)
    head = PairHead(estimator)
    own, other, source = (head.vectors(texts).values for texts in (OUTPUTS, OTHERS, [SOURCE]))
    assert head.grid(own, other, source[0]) == pytest.approx(by_estimator(estimator, OUTPUTS, OTHERS), abs=1e-6)
    assert head.grid(own, own, source[0]) == pytest.approx(by_estimator(estimator, OUTPUTS, OUTPUTS), abs=1e-6)


def test_single_pairs_are_those_of_the_grid(estimator):
    head = PairHead(estimator)
    own, source = head.vectors(OUTPUTS).values, head.vectors([SOURCE]).values[0]
    grid, rows, columns = head.grid(own, own, source), [0, 2, 2, 1], [1, 0, 2, 1]
    assert head.each(own[rows], own[columns], source) == pytest.approx(grid[rows, columns], abs=1e-6)


def run_of(folder) -> Run:
    """COMET by a model."""
    return Run(Texts(), [MetricSettings("comet", COMET, {"model": str(folder)})], {}, OPTIONS, text_checks=False)


def test_the_mean_reference_and_centroids(tmp_path):
    """The mean vector by hand; as many centroids as references are the references."""
    folder = build(RECIPES["regression"], tmp_path / "regression")
    head = PairHead(load_estimator(name=str(folder), options=OPTIONS))
    item = Item((*OUTPUTS[:4], OUTPUTS[0]), None, SOURCE)
    vectors, source = head.vectors(item.candidates).values, head.vectors([SOURCE]).values[0]
    mean = 100 * head.grid(vectors, vectors.mean(0, keepdim=True), source)[:, 0]

    def chosen(**method):
        made = MinimumRisk(run_of(folder), [1.0], Method(**method))
        return made([item], True).scores[0]

    assert chosen(method="aggregate") == pytest.approx(mean, abs=1e-4)
    exact = chosen()
    assert chosen(method="centroids", centroids=9) == pytest.approx(exact, abs=1e-4)
    assert chosen(method="centroids", centroids=1) == pytest.approx(mean, abs=1e-4)
    assert np.isfinite(chosen(method="centroids", centroids=3)).all()


@pytest.mark.full
def test_comet_mbr(tmp_path):
    if importlib.util.find_spec("comet") is None:
        pytest.skip("COMET is not installed")
    from comet.cli import mbr
    from comet_oracle import load

    folder = build(RECIPES["regression"], tmp_path / "regression")
    model = load(folder).eval()
    sources, per = [src for src, *_ in TRIPLES[:3]], 4
    outputs = [OUTPUTS[(k * 3 + j) % len(OUTPUTS)] for k in range(3) for j in range(per)]
    with torch.no_grad():
        of_sources, of_outputs = mbr.build_embeddings(sources, outputs, model, 8)
        matrix = mbr.mbr_decoding(of_sources, of_outputs.reshape(3, per, -1), model).numpy()
    items = [Item(tuple(outputs[k * per : k * per + per]), None, src) for k, src in enumerate(sources)]
    made = MinimumRisk(run_of(folder), [1.0], Method(exclude_self=True))
    found = np.array(made(items, True).scores) / 100
    assert found == pytest.approx(matrix, abs=1e-5)
    assert found.argmax(1).tolist() == matrix.argmax(1).tolist()


def test_a_ranking_model_scores_each_pair(tmp_path):
    """It has no head that could be taken apart."""
    folder = build(RECIPES["ranking"], tmp_path / "ranking")
    item = distinct_texts(Item(tuple(OUTPUTS), source=SOURCE))
    run = run_of(folder)
    made = utility(run.metrics[0], run, [item])
    made.read([item])
    [grid] = made.grids([(0, np.arange(len(OUTPUTS)), np.arange(len(OUTPUTS)))])
    expected = by_estimator(load_estimator(name=str(folder), options=OPTIONS), OUTPUTS, OUTPUTS)
    assert grid == pytest.approx(100 * expected, abs=1e-4)
