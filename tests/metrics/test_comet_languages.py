"""Ranking models and xCOMET-lite against unbabel-comet on real texts in 13 languages, with tiny and base-sized checkpoints."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from comet_agreement import TOLERANCE, assert_agree, input_choices, our_estimates
from comet_checkpoints import RECIPES, build
from segments_of_languages import EACH, segments_of_languages

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator

pytestmark = pytest.mark.full
BASE = {"layers": 12, "width": 768, "heads": 12, "buckets": 256, "hidden_sizes": (3072, 1024)}
MADE = {
    "ranking": RECIPES["ranking"],
    "xcomet-lite": RECIPES["xcomet-lite"],
    "ranking base": replace(RECIPES["ranking"], **BASE),
    "xcomet-lite base": replace(RECIPES["xcomet-lite"], **BASE),
}
ALL = ("mt", "src", "ref")


@pytest.fixture(scope="module")
def texts(shared_data) -> list[tuple[str, str, str]]:
    """Sources, hypotheses and references; the last two are of all languages, and cut by the models."""
    found = segments_of_languages(shared_data)[::EACH]
    source, hypothesis, reference = (" ".join(column) for column in zip(*found, strict=True))
    return [*found, (found[0][0], hypothesis, found[0][2]), (source, hypothesis, reference)]


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=pytest.mark.slow) if "base" in name else name for name in MADE]
)
def made(request, tmp_path_factory) -> Iterator[tuple[str, Path]]:
    yield request.param, build(MADE[request.param], tmp_path_factory.mktemp("comet") / "checkpoint")


def test_scores(made, texts):
    pytest.importorskip("comet", reason="needs unbabel-comet, the oracle", exc_type=ImportError)
    from comet_oracle import load, predict

    name, folder = made
    model = load(folder)
    for keys in input_choices(MADE[name]):
        estimates = our_estimates(folder, MADE[name], texts, keys)
        assert_agree(estimates, predict(model, texts, keys), texts)
        assert all(estimate.cut for estimate in estimates[-2:])


def regressions(folder, texts, **options) -> np.ndarray:
    """The values of one regression, without error labels, which rounding can flip."""
    estimator = load_estimator(str(folder), EngineOptions(device="cpu", quiet=True, **options))
    estimates = estimator.estimate([Example(mt, ref, src) for src, mt, ref in texts], "test")
    return np.array([estimate.parts.get("unified", estimate.value) for estimate in estimates])


def test_batches_and_order(made, texts):
    _, folder = made
    usual = regressions(folder, texts)
    assert regressions(folder, texts, batch_tokens=1) == pytest.approx(usual, abs=TOLERANCE)
    shuffled = np.random.default_rng(1).permutation(len(texts))
    found = regressions(folder, [texts[k] for k in shuffled], store_mb=1)
    assert found == pytest.approx(usual[shuffled], abs=TOLERANCE)


def test_bf16_is_within_a_hundredth_of_the_range(made, texts):
    _, folder = made
    exact = regressions(folder, texts)
    assert np.ptp(exact) > 0.2
    assert regressions(folder, texts, dtype="bf16") == pytest.approx(exact, abs=0.01)
