import weakref
from types import SimpleNamespace

import pytest

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine.pairs import EncodedText, map_pairs, one_by_one
from ctx_metrics.engine.readout import SEGMENT, WINDOW, TokenStates
from ctx_metrics.engine.store import EmbeddingStore
from ctx_metrics.engine_options import EngineOptions

MIX = (1, 2, 3)
PAIRS = [
    ("the cat sat", "a dog ran home"),
    ("rain", "rain"),
    ("the cat sat", "song"),
    ("a dog ran home", "the cat sat"),
    ("the cat sat", "a dog ran home"),
    ("old tree", "the old red tree"),
    ("city light", "the old red tree"),
]


@pytest.fixture
def encoder(tiny_bert):
    return TextEncoder(tiny_bert, EngineOptions(quiet=True))


def difference(left, right):
    """A value that depends on both sides and on which is which."""
    return (2 * left.states[MIX].mean() - right.states[MIX].mean()).item()


def values(encoder, pairs, **settings):
    return [result.value for result in map_pairs(encoder, pairs, [MIX], one_by_one(difference), **settings)]


def test_values_are_those_of_the_pair(encoder):
    for pair, value in zip(PAIRS, values(encoder, PAIRS), strict=True):
        tokens = encoder.tokenizer(pair)
        left, right = (EncodedText(text.ids, states) for text, states in zip(tokens, encoder.encode(tokens, [MIX])))
        assert value == pytest.approx(difference(left, right), abs=1e-6)


def test_equal_pairs_and_texts_are_computed_once(encoder, monkeypatch):
    seen, encoded = [], []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda tokens, *more: encoded.extend(tokens) or encode(tokens, *more))
    results = map_pairs(encoder, PAIRS, [MIX], one_by_one(lambda left, right: seen.append(1) or len(seen)))
    assert len(seen) == len(set(PAIRS)) == 6
    assert results[0] == results[4]
    assert len(encoded) == len({text for pair in PAIRS for text in pair}) == 7


@pytest.mark.parametrize("limit", [0, 48 * 4 * 10, 48 * 4 * 25])
def test_blocks_bound_the_memory_and_change_no_value(encoder, tiny_bert, limit, monkeypatch):
    expected = values(encoder, PAIRS)
    small = TextEncoder(tiny_bert, EngineOptions(quiet=True))
    small.store = EmbeddingStore(limit)
    encode, sizes = small.encode, []

    def counted(tokens, *more):
        sizes.append((sum(len(text.ids) for text in tokens) * 48 * 4, len(tokens)))
        return encode(tokens, *more)

    monkeypatch.setattr(small, "encode", counted)
    assert values(small, PAIRS) == pytest.approx(expected, abs=1e-5)
    assert len(sizes) > 1
    assert all(size <= limit or texts <= 2 for size, texts in sizes)


def test_nothing_of_a_block_is_held_while_the_next_is_encoded(encoder, monkeypatch):
    encoder.store, held = EmbeddingStore(0), []
    encode = encoder.encode

    def alone(*arguments):
        assert not [reference for reference in held if reference() is not None]
        return encode(*arguments)

    def function(left, right):
        held.extend(weakref.ref(side.states[MIX]) for side in (left, right))
        return len(held)

    monkeypatch.setattr(encoder, "encode", alone)
    map_pairs(encoder, PAIRS, [MIX], one_by_one(function))
    assert len(held) == 2 * 6


def test_few_texts_are_tokenized_at_once(encoder, monkeypatch):
    """And the blocks, which depend on the states alone, are the same."""
    backend, sizes, blocks = encoder.tokenizer.backend, [], {1000: [], 4: []}
    counting = SimpleNamespace(
        encode_batch=lambda texts, **options: sizes.append(len(texts)) or backend.encode_batch(texts, **options)
    )
    monkeypatch.setattr(encoder.tokenizer, "backend", counting)
    for most, of_most in blocks.items():
        monkeypatch.setattr("ctx_metrics.engine.tokenizer.TEXTS_AT_ONCE", most)
        monkeypatch.setattr("ctx_metrics.engine.pairs.PAIRS_AT_ONCE", most // 2)
        encoder.store = EmbeddingStore(48 * 4 * 25)
        sizes.clear()
        map_pairs(encoder, [("", "rain"), *PAIRS], [MIX], lambda pairs: of_most.append(len(pairs)) or [0] * len(pairs))
        assert len(encoder.tokenizer([text for pair in PAIRS for text in pair])) == 14
        assert max(sizes) <= most
    assert blocks[4] == blocks[1000] and len(blocks[4]) > 1


def test_blocks_reckon_with_every_mix_that_is_held(encoder, monkeypatch):
    """Another metric's mixes take room as well."""
    encoder.store = EmbeddingStore(48 * 4 * 40)
    blocks = []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda tokens, *more: blocks.append(len(tokens)) or encode(tokens, *more))
    values(encoder, PAIRS)
    assert len(blocks) == 1
    encoder.require([(0,), (1,), (2,), (3,)])
    values(encoder, PAIRS)
    assert len(blocks) > 2


def test_a_side_without_tokens_gives_none(encoder, monkeypatch):
    pairs = [("", "a cat"), ("a cat", " "), ("", ""), ("a cat", "a cat")]
    results = map_pairs(encoder, pairs, [MIX], one_by_one(difference))
    assert [result.value is None for result in results] == [True, True, True, False]
    assert [result.empty for result in results] == [(True, False), (False, True), (True, True), (False, False)]
    monkeypatch.setattr(encoder, "encode", None)
    assert values(encoder, [("", "a cat")]) == [None] and values(encoder, []) == []


def test_sides_that_were_cut(encoder):
    pairs = [("the cat sat", "a cat"), ("a cat", "the cat sat"), ("a cat", "cat")]
    results = map_pairs(encoder, pairs, [MIX], one_by_one(difference), max_content=2)
    assert [result.cut for result in results] == [(True, False), (False, True), (False, False)]
    assert results[0].value == pytest.approx(values(encoder, [("the cat", "a cat")])[0], abs=1e-6)


def test_the_function_gets_a_block_of_distinct_pairs_with_the_mixes(encoder):
    blocks = []

    def function(pairs):
        blocks.append([tuple(text.ids.tolist() for text in pair) for pair in pairs])
        assert all(text.states[MIX].shape == text.states[0,].shape == (len(text.ids), 48) for text in sum(pairs, ()))
        return range(len(pairs))

    results = map_pairs(encoder, [("", "rain"), *PAIRS], iter([MIX, (0,)]), function)
    distinct = list(dict.fromkeys(PAIRS))
    assert blocks == [[tuple(text.ids.tolist() for text in encoder.tokenizer(pair)) for pair in distinct]]
    assert [result.value for result in results] == [None, *(distinct.index(pair) for pair in PAIRS)]


class OfSegments(TokenStates):
    """Read of other metrics' segments only."""

    unit = SEGMENT


@pytest.mark.parametrize("unit, read", [(SEGMENT, True), (WINDOW, False)])
def test_what_others_announced_is_read_of_its_own_unit(encoder, unit, read):
    other = OfSegments((2,))
    encoder.require([other, (0,)])
    seen = []
    map_pairs(encoder, PAIRS[:1], [MIX], one_by_one(lambda left, right: seen.append(left.states)), unit=unit)
    assert seen[0].keys() == {MIX, (0,)} | ({other} if read else set())
    (asked,) = map_pairs(encoder, PAIRS[:1], [other], one_by_one(lambda left, _: left.states[other]), unit=unit)
    assert asked.value.shape == (5, 48)
