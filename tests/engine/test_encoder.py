import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ctx_metrics.engine.device import token_batches
from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.engine.readout import SEGMENT, WINDOW, TokenStates
from ctx_metrics.engine.store import EmbeddingStore
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import ResourceError

TEXTS = [
    "the cat sat on the mat",
    "a dog ran home",
    "rain",
    "the old red bird and the slow river",
    "",
    "the cat ran home fast",
    "city light under the old tree",
    "a cat sat",
    "song",
    "the dog sat on the cat",
]
LAST = [(3,)]


@pytest.fixture
def encoder(tiny_bert):
    return TextEncoder(tiny_bert)


@pytest.fixture
def forwards(monkeypatch):
    """Counts forwards: .calls holds the lengths of each one's sequences; while .fails(calls), memory runs out."""
    calls = []
    run = PackedEncoder.__call__

    def counted(self, sequences, mixes, seconds=None):
        calls.append([len(sequence) for sequence in sequences])
        if counted.fails(calls):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return run(self, sequences, mixes, seconds)

    counted.fails = lambda calls: False
    monkeypatch.setattr(PackedEncoder, "__call__", counted)
    counted.calls = calls
    return counted


def states_of(encoder, texts, mixes=LAST):
    return [states[mixes[0]] for states in encoder.encode(encoder.tokenizer(texts), mixes)]


def gap(found, expected):
    assert [len(states) for states in found] == [len(states) for states in expected]
    return max((a - b).abs().max().item() for a, b in zip(found, expected, strict=True))


def without_store(folder):
    encoder = TextEncoder(folder)
    encoder.store = EmbeddingStore(0)
    return encoder


@pytest.fixture(scope="module")
def alone(tiny_bert):
    """States of each text, encoded in a batch of its own."""
    encoder = without_store(tiny_bert)
    return [states_of(encoder, [text])[0] for text in TEXTS]


@pytest.fixture(scope="module")
def storeless(tiny_bert):
    return without_store(tiny_bert)


def test_each_distinct_text_is_encoded_once(encoder, forwards):
    states = states_of(encoder, ["a cat", "a dog", "a cat", "The Dog", "a cat", "the dog"])
    assert sum(map(len, forwards.calls)) == 3
    assert states[0].data_ptr() == states[2].data_ptr() == states[4].data_ptr()
    assert torch.equal(states[3], states[5])  # the uncased tokenizer makes them one
    assert not torch.equal(states[0], states[1])


def test_the_store_serves_the_second_call(encoder, forwards):
    first = states_of(encoder, TEXTS)
    done = len(forwards.calls)
    second = states_of(encoder, [*TEXTS[::-1], "a red song"])
    assert forwards.calls[done:] == [[5]]
    assert gap(second[:-1], first[::-1]) == 0


def test_equal_tokens_are_other_texts_where_the_second_text_begins_elsewhere(encoder, forwards):
    [text] = encoder.tokenizer(["the cat sat on the mat"])
    texts = [text._replace(second=second) for second in (None, 2, 4, 4)]
    found = [states[LAST[0]] for states in encoder.encode(texts, LAST)]
    assert len(forwards.calls[0]) == 3 and torch.equal(found[2], found[3])
    assert all((one - other).abs().max() > 1e-3 for one, other in zip(found[:2], found[1:3]))


def test_a_few_texts_that_are_found_do_not_keep_what_the_store_drops(tiny_bert):
    encoder = TextEncoder(tiny_bert)
    encoder.store = EmbeddingStore(8 * 48 * 4 * 16)  # slabs of 16 tokens
    old = encoder.encode(encoder.tokenizer(TEXTS[:3]), LAST)
    kept = [states[3,].clone() for states in old]
    found = encoder.encode(encoder.tokenizer([TEXTS[0], *TEXTS[3:]]), LAST)
    assert all(states.slab in encoder.store._slabs for states in found)
    assert found[0].slab is not old[0].slab and torch.equal(found[0][3,], kept[0])
    assert all(torch.equal(states[3,], copy) for states, copy in zip(old, kept))  # what was given out stays


def test_one_pass_serves_every_mix_that_was_announced(encoder, forwards):
    encoder.require([(1,)])
    encoder.require([(1, 2, 3)])
    tokens = encoder.tokenizer(TEXTS)
    first = encoder.encode(tokens, [(1,)])
    done = len(forwards.calls)
    second = encoder.encode(tokens, [(1, 2, 3)])
    assert len(forwards.calls) == done and encoder.required_mixes == 2
    assert torch.equal(first[0][1, 2, 3], second[0][1, 2, 3])
    encoder.encode(tokens, [(2,)])  # not announced
    assert len(forwards.calls) > done


class OfSegments(TokenStates):
    unit = SEGMENT


def test_what_is_announced_for_segments_is_not_read_of_windows(encoder, forwards):
    encoder.require([OfSegments((1,)), (2,)])
    tokens = encoder.tokenizer(TEXTS)
    windows = encoder.encode(tokens, LAST, WINDOW)
    assert all(states.keys() == {(3,), (2,)} for states in windows)
    encoder.encode(tokens, LAST)  # in the store, whatever the unit
    done = len(forwards.calls)
    segments = encoder.encode(tokens, [OfSegments((1,))])
    assert len(forwards.calls) > done
    assert all(states.keys() == {(3,), (2,), OfSegments((1,))} for states in segments)
    again = encoder.encode(tokens, [OfSegments((1,))], WINDOW)
    assert torch.equal(again[0][OfSegments((1,))], segments[0][OfSegments((1,))])


