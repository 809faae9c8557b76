"""Helpers of BERTScore's tests: values on bert-score's scale, and an encoder over which they can be worked out by hand."""

import numpy as np
import pytest
from stub_encoder import StubEncoder

from ctx_metrics.metrics.bertscore import BERTScore
from ctx_metrics.models import hub


@pytest.fixture
def stub(monkeypatch):
    """A function that makes a BERTScore over the stub."""
    monkeypatch.setattr(hub, "resolve", lambda name: hub.ResolvedModel("stub", "stub", None, "0" * 12))
    monkeypatch.setattr(
        "ctx_metrics.engine.encoder.shared_encoder", lambda folder, engine: StubEncoder((0, -1), (-1, 0))
    )
    return BERTScore


def values(metric, hypotheses, streams):
    """Each segment's value on bert-score's scale."""
    return np.array([score.score / 100 for score in metric.segment_scores(hypotheses, streams)])
