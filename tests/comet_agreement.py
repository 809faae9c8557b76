"""Our scores of a COMET checkpoint held against those of unbabel-comet."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from comet_checkpoints import Recipe

STORED = Path(__file__).parent / "data" / "comet_scores.json"
TOLERANCE = 1e-5
LEAST_SPREAD = 0.05


def input_choices(recipe: Recipe) -> list[tuple[str, ...]]:
    """The texts that the checkpoint can be asked to read: its own, and pairs of them if it is a unified one of three."""
    if recipe.kind in ("unified_metric", "xcomet_metric") and len(recipe.inputs) == 3:
        return [recipe.inputs, ("mt", "src"), ("mt", "ref")]
    return [recipe.inputs]


def our_estimates(
    folder: Path, recipe: Recipe, texts: Sequence[tuple[str, str, str]], keys, engine=None, **settings
) -> list:
    """What our estimator says of each (source, hypothesis, reference), reading the texts of `keys`."""
    from ctx_metrics.engine_options import EngineOptions
    from ctx_metrics.models.estimator import Example
    from ctx_metrics.models.load import load_estimator

    if keys != recipe.inputs:
        settings["inputs"] = "+".join(keys)
    if recipe.word_level and recipe.kind != "xcomet_metric":
        settings["spans"] = True
    estimator = load_estimator(str(folder), engine or EngineOptions(device="cpu", quiet=True), **settings)
    assert estimator.inputs == "+".join(keys)
    examples = [
        Example(mt, ref if "ref" in estimator.inputs else None, src if "src" in estimator.inputs else None)
        for src, mt, ref in texts
    ]
    return estimator.estimate(examples, label="test")


def assert_agree(estimates: Sequence, expected: Sequence[dict], texts: Sequence[tuple[str, str, str]]) -> None:
    """Scores, parts and confidences to TOLERANCE, spans exactly, save where the labels of a token are all but a tie."""
    assert len(estimates) == len(expected) == len(texts)
    assert np.std([e["value"] for e in expected]) > LEAST_SPREAD, "scores this flat prove nothing"
    ties = [e["margin"] is not None and e["margin"] < TOLERANCE for e in expected]
    assert sum(ties) <= len(texts) / 20
    for estimate, oracle, tie, (source, hypothesis, reference) in zip(estimates, expected, ties, texts):
        where = f"\nsource {source[:300]!r}\nhypothesis {hypothesis[:300]!r}\nreference {reference[:300]!r}"
        assert estimate.parts.keys() == oracle["parts"].keys(), where
        for part, value in oracle["parts"].items():
            if not (tie and part == "mqm"):
                assert estimate.parts[part] == pytest_approx(value), f"{part}{where}"
        if tie:
            continue
        assert estimate.value == pytest_approx(oracle["value"]), where
        assert (estimate.spans is None) == (oracle["spans"] is None), where
        if oracle["spans"] is not None:
            found = [(s.text, s.severity, s.start, s.end) for s in estimate.spans]
            assert found == [(text, severity, start, end) for text, severity, _, start, end in oracle["spans"]], where
            confidences = [s.confidence for s in estimate.spans]
            assert confidences == pytest_approx([confidence for _, _, confidence, _, _ in oracle["spans"]]), where


def pytest_approx(value):
    import pytest

    return pytest.approx(value, rel=0, abs=TOLERANCE)
