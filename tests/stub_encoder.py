"""An encoder over which scores can be worked out by hand, and what metrics of matched tokens find in place of theirs."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from ctx_metrics.engine.store import EmbeddingStore
from ctx_metrics.engine.tokenizer import TokenIds
from ctx_metrics.models import hub


class StubTokenizer:
    """Words, between the two special tokens, by their places in a list."""

    joins_spaces = False

    def __init__(self, words):
        self.words = words

    def __call__(self, texts, max_content):
        ids = [[self.words.index(word) for word in text.split()] for text in texts]
        return [TokenIds(np.array([0, *text[:max_content], 6]), max(0, len(text) - max_content)) for text in ids]


class StubEncoder:
    """Context-free: a word's vector is the same wherever it stands. [ and ] are the special tokens."""

    layers, width, required_mixes, max_content = 3, 2, 1, 50
    config = {"vocab_size": 7}

    def __init__(self):
        self.store = EmbeddingStore(2**20)
        ends, words = (
            {"[": (0, -1)},
            {"east": (1, 0), "north": (0, 2), "steep": (3, 4), "flat": (4, 3), "west": (-5, 0)},
        )
        self.vectors = {**ends, **words, "]": (-1, 0)}
        self.tokenizer = StubTokenizer(list(self.vectors))

    def require(self, mixes):
        """Every mix is the same here."""

    def progress(self, label, texts):
        return nullcontext()

    def encode(self, tokens, mixes, unit="segment"):
        table = torch.tensor(list(self.vectors.values()), dtype=torch.float32)
        return [{mix: table[torch.from_numpy(text.ids)] for mix in mixes} for text in tokens]


@pytest.fixture
def stub(monkeypatch):
    """Every model is the stub."""
    monkeypatch.setattr(hub, "resolve", lambda name: hub.ResolvedModel("stub", "stub", None, "0" * 12))
    monkeypatch.setattr("ctx_metrics.engine.encoder.shared_encoder", lambda folder, engine: StubEncoder())


@pytest.fixture
def resolved(tiny_bert, monkeypatch):
    """The names that were resolved; each gives the tiny BERT, and the embedded model's is that."""
    names = []

    def resolve(name):
        names.append(name)
        embedded = name == "embedded"
        return hub.ResolvedModel("embedded-tiny" if embedded else name, tiny_bert, None, "0" * 12, embedded=embedded)

    monkeypatch.setattr(hub, "resolve", resolve)
    monkeypatch.setattr("ctx_metrics.scoring.token_matching.EMBEDDED_LAYER", "2")
    return names


def values(metric, hypotheses, streams):
    """Each segment's value on bert-score's scale."""
    return np.array([score.score / 100 for score in metric.segment_scores(hypotheses, streams)])
