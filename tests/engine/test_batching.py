from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.engine.device import token_batches
from ctx_metrics.engine.readout import equal_runs

lengths_of_texts = st.lists(st.integers(1, 60), max_size=40)


@given(lengths_of_texts, st.integers(1, 150))
def test_batches_partition_the_sequences_within_the_budget(lengths, budget):
    batches = token_batches(lengths, budget)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch and (len(batch) == 1 or sum(lengths[i] for i in batch) <= budget)


@given(lengths_of_texts, st.integers(1, 150))
def test_longest_first_and_equal_lengths_in_order(lengths, budget):
    order = [index for batch in token_batches(lengths, budget) for index in batch]
    assert order == sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))


@given(lengths_of_texts, st.integers(1, 150))
def test_no_batch_could_take_the_next_sequence(lengths, budget):
    batches = token_batches(lengths, budget)
    for batch, following in zip(batches, batches[1:]):
        assert sum(lengths[i] for i in batch) + lengths[following[0]] > budget


def test_nothing_makes_no_batch():
    assert token_batches([], 8) == [] and list(equal_runs([])) == []


@given(st.lists(st.integers(1, 4), max_size=30))
def test_equal_runs_spell_the_lengths_out(lengths):
    runs = list(equal_runs(lengths))
    assert [length for _, count, length in runs for _ in range(count)] == lengths
    assert all(before[2] != after[2] for before, after in zip(runs, runs[1:]))
    offset = 0
    for first, count, length in runs:
        assert first == offset
        offset += count * length
