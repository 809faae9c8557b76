import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.errors import InputError
from ctx_metrics.windows import PARTIAL, Window, credit, sentence_windows, token_windows

# (document length, window, stride): full windows, the partial one that "include" and "weight" add
GOLDEN = [
    ((7, 4, 2), [(0, 4), (2, 6)], [(4, 7)]),
    ((8, 4, 2), [(0, 4), (2, 6), (4, 8)], []),
    ((3, 4, 2), [], [(0, 3)]),
    ((10, 4, 4), [(0, 4), (4, 8)], [(8, 10)]),
    ((5, 4, 1), [(0, 4), (1, 5)], []),
    ((13, 6, 6), [(0, 6), (6, 12)], [(12, 13)]),
    ((9, 3, 2), [(0, 3), (2, 5), (4, 7), (6, 9)], []),
]

settings_of_windows = st.integers(1, 12).flatmap(lambda w: st.tuples(st.integers(0, 40), st.just(w), st.integers(1, w)))


@pytest.mark.parametrize("setting, full, partial", GOLDEN)
def test_golden_windows(setting, full, partial):
    assert sentence_windows(*setting, "drop") == [Window(start, end, 1.0) for start, end in full]
    assert sentence_windows(*setting, "include") == [Window(start, end, 1.0) for start, end in full + partial]
    assert sentence_windows(*setting) == [Window(start, end, end - start) for start, end in full + partial]


@given(settings_of_windows, st.sampled_from(PARTIAL))
def test_windows_keep_to_the_document_and_the_stride(setting, partial):
    length, window, stride = setting
    windows = sentence_windows(length, window, stride, partial)
    assert [w.start for w in windows] == [stride * k for k in range(len(windows))]
    assert all(0 <= w.start < w.end <= length for w in windows)
    short = [w for w in windows if w.end - w.start != window]
    assert all(w.end - w.start < window for w in short)
    assert short in ([], windows[-1:]) and (partial != "drop" or not short)
    assert all(w.weight == (w.end - w.start if partial == "weight" else 1) for w in windows)


def covered_by(windows):
    return {i for w in windows for i in range(w.start, w.end)}


@given(settings_of_windows)
def test_what_stays_uncovered(setting):
    length, window, stride = setting
    for partial in ("include", "weight"):
        assert covered_by(sentence_windows(length, window, stride, partial)) == set(range(length))
    tail = (length - window) % stride if length >= window else length
    assert covered_by(sentence_windows(length, window, stride, "drop")) == set(range(length - tail))


@pytest.mark.parametrize("window, stride", [(0, 1), (4, 0), (4, 5), (-2, 1)])
def test_settings_that_would_skip_sentences_are_refused(window, stride):
    with pytest.raises(InputError, match=f"window {window}, stride {stride}" if window > 0 else f"window {window}: "):
        sentence_windows(9, window, stride)


def test_unknown_partial_is_refused():
    with pytest.raises(InputError, match="'keep' is not one of drop, include, weight"):
        sentence_windows(9, 4, 2, "keep")


token_counts = st.lists(st.integers(0, 30), min_size=1, max_size=25)


@given(token_counts, st.integers(1, 60), st.integers(0, 8), st.integers(0, 5))
def test_token_windows(tokens, budget, stride, overhead):
    windows = token_windows(tokens, budget, stride, overhead)
    assert windows[0].start == 0 and windows[-1].end == len(tokens)
    for before, after in zip(windows, windows[1:]):
        assert before.start < after.start <= before.end
        assert after.start == (before.end if stride == 0 else min(before.start + stride, before.end))
    for window in windows:
        assert window.weight == window.end - window.start
        total = sum(tokens[window.start : window.end]) + overhead
        assert total <= budget or window.end == window.start + 1
        # as many sentences as fit: one more would be too much
        assert window.end == len(tokens) or total + tokens[window.end] > budget


def test_overhead_counts_in_every_window():
    assert token_windows([], 10) == []
    assert [(w.start, w.end) for w in token_windows([4, 4, 4], budget=8)] == [(0, 2), (2, 3)]
    assert [(w.start, w.end) for w in token_windows([4, 4, 4], budget=8, overhead=1)] == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("budget, stride", [(0, 0), (-1, 1), (5, -1)])
def test_bad_token_budgets_are_refused(budget, stride):
    with pytest.raises(InputError, match=f"token budget {budget}, stride {stride}"):
        token_windows([1, 2], budget, stride)


@given(settings_of_windows, st.sampled_from(PARTIAL), st.randoms(use_true_random=False))
def test_columns_of_credit_sum_to_the_exact_score(setting, partial, random):
    length, window, stride = setting
    windows = sentence_windows(length, window, stride, partial)
    values = [random.uniform(-1, 1) for _ in windows]
    rows = credit(windows, values, length)
    weights = [w.end - w.start if partial == "weight" else 1 for w in windows]
    assert math.fsum(row[1] for row in rows) == pytest.approx(sum(weights), abs=1e-9)
    expected = math.fsum(weight * value for weight, value in zip(weights, values))
    assert math.fsum(row[0] for row in rows) == pytest.approx(expected, abs=1e-9)


def test_credit_of_a_sentence_is_the_weighted_mean_of_its_windows():
    # windows 0-3 (value .2, weight 4) and 2-4 (value .8, weight 3): sentence 2 has 1/4 of the first, 1/3 of the second
    rows = credit([Window(0, 4, 4.0), Window(2, 5, 3.0)], [0.2, 0.8], 6)
    assert rows[0] == pytest.approx([0.2, 1.0])
    assert rows[2] == pytest.approx([0.2 + 0.8, 2.0])
    assert rows[4] == pytest.approx([0.8, 1.0])
    assert rows[5] == [0.0, 0.0]


@pytest.mark.parametrize("partial", PARTIAL)
def test_windows_of_one_sentence_are_the_plain_metric(partial):
    values = [0.1, 0.7, -0.3, 1.0]
    windows = sentence_windows(4, 1, 1, partial)
    assert credit(windows, values, 4) == [[value, 1.0] for value in values]


def test_credit_wants_a_value_for_every_window():
    with pytest.raises(ValueError):
        credit([Window(0, 2, 2.0)], [0.5, 0.6], 2)
