import torch
from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.engine.store import EmbeddingStore


def states(tokens, *mixes):
    """States of 16 bytes a token and mix."""
    return {mix: torch.full((tokens, 4), float(tokens)) for mix in mixes or [(1,)]}


def test_what_was_put_is_got():
    store = EmbeddingStore(1000)
    kept = store.put("a", {(1,): torch.rand(3, 4), (2, 3): torch.arange(6).half(), (4,): torch.rand(0, 9)})
    assert store.get("a", {(2, 3)}) is kept and store.get("a", {(1,), (2, 3)}) is kept
    assert [(tensor.shape, tensor.dtype) for tensor in kept.values()] == [
        ((3, 4), torch.float32),
        ((6,), torch.float16),
        ((0, 9), torch.float32),
    ]
    assert kept[2, 3].tolist() == [0, 1, 2, 3, 4, 5]
    assert store.get("b", {(1,)}) is None


def test_a_missing_mix_is_a_miss():
    store = EmbeddingStore(1000)
    store.put("a", states(3, (1,)))
    assert store.get("a", {(1,), (2,)}) is None
    store.put("a", states(3, (1,), (2,)))
    assert store.get("a", {(1,), (2,)}) is not None
    assert store.size == 2 * 48  # the older states are gone


def test_least_recently_used_goes_first():
    store = EmbeddingStore(3 * 16)
    for key in "abc":
        store.put(key, states(1))
    store.get("a", {(1,)})
    store.put("d", states(1))
    assert [key for key in "abcd" if store.get(key, {(1,)})] == ["a", "c", "d"]


def test_a_miss_does_not_count_as_use():
    store = EmbeddingStore(2 * 16)
    store.put("a", states(1))
    store.put("b", states(1))
    store.get("a", {(9,)})
    store.put("c", states(1))
    assert [key for key in "abc" if store.get(key, {(1,)})] == ["b", "c"]


@given(st.integers(0, 200), st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 6)), max_size=30))
def test_the_bound_holds_and_the_size_is_what_is_kept(limit, puts):
    store = EmbeddingStore(limit)
    for key, tokens in puts:
        store.put(key, states(tokens))
        kept = [found for name in "abcdef" if (found := store.get(name, {(1,)})) is not None]
        assert store.size == sum(16 * len(found[1,]) for found in kept) <= limit
        assert 16 * tokens > limit or (store.get(key, {(1,)}) is not None and len(store.get(key, {(1,)})[1,]) == tokens)
