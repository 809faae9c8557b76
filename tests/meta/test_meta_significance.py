"""Tests between metrics: worked cases, literal enumeration, and p-values that mean what they say."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from ctx_metrics.meta.inference.significance import pairwise_permutation, perm_both, williams

NAN = float("nan")


# Williams


@pytest.mark.parametrize(
    "r12, r13, r23, n, p",
    [
        # K = .64; t^2 = 1.44 / 2.65; two degrees of freedom: (1 - sqrt(t^2 / (2 + t^2))) / 2
        (0.6, 0.0, 0.0, 5, (1 - math.sqrt(1.44 / 6.74)) / 2),
        (0.0, 0.6, 0.0, 5, (1 + math.sqrt(1.44 / 6.74)) / 2),
        # K = .26; t = .3 sqrt(3 * 1.5) / sqrt(2 * .26 * 3 + .65^2 * .5^3); one degree of freedom: 1/2 - atan(t) / pi
        (0.8, 0.5, 0.5, 4, 0.5 - math.atan(0.3 * math.sqrt(4.5 / (1.56 + 0.65**2 / 8))) / math.pi),
        # metric 2 is perfect: K = 0, r13 = r23; t = .1 sqrt(9 * 1.9) / (.95 * .1^1.5)
        (1.0, 0.9, 0.9, 10, stats.t.sf(0.1 * math.sqrt(17.1) / (0.95 * 0.1**1.5), 7)),
        (0.5, 0.5, 0.3, 50, 0.5),
    ],
)
def test_williams_by_hand(r12, r13, r23, n, p):
    assert williams(r12, r13, r23, n) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("r", [0.0, 0.3, 1.0, -1.0, 0.7])
@pytest.mark.parametrize("rounding", [0.0, 1e-16, -1e-16, 3e-16])
def test_williams_of_one_metric_with_itself(r, rounding):
    assert williams(r + rounding, r, 1 - abs(rounding), 20) == 1.0


def test_williams_without_an_answer():
    assert math.isnan(williams(0.6, 0.0, 0.0, 3))
    assert math.isnan(williams(NAN, 0.5, 0.5, 10))
    assert math.isnan(williams(0.5, 0.5, NAN, 10))
    assert math.isnan(williams(0.5, -0.5, -1.0, 10))  # metric 3 is the opposite of metric 2
    assert math.isnan(williams(0.9, -0.9, 0.9, 10))  # no data have such correlations


def test_williams_where_metrics_explain_people_exactly():
    # people's scores are metric 2 minus metric 3, uncorrelated: r = 1/sqrt 2 and -1/sqrt 2, the denominator is 0
    assert williams(math.sqrt(0.5), -math.sqrt(0.5), 0.0, 10) < 1e-9
    assert williams(-math.sqrt(0.5), math.sqrt(0.5), 0.0, 10) > 1 - 1e-9


# PERM-BOTH


def pearson(human):
    """Pearson's r with what people gave, over what is not NaN."""

    def value(arrays):
        x = arrays[0]
        there = ~np.isnan(x)
        x, h = x[there] - x[there].mean(), human[there] - human[there].mean()
        return float(x @ h / math.sqrt(x @ x * (h @ h))) if x.any() else 0.0

    return value


def z(scores):
    return (scores - np.nanmean(scores)) / np.nanstd(scores)


def exact_perm_both(a, b, value):
    """All arrangements of a single set's swaps, without the +1 of an estimate."""
    a, b = z(a), z(b)
    delta = value([a]) - value([b])
    found = []
    for swap in itertools.product([False, True], repeat=a.size):
        swap = np.array(swap).reshape(a.shape)
        found.append(value([np.where(swap, b, a)]) - value([np.where(swap, a, b)]))
    return np.mean(np.array(found) >= delta - 1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_perm_both_is_near_all_arrangements(seed):
    rng = np.random.default_rng(seed)
    human, a, b = rng.normal(size=(3, 2, 4))
    a += 0.5 * human
    value = pearson(human)
    p, _ = perm_both([a], [b], value, resamples=4000, early_stop=False)
    exact = exact_perm_both(a, b, value)
    assert p == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 4000))