def test_texts_that_no_metric_reads_are_read_alone(encoder):
    """Neither does a pass over them read what metrics announced, nor do metrics' passes read what was asked of them."""
    tokens = encoder.tokenizer(TEXTS)
    of_new = encoder.encode(tokens, [(1,)], alone=True)  # the weights of one layer are loaded
    encoder.require(LAST)
    assert all(states.keys() == {(1,)} for states in encoder.encode(encoder.tokenizer(["a dog"]), [(1,)], alone=True))
    assert all(states.keys() == set(LAST) for states in encoder.encode(tokens, LAST))
    size = encoder.store.size
    again = encoder.encode(tokens, [(1,)], alone=True)
    assert encoder.store.size == size > 0  # what no metric reads is not kept
    assert gap([states[(1,)] for states in of_new], [states[(1,)] for states in again]) < 1e-6


@settings(max_examples=30)
@given(st.integers(1, 120), st.permutations(range(len(TEXTS))))
def test_neither_batches_nor_order_change_the_states(storeless, alone, budget, order):
    storeless.budget.tokens = budget
    found = states_of(storeless, [TEXTS[i] for i in order])
    assert gap(found, [alone[i] for i in order]) < 1e-5


def test_batches_keep_the_budget(tiny_bert, forwards):
    states_of(TextEncoder(tiny_bert, EngineOptions(batch_tokens=12)), TEXTS)
    assert len(forwards.calls) > 3
    assert all(sum(lengths) <= 12 or len(lengths) == 1 for lengths in forwards.calls)


def test_out_of_memory_over_a_number_of_tokens(tiny_bert, forwards, alone, caplog):
    """The batches made before the memory ran out must not run into it again, one by one."""
    encoder = TextEncoder(tiny_bert, EngineOptions(batch_tokens=24))
    planned = token_batches([len(text) for text in alone], 24)
    assert sum(sum(len(alone[i]) for i in batch) > 14 for batch in planned) > 2
    forwards.fails = lambda calls: sum(calls[-1]) > 14
    assert gap(states_of(encoder, TEXTS), alone) < 1e-5
    failed = [lengths for lengths in forwards.calls if sum(lengths) > 14]
    assert forwards.calls[:1] == failed
    total = sum(failed[0])
    assert encoder.budget.tokens == total // 2
    assert caplog.messages == [f"out of memory on cpu with {total} tokens in a batch; continuing with {total // 2}"]
    done = [length for lengths in forwards.calls if lengths not in failed for length in lengths]
    assert sorted(done) == sorted(map(len, alone))  # none was run twice


def test_the_budget_is_halved_until_the_batch_fits(encoder, forwards, alone, caplog):
    forwards.fails = lambda calls: sum(calls[-1]) > 10
    assert gap(states_of(encoder, TEXTS), alone) < 1e-5
    assert encoder.budget.tokens <= 10
    assert len(caplog.records) == len({record.getMessage() for record in caplog.records}) > 1


def test_a_text_too_long_for_the_memory(encoder, forwards):
    forwards.fails = lambda calls: 10 in calls[-1]
    longest = max(len(text.ids) for text in encoder.tokenizer(TEXTS))
    assert longest == 10
    with pytest.raises(ResourceError, match="too little memory for a single text of 10 tokens"):
        states_of(encoder, TEXTS)


def test_other_errors_are_not_taken_for_memory(encoder, monkeypatch):
    def broken(self, *arguments):
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(PackedEncoder, "__call__", broken)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        states_of(encoder, TEXTS)


def test_half_precision_gives_fp32_states_near_the_exact_ones(tiny_bert, alone):
    encoder = TextEncoder(tiny_bert, EngineOptions(dtype="bf16"))
    found = states_of(encoder, TEXTS)
    assert all(states.dtype == torch.float32 for states in found)
    assert 1e-5 < gap(found, alone) < 0.5
    assert min(torch.cosine_similarity(a, b).min().item() for a, b in zip(found, alone)) > 0.99


def test_pickling_drops_the_weights(encoder, alone):
    states_of(encoder, TEXTS)
    weights = encoder.store.size
    copy = pickle.loads(pickle.dumps(encoder))
    assert len(pickle.dumps(encoder)) < 5000 and weights > 5000
    assert copy._network is None and copy.store.size == 0 and copy.store.limit == encoder.store.limit
    assert gap(states_of(copy, TEXTS), alone) < 1e-5
    assert encoder._network is not None and encoder.store.size == weights


def test_only_the_layers_that_are_needed_are_loaded(encoder):
    assert encoder._network is None
    states_of(encoder, ["a cat"], [(0,)])
    assert len(encoder._network.layers) == 0
    states_of(encoder, ["a cat"], [(1, 2)])
    assert len(encoder._network.layers) == 2
    network = encoder._network
    states_of(encoder, ["a dog"], [(1,)])
    assert encoder._network is network


def test_texts_are_cut_to_what_the_encoder_reads(tiny_bert, tiny_roberta, tiny_xlmr):
    for folder, most in ((tiny_bert, 68), (tiny_roberta, 70), (tiny_xlmr, 70)):
        encoder = TextEncoder(folder)
        assert encoder.max_content == most
        (found,) = encoder.tokenizer(["a " * 100])
        assert found.content == most and found.cut >= 30
        assert len(encoder.encode([found], LAST)[0][3,]) == most + 2
        assert encoder.tokenizer(["a " * 100], 5)[0].content == 5
        assert encoder.tokenizer(["a " * 100], 5000)[0].content == most
