"""Bootstrap of agreement: the same draws for all metrics, and intervals and p-values that hold what they promise."""

import math
from itertools import combinations

import numpy as np
import pytest

from ctx_metrics.meta.inference import bootstrap
from ctx_metrics.meta.inference.bootstrap import bootstrap_parts, bootstrap_values, interval, p_not_better

NAN = float("nan")


def random_parts(rng, sizes=(40, 25)):
    """Accuracy-like parts: up to three pairs a unit, some units without any."""
    parts = []
    for size in sizes:
        of = rng.integers(0, 4, size=size)
        parts.append(np.column_stack([rng.binomial(of, 0.6), of]).astype(np.float64))
    return parts


def value_of(parts, pooled):
    def value(drawn):
        sums = np.array([of_set[rows].sum(axis=0) for of_set, rows in zip(parts, drawn)])
        if pooled:
            return sums[:, 0].sum() / sums[:, 1].sum()
        return np.mean(sums[:, 0] / sums[:, 1])

    return value


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("block", [1, 100, 2**20])
def test_sums_of_parts_are_values_of_the_same_draws(pooled, block, monkeypatch):
    monkeypatch.setattr(bootstrap, "BLOCK", block)
    parts = random_parts(np.random.default_rng(1))
    fast = bootstrap_parts(parts, pooled, resamples=150, seed=5)
    monkeypatch.setattr(bootstrap, "BLOCK", 2**20)
    slow = bootstrap_values([40, 25], value_of(parts, pooled), resamples=150, seed=5)
    assert fast.shape == slow.shape == (150,) and fast.dtype == slow.dtype == np.float64
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@pytest.mark.parametrize("block", [1, 100, 2**20])
def test_pairs_of_the_things_that_are_drawn(block, monkeypatch):
    """A pair counts as often as the two systems were drawn together, and a system makes no pair with itself."""
    monkeypatch.setattr(bootstrap, "BLOCK", block)
    things = np.array([9, 6])
    parts = random_parts(np.random.default_rng(1), sizes=things * (things - 1) // 2)

    def value(drawn):
        sums = np.zeros((2, 2))
        for k, systems in enumerate(drawn):
            number = {pair: row for row, pair in enumerate(zip(*np.triu_indices(things[k], 1)))}
            for i, j in combinations(sorted(systems.tolist()), 2):
                sums[k] += parts[k][number[i, j]] if i < j else 0
        return sums[:, 0].sum() / sums[:, 1].sum()

    fast = bootstrap_parts(parts, pooled=True, resamples=40, seed=5, of_pairs=True)
    np.testing.assert_allclose(fast, bootstrap_values(things, value, resamples=40, seed=5), rtol=1e-12)


def test_sets_of_the_same_size_are_drawn_independently():
    drawn = []
    bootstrap_values([10, 3, 10], lambda arrays: drawn.append(arrays) or 0.0, resamples=2000)
    assert [arrays.shape for arrays in drawn[0]] == [(10,), (3,), (10,)]
    first = np.array([[arrays[0][0], arrays[2][0]] for arrays in drawn])
    assert abs(np.corrcoef(first.T)[0, 1]) < 4 / math.sqrt(2000)


def test_a_resample_without_a_denominator_is_nan():
    parts = [np.array([[1.0, 2.0], [0.0, 0.0]])]
    replicates = bootstrap_parts(parts, pooled=True, resamples=400)
    assert set(replicates[~np.isnan(replicates)]) == {0.5}
    assert np.isnan(replicates).mean() == pytest.approx(1 / 4, abs=0.09)  # both draws are the second unit
    # pooled with another set there is always something; the mean over sets lacks a set
    others = [*parts, np.array([[1.0, 2.0]])]
    assert not np.isnan(bootstrap_parts(others, pooled=True, resamples=400)).any()
    assert np.isnan(bootstrap_parts(others, pooled=False, resamples=400)).any()


def test_sets_without_units():
    nothing = [np.zeros((0, 2))]
    assert np.isnan(bootstrap_parts(nothing, pooled=True, resamples=5)).all()
    assert bootstrap_values([0, 2], lambda drawn: len(drawn[0]) + len(drawn[1]), resamples=5).tolist() == [2] * 5


def test_interval_leaves_out_what_is_nan():
    replicates = np.insert(np.arange(101.0), [0, 50, 101], NAN)
    assert interval(replicates, 0.9) == pytest.approx((5, 95))
    assert all(math.isnan(end) for end in interval(np.array([NAN, NAN])))
    assert all(math.isnan(end) for end in interval(np.array([])))


def test_p_not_better_by_hand():
    better, other = np.array([0.9, 0.5, 0.7, 0.8]), np.array([0.6, 0.6, 0.7, 0.6])
    assert p_not_better(better, other) == 3 / 5
    assert p_not_better(other, better) == 4 / 5  # worse, better, equal, worse
    assert p_not_better(better, better) == 1.0
    assert p_not_better(np.array([0.3, NAN, 0.4]), np.array([0.2, 0.1, NAN])) == 1 / 2
    assert math.isnan(p_not_better(np.array([NAN, 1.0]), np.array([1.0, NAN])))
    assert p_not_better(np.array([0.1 + 0.2]), np.array([0.3])) == 1.0  # a tie but for rounding