def test_perm_both_is_near_all_arrangements_where_differences_tie():
    # accuracy on the pairs of five systems takes few values, so many arrangements reach the difference exactly
    human = np.arange(5.0)
    pairs = list(itertools.combinations(range(5), 2))

    def accuracy(arrays):
        return float(np.mean([arrays[0][i] < arrays[0][j] for i, j in pairs]))

    a, b = np.array([1.0, 2.0, 3.0, 5.0, 4.0]), np.array([3.0, 1.0, 2.0, 6.0, 4.0])
    assert accuracy([human]) == 1 and accuracy([a]) > accuracy([b])
    p, _ = perm_both([a], [b], accuracy, resamples=4000, early_stop=False)
    assert p == pytest.approx(exact_perm_both(a, b, accuracy), abs=4 * math.sqrt(0.25 / 4000))


def test_rounding_does_not_hide_that_an_arrangement_reaches_the_difference():
    # the same difference, but summed in another order, as .1 + .2 + .3 and .3 + .2 + .1
    calls = itertools.count()
    values = itertools.chain([0.1 + 0.2 + 0.3, 0.0], itertools.cycle([0.3 + 0.2 + 0.1, 0.0]))
    p, draws = perm_both([np.ones(3)], [np.ones(3)], lambda arrays: (next(calls), next(values))[1], resamples=100)
    assert p == 1 and draws == 100 and next(calls) == 2 + 2 * 100


def test_what_perm_both_evaluates():
    """Each pair of arrays holds the two metrics' z-scores, each output's in one or the other; a gap is in both."""
    rng = np.random.default_rng(3)
    a = [rng.normal(5, 3, size=(3, 4)), rng.normal(-2, 9, size=7)]
    b = [rng.normal(0, 8, size=(3, 4)), rng.normal(11, 1, size=7)]
    a[0][1, 2] = b[0][2, 0] = a[1][3] = b[1][3] = np.nan
    seen = []
    perm_both(a, b, lambda arrays: (seen.append(arrays), len(seen))[1], resamples=200, early_stop=False)
    assert len(seen) == 2 * 201
    gaps = [np.isnan(x) | np.isnan(y) for x, y in zip(a, b)]
    expected = [[z(np.where(gap, np.nan, x)) for x, gap in zip(of_metric, gaps)] for of_metric in (a, b)]
    for k in range(2):
        np.testing.assert_allclose(seen[0][k], expected[0][k], rtol=1e-12)
        np.testing.assert_allclose(seen[1][k], expected[1][k], rtol=1e-12)
        swaps = []
        for a_star, b_star in zip(seen[2::2], seen[3::2]):
            swap = a_star[k] == seen[1][k]
            np.testing.assert_array_equal(a_star[k], np.where(swap, seen[1][k], seen[0][k]))
            np.testing.assert_array_equal(b_star[k], np.where(swap, seen[0][k], seen[1][k]))
            swaps.append(swap[~gaps[k]])
        # every output in half of the arrangements, each independently of its neighbour
        assert np.abs(np.mean(swaps, axis=0) - 0.5).max() < 4 * math.sqrt(0.25 / 200)
        same = np.array(swaps)[:, 1:] == np.array(swaps)[:, :-1]
        assert np.abs(same.mean(axis=0) - 0.5).max() < 4 * math.sqrt(0.25 / 200)


@pytest.mark.parametrize("missing", [NAN, 0.3])
def test_perm_both_of_one_metric_with_itself(missing):
    human, a = np.random.default_rng(5).normal(size=(2, 30))
    a[3] = missing
    value = pearson(human)
    assert perm_both([a], [a], value).p == 1.0


def test_perm_both_of_constant_and_empty_metrics():
    human = np.arange(6.0)
    # z of the constant is 0, with r taken for 0; only swapping nothing keeps r = 1 for a and r = 0 for b
    p, _ = perm_both([human], [np.full(6, 3.0)], pearson(human), early_stop=False)
    assert p == pytest.approx(1 / 64, abs=4 * math.sqrt(1 / 64 / 1000))
    assert math.isnan(perm_both([np.full(6, NAN)], [human], lambda arrays: float(arrays[0].sum())).p)
    # a value that is NaN in some arrangements only: these count against the first metric
    values = itertools.chain([1.0, 0.0], itertools.cycle([NAN, 0.0]))
    assert perm_both([human], [human], lambda arrays: next(values), resamples=50).p == 1.0


