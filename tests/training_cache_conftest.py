"""Helpers of the embedding cache's tests: texts, caches that are filled, and an encoder that shows its batches."""

import random

import pytest
import torch
from conftest import WORDS

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.training import token_states
from ctx_metrics.training.token_states import EmbeddingCache

LAYERS, CKPT = (1, 3), "0123456789ab"
TOKEN = 2 * 2 * 48  # bytes of a token's states: fp16, two layers, width 48


def some_texts(number, seed=1, longest=12):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, longest))) for _ in range(number)]


class BatchBound(TextEncoder):
    """Adds the number of tokens encoded together to every state, and counts.

    Every state shows its batch, so that a text that was encoded beside other texts than the plan's is seen on any machine.
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.batches = []
        self.before_batch = lambda: None

    def encode(self, tokens, readouts):
        self.before_batch()
        self.batches.append(len(tokens))
        together = sum(len(text.ids) for text in tokens) + int(tokens[0].ids.sum()) / 64
        return [{key: value + together for key, value in states.items()} for states in super().encode(tokens, readouts)]


class Killed(BaseException):
    pass


@pytest.fixture
def encoder(tiny_bert):
    return TextEncoder(tiny_bert)


@pytest.fixture
def bound_encoder(tiny_bert):
    return BatchBound(tiny_bert)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(token_states, "CHUNK_TOKENS", 60)


def filled(folder, encoder, *fills, **options):
    cache = EmbeddingCache(folder, encoder, layers=LAYERS, ckpt=CKPT, **options)
    for texts in fills:
        cache.fill(texts)
    return cache


def same(found, wanted):
    return len(found) == len(wanted) and all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(found, wanted))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


def chunks(folder):
    """The files of the finished chunks, in order."""
    return sorted(folder.glob("chunk-*.f16"))
