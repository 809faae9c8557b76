"""Helpers of BERTScore's tests: values on bert-score's scale, and an encoder over which they can be worked out by hand."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ctx_metrics.engine.store import EmbeddingStore
from ctx_metrics.engine.tokenizer import TokenIds
from ctx_metrics.metrics.bertscore import BERTScore
from ctx_metrics.models import hub


class StubEncoder:
    """Context-free: a word's vector is the same wherever it stands, so scores can be worked out by hand."""

    layers, width, required_mixes, max_content = 3, 2, 1, 50
    VECTORS = {
        "[": (0, -1),
        "east": (1, 0),
        "north": (0, 2),
        "steep": (3, 4),
        "flat": (4, 3),
        "west": (-5, 0),
        "]": (-1, 0),
    }
    config = {"vocab_size": 7}
    tokenizer = SimpleNamespace(backend=SimpleNamespace(pre_tokenizer=None))

    def __init__(self):
        self.store = EmbeddingStore(2**20)

    def require(self, mixes):
        """Every mix is the same here."""

    def progress(self, label, texts):
        return nullcontext()

    def tokenize(self, texts, max_content):
        ids = [[list(self.VECTORS).index(word) for word in text.split()] for text in texts]
        return [TokenIds(np.array([0, *text[:max_content], 6]), max(0, len(text) - max_content)) for text in ids]

    def encode(self, tokens, mixes, unit="segment"):
        table = torch.tensor(list(self.VECTORS.values()), dtype=torch.float32)
        return [{mix: table[torch.from_numpy(text.ids)] for mix in mixes} for text in tokens]


@pytest.fixture
def stub(monkeypatch):
    """A function that makes a BERTScore over the stub."""
    monkeypatch.setattr(hub, "resolve", lambda name: hub.ResolvedModel("stub", "stub", None, "0" * 12))
    monkeypatch.setattr("ctx_metrics.engine.encoder.shared_encoder", lambda folder, engine: StubEncoder())
    return BERTScore


def values(metric, hypotheses, streams):
    """Each segment's value on bert-score's scale."""
    return np.array([score.score / 100 for score in metric.segment_scores(hypotheses, streams)])
