"""Counts of pairs and calibrated ties against every pair in a plain loop, in fractions."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_scores import NAN, groups_of, scored

from ctx_metrics.judgements.measures import ties
from ctx_metrics.judgements.measures.ties import PairCounts, calibrate, group_accuracies, pair_counts, pair_credits

pytestmark = pytest.mark.filterwarnings("error")


def tie_accuracy(human, metric, epsilon, average="item"):
    """The mean of the groups' accuracies, correctly rounded; NaN where there is no pair."""
    groups = [row for row in group_accuracies(human, metric, epsilon, average) if row[1]]
    exact = [Fraction(round(accuracy * pairs), int(pairs)) for accuracy, pairs in groups]
    return float(sum(exact) / len(exact)) if exact else NAN


def plain_pairs(human, metric):
    """(gap of the metric, people tie them, concordant) of every pair that is judged and scored."""
    there = [i for i in range(len(human)) if not math.isnan(human[i]) and not math.isnan(metric[i])]
    for i, j in combinations(there, 2):
        agree = np.sign(human[i] - human[j]) * np.sign(metric[i] - metric[j]) > 0
        yield abs(metric[i] - metric[j]), human[i] == human[j], agree


def plain_counts(human, metric, epsilon):
    counts = [0] * 5
    for gap, tied, agree in plain_pairs(human, metric):
        metric_tied = gap <= epsilon
        counts[(4 if tied else 3) if metric_tied else 2 if tied else 0 if agree else 1] += 1
    return PairCounts(*counts)


def plain_accuracy(groups, epsilon):
    """Mean over groups as a fraction; None where there is no pair."""
    found = [plain_counts(*group, epsilon) for group in groups]
    found = [Fraction(c.concordant + c.both_ties, sum(c)) for c in found if sum(c)]
    return sum(found) / len(found) if found else None


def plain_calibration(groups):
    """Smallest best epsilon, its accuracy, groups, pairs."""
    pairs = [list(plain_pairs(*group)) for group in groups]
    pairs = [group for group in pairs if group]
    if not pairs:
        return 0.0, None, 0, 0
    best = None
    for epsilon in sorted({0.0} | {gap for group in pairs for gap, _, _ in group}):
        right = [sum(tied if gap <= epsilon else agree for gap, tied, agree in group) for group in pairs]
        accuracy = sum(Fraction(int(r), len(group)) for r, group in zip(right, pairs)) / len(pairs)
        if best is None or accuracy > best[1]:
            best = epsilon, accuracy
    return *best, len(pairs), sum(map(len, pairs))


tenths = st.integers(-30, 30).map(lambda k: k * 0.1)
reaches = st.one_of(st.integers(0, 20).map(lambda k: k * 0.1), st.floats(0, 3))


# pair counts


@given(st.lists(st.tuples(st.integers(0, 4), tenths), max_size=25), reaches)
def test_pair_counts_of_a_plain_loop(rows, epsilon):
    human, metric = np.array(rows, dtype=float).reshape(-1, 2).T
    assert pair_counts(human, metric, epsilon) == plain_counts(human, metric, epsilon)


def test_pair_counts_at_every_observed_difference():
    # .30000000000000004 - .2 is above .1: a search for m + epsilon would take them for a tie
    for seed in range(4):
        human, metric = scored(seed, 30, levels=20)
        for epsilon in sorted({0.0} | {gap for gap, _, _ in plain_pairs(human, metric)}):
            for near in (np.nextafter(epsilon, -1) if epsilon else 0.0, epsilon, np.nextafter(epsilon, 9)):
                assert pair_counts(human, metric, near) == plain_counts(human, metric, near)


@pytest.mark.parametrize("human", [[], [1.0], [NAN, NAN, 1.0]])
def test_no_pairs(human):
    counts = pair_counts(np.array(human), np.array(human))
    assert counts == PairCounts(0, 0, 0, 0, 0)
    assert counts.right == counts.pairs == 0


# calibration


@pytest.mark.parametrize("average", ["item", "system", "none"])
@pytest.mark.parametrize(
    "shape, levels, missing", [((5, 12), 6, 0.15), ((8, 7), 40, 0.5), ((3, 20), 3, 0.0), ((4, 9), 2, 0.45)]
)
def test_calibration_of_a_plain_loop(average, shape, levels, missing):
    for seed in range(6):
        human, metric = scored(seed, shape, levels, missing)
        groups = groups_of(human, metric, average)
        epsilon, accuracy, count, pairs = plain_calibration(groups)
        found = calibrate(human, metric, average)
        assert found == (epsilon, float(accuracy), count, pairs, False)
        assert tie_accuracy(human, metric, found.epsilon, average) == found.accuracy


