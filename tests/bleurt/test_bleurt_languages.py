"""bleurt against transformers' own model on real texts in 13 languages, with checkpoints of tiny and of base shape."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import bleurt_folders
import numpy as np
import pytest
from bleurt_folders import ACTS, make, oracle
from segments_of_languages import segments_of_languages

from ctx_metrics import BLEURT, EngineOptions

pytestmark = pytest.mark.full
CLOSE = 1e-5
QUIET = EngineOptions(quiet=True)
Pair = tuple[str, str]  # hypothesis, reference


@pytest.fixture(scope="module")
def pairs(shared_data) -> list[Pair]:
    """Outputs with their references, with those of other segments, and equal texts."""
    segments = segments_of_languages(shared_data)
    own = [(output, reference) for _, output, reference in segments]
    others = [(output, reference) for (output, _), (_, reference) in zip(own, own[1:] + own[:1], strict=True)]
    return [*own, *others, *((reference, reference) for _, reference in own[::3])]


@pytest.fixture(scope="module", params=["tiny", pytest.param("base", marks=pytest.mark.slow)])
def folder(request, pairs, tmp_path_factory) -> Iterator[Path]:
    parent = tmp_path_factory.mktemp(request.param)
    yield make(parent / "checkpoint", request.param, texts=[text for pair in pairs[::3] for text in pair])
    bleurt_folders.forget()
    shutil.rmtree(parent)


def values(folder: Path, pairs: list[Pair], activation: str = "gelu", engine: EngineOptions = QUIET) -> np.ndarray:
    hypotheses, references = (list(each) for each in zip(*pairs, strict=True))
    metric = BLEURT(model=str(folder), activation=activation, engine=engine)
    return np.array([each.score / 100 for each in metric.segment_scores(hypotheses, [references])])


@pytest.mark.parametrize("activation", ACTS)
def test_every_language(folder, pairs, activation):
    expected = np.array(oracle(folder, pairs, activation))
    assert np.std(expected) > 0.1, "the scores must differ"
    found = values(folder, pairs, activation)
    print(f"scores {expected.min():.2f} to {expected.max():.2f}, largest difference {abs(found - expected).max():.1e}")
    assert found == pytest.approx(expected, abs=CLOSE)


def test_batches_and_order(folder, pairs):
    usual = values(folder, pairs)
    assert values(folder, pairs, engine=EngineOptions(quiet=True, batch_tokens=1)) == pytest.approx(usual, abs=CLOSE)
    shuffled = np.random.default_rng(1).permutation(len(pairs))
    assert values(folder, [pairs[k] for k in shuffled]) == pytest.approx(usual[shuffled], abs=CLOSE)


def test_long_texts_are_cut(folder, pairs):
    """All languages in one text: either text is longer, or both."""
    hypothesis, reference = (" ".join(each) for each in zip(*pairs, strict=True))
    long = [
        (hypothesis, reference),
        (hypothesis[:300], reference),
        (hypothesis, reference[:300]),
        (reference, reference),
    ]
    assert values(folder, long) == pytest.approx(np.array(oracle(folder, long)), abs=CLOSE)


def test_bf16_is_within_a_hundredth_of_the_range(folder, pairs):
    exact = values(folder, pairs)
    found = values(folder, pairs, engine=EngineOptions(dtype="bf16", quiet=True))
    print(f"largest difference in bf16 {abs(found - exact).max():.4f}")
    assert found == pytest.approx(exact, abs=0.01 * np.ptp(exact))