def test_p_values_are_determined_by_the_seed():
    rng = np.random.default_rng(6)
    (human, a, b), credits = rng.normal(size=(3, 12)), [random_credits(rng) for _ in "ab"]
    for test in (
        lambda seed: perm_both([a], [b], pearson(human), seed=seed, early_stop=False),
        lambda seed: pairwise_permutation(*credits, seed=seed),
    ):
        found = [test(seed) for seed in (1, 1, 2, 3, 4)]
        assert found[0] == found[1] and len(set(found)) > 1


def test_perm_both_stops_early():
    rng = np.random.default_rng(7)
    human = rng.normal(size=200)
    good, bad = human + 0.1 * rng.normal(size=200), rng.normal(size=200)
    value, calls = pearson(human), []

    def counting(arrays):
        calls.append(arrays)
        return value(arrays)

    assert perm_both([good], [bad], counting) == (1 / 101, 100) and len(calls) == 2 * 101
    calls.clear()
    assert perm_both([bad], [good], counting, block=30) == (1.0, 30) and len(calls) == 2 * 31
    calls.clear()
    assert (
        perm_both([good], [bad], counting, block=30) == (1 / 61, 60) and len(calls) == 2 * 61
    )  # 1/31 is not below .02
    calls.clear()
    whole = perm_both([good], [bad], counting, resamples=250, early_stop=False)
    assert whole == (1 / 251, 250) and len(calls) == 2 * 251


# permutation of pairwise decisions


def random_credits(rng, right=0.5, shapes=((6, 5), (9, 3))):
    return [np.where(rng.random(shape) < 0.15, -1, rng.random(shape) < right).astype(np.int8) for shape in shapes]


def test_pairwise_permutation_is_near_all_arrangements():
    a = [np.array([[1, 1, 0], [1, -1, 1]], np.int8), np.array([[1, 0]], np.int8)]
    b = [np.array([[0, 1, 1], [0, 1, 0]], np.int8), np.array([[0, -1]], np.int8)]
    # in both: set 1, group 1 of three pairs: a only, same, b only; group 2 of two: a only, a only; set 2, one pair: a only
    # delta = ((1 - 1) / 3 + 2 / 2) / 2 / 2 + 1 / 1 / 2 = 3/4
    found = []
    for s in itertools.product([1, -1], repeat=5):
        found.append(((s[0] - s[1]) / 3 + (s[2] + s[3]) / 2) / 4 + s[4] / 2)
    exact = np.mean(np.array(found) >= 0.75 - 1e-12)
    assert exact == 3 / 32
    assert pairwise_permutation(a, b, resamples=20_000) == pytest.approx(exact, abs=4 * math.sqrt(exact / 20_000))


def test_sets_weigh_the_same_whatever_groups_are_empty():
    # a is right in set 1, b in set 2: delta = 0, which (a, a), (a, b), (b, a) of the four arrangements reach
    a = [np.array([[1]], np.int8), np.array([[0], [-1], [-1]], np.int8)]
    b = [np.array([[0]], np.int8), np.array([[1], [-1], [1]], np.int8)]
    assert pairwise_permutation(a, b, resamples=4000) == pytest.approx(3 / 4, abs=4 * math.sqrt(3 / 16 / 4000))


def test_pairwise_permutation_at_its_ends():
    a = [np.ones((50, 10), np.int8)]
    b = [np.zeros((50, 10), np.int8)]
    nothing = [np.full((50, 10), -1, np.int8)]
    assert pairwise_permutation(a, b) == 1 / 1001
    assert pairwise_permutation(b, a) == 1.0
    assert pairwise_permutation(a, a) == 1.0
    assert math.isnan(pairwise_permutation(a + nothing, b + nothing))