@pytest.mark.parametrize("average", ["item", "system", "none"])
def test_accuracies_at_an_epsilon(average):
    for seed, epsilon in enumerate([0.0, 0.1, 0.2, 0.30000000000000004, 2.0]):
        human, metric = scored(seed, (5, 12), missing=0.5)
        groups = groups_of(human, metric, average)
        assert tie_accuracy(human, metric, epsilon, average) == float(plain_accuracy(groups, epsilon))
        counts = [plain_counts(*group, epsilon) for group in groups]
        expected = [(count.right / count.pairs if count.pairs else NAN, count.pairs) for count in counts]
        np.testing.assert_array_equal(group_accuracies(human, metric, epsilon, average), expected)


def test_credits_of_every_pair():
    human, metric = scored(3, (5, 30))
    found = pair_credits(human, metric, 0.2)
    assert found.dtype == np.int8 and found.shape == (30, 10) and set(found.ravel()) == {-1, 0, 1}
    for segment in range(30):
        for column, pair in enumerate(combinations(range(5), 2)):
            counts = plain_counts(human[pair, segment], metric[pair, segment], 0.2)
            expected = counts.concordant + counts.both_ties if sum(counts) else -1
            assert found[segment, column] == expected


def test_the_smallest_of_equal_epsilons_is_taken():
    # gaps 1 and 2 are tied by people, gap 1.5 is concordant: 2/4 at 0 with the concordant gap 3, 3/4 at 1 and, after a
    # loss at 1.5, again at 2
    human = np.array([[1.0, 1, 1, 1], [1, 2, 1, 2]])
    metric = np.array([[0.0, 0, 0, 0], [1, 1.5, 2, 3]])
    assert calibrate(human, metric) == (1.0, 0.75, 4, 4, False)
    # nothing is gained by ties
    assert calibrate(human[:, [1, 3]], metric[:, [1, 3]]) == (0.0, 1.0, 2, 2, False)


@pytest.mark.parametrize("seed", [62, 156, 187, 388])
def test_rounding_does_not_decide(seed):
    # two epsilons are equally good, and float64 sums of the groups' 1, 1/3 and 1/6 prefer the larger one
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 2, (4, 60)).astype(float)
    metric = human * 3 + rng.integers(0, 12, (4, 60))
    human[rng.random((4, 60)) < 0.2] = NAN
    epsilon, accuracy, *_ = plain_calibration(groups_of(human, metric, "item"))
    assert calibrate(human, metric)[:2] == (epsilon, float(accuracy))


def test_groups_of_all_sizes_are_summed_exactly():
    # groups of 2 to 45 outputs: the common multiple of their numbers of pairs times 44 groups is too large for int64
    human, metric = scored(11, (45, 44), levels=8, missing=0)
    for segment in range(44):
        human[segment + 2 :, segment] = NAN
    sizes = [k * (k - 1) // 2 for k in range(2, 46)]
    assert math.lcm(*sizes) * 44 > 2**63
    epsilon, accuracy, groups, pairs = plain_calibration(groups_of(human, metric, "item"))
    assert calibrate(human, metric) == (epsilon, float(accuracy), groups, pairs, False)


@pytest.mark.parametrize("average", ["item", "system", "none"])
def test_nothing_to_calibrate(average):
    human = np.full((3, 3), NAN)
    human[0, 0] = 1
    found = calibrate(human, human, average)
    assert found[:1] + found[2:] == (0.0, 0, 0, False) and math.isnan(found.accuracy)
    assert math.isnan(tie_accuracy(human, human, 0.0, average))
    assert np.isnan(group_accuracies(human, human, 0.0, average)[:, 0]).all()


def test_lists_of_outputs():
    human, metric = scored(2, 40)
    assert calibrate(human, metric, "none")[:2] == tuple(map(float, plain_calibration([(human, metric)])[:2]))


@pytest.mark.parametrize("average", ["none", "system"])
def test_many_pairs_are_sampled_for_epsilon_only(average, monkeypatch):
    human, metric = scored(4, (4, 60), levels=30, missing=0.3)
    best = calibrate(human, metric, average)
    groups = groups_of(human, metric, average)
    monkeypatch.setattr(ties, "EXHAUSTIVE", best.pairs - 1)
    found = calibrate(human, metric, average)
    assert found.sampled and found[2:4] == best[2:4]
    assert found == calibrate(human, metric, average)  # seeded
    assert found.accuracy == float(plain_accuracy(groups, found.epsilon)) <= best.accuracy
    assert found.accuracy > best.accuracy - 0.02
    assert found.epsilon in {0.0} | {gap for group in groups for gap, _, _ in plain_pairs(*group)}
    assert not calibrate(human, metric, "item").sampled
