"""metricx against transformers' own model on real texts in 13 languages, with checkpoints of tiny and of base shape."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import metricx_folders
import numpy as np
import pytest
from metricx_folders import make, unlimited
from segments_of_languages import segments_of_languages

from ctx_metrics import EngineOptions, MetricX

pytestmark = pytest.mark.full
CLOSE = 2.5e-4  # 1e-5 of the range
FORMS = {
    ("24", True): "source: {} candidate: {} reference: {}",
    ("24", False): "source: {} candidate: {}",
    ("23", True): "candidate: {1} reference: {2}",
    ("23-qe", False): "candidate: {1} source: {0}",
}
QUIET = EngineOptions(quiet=True)


@pytest.fixture(scope="module")
def texts(shared_data) -> list[tuple[str, str, str]]:
    return segments_of_languages(shared_data)


@pytest.fixture(scope="module", params=["tiny", pytest.param("base", marks=pytest.mark.slow)])
def folder(request, texts, tmp_path_factory) -> Iterator[Path]:
    parent = tmp_path_factory.mktemp(request.param)
    prompts = [form.format(*each) for form in FORMS.values() for each in texts]
    yield make(parent / "checkpoint", request.param, texts=prompts)
    metricx_folders.forget()
    shutil.rmtree(parent)  # the base shape takes gigabytes


def numbers(folder, texts, version, referenced, engine=QUIET) -> np.ndarray:
    sources, outputs, references = (list(each) for each in zip(*texts, strict=True))
    more = {} if version == "23" else {"sources": sources}
    metric = MetricX(model=str(folder), version=version, engine=engine, **more)
    return np.array([each.score for each in metric.segment_scores(outputs, [references] if referenced else [])])


@pytest.mark.parametrize("mode", FORMS, ids=str)
def test_every_mode(folder, texts, mode):
    expected = np.array(unlimited(folder, [FORMS[mode].format(*each) for each in texts], 1536))
    assert np.ptp(expected) > 5, "the scores must differ, and not all be at a limit"
    assert numbers(folder, texts, *mode) == pytest.approx(expected.clip(0, 25), abs=CLOSE)


def test_scores_spread_over_the_range(folder, texts):
    prompts = [form.format(*each) for form in FORMS.values() for each in texts]
    scores = unlimited(folder, prompts, 1536)
    assert min(scores) < 4 and max(scores) > 20 and np.std(scores) > 3
    assert np.mean([2 < score < 23 for score in scores]) > 0.8


def test_batches_and_order(folder, texts):
    mode = ("24", True)
    usual = numbers(folder, texts, *mode)
    assert numbers(folder, texts, *mode, EngineOptions(quiet=True, batch_tokens=1)) == pytest.approx(usual, abs=CLOSE)
    shuffled = np.random.default_rng(1).permutation(len(texts))
    assert numbers(folder, [texts[k] for k in shuffled], *mode) == pytest.approx(usual[shuffled], abs=CLOSE)


@pytest.mark.parametrize(("mode", "most"), [(("24", True), 1536), (("23", True), 1024)], ids=str)
def test_long_texts_are_cut(folder, texts, mode, most):
    """All languages in one text; the same with fewer tokens than the limit, and with exactly so many."""
    sources, outputs, references = (" ".join(each) for each in zip(*texts, strict=True))
    long = [(f"{sources} {k}", outputs[:k] if mode[0] == "24" else outputs * 3, references) for k in (200, 400, 4000)]
    expected = np.array(unlimited(folder, [FORMS[mode].format(*each) for each in long], most)).clip(0, 25)
    assert numbers(folder, long, *mode) == pytest.approx(expected, abs=CLOSE)


def test_bf16_is_within_a_hundredth_of_the_range(folder, texts):
    exact = numbers(folder, texts, "24", True)
    found = numbers(folder, texts, "24", True, EngineOptions(dtype="bf16", quiet=True))
    assert found == pytest.approx(exact, abs=0.25)
