"""Accuracy of pairs of systems, hard and soft, against plain loops and all permutations."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from ctx_metrics.judgements.measures import pairwise
from ctx_metrics.judgements.measures.pairwise import SoftPairwise, pair_agreements, swaps

pytestmark = pytest.mark.filterwarnings("error")
NAN = float("nan")


def p_values(scores, permutations=1000, seed=4):
    return pairwise.p_values(scores, swaps(scores.shape[1], permutations, seed))


def soft_pairwise_accuracy(human, metric, permutations=1000, seed=4):
    return SoftPairwise(human, permutations, seed).accuracy(metric)


def system_accuracy(human, metric):
    agreements = pair_agreements(human, metric)
    agreements = agreements[~np.isnan(agreements)]
    return agreements.mean() if len(agreements) else NAN


def plain_agreements(human, metric):
    found = []
    for i, j in combinations(range(len(human)), 2):
        signs = np.sign(human[i] - human[j]), np.sign(metric[i] - metric[j])
        found.append(NAN if np.isnan(signs).any() else float(signs[0] == signs[1]))
    return found


def test_agreements_of_a_plain_loop():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        human, metric = rng.integers(0, 4, (2, 12)) / 10
        human[rng.random(12) < 0.2], metric[rng.random(12) < 0.2] = NAN, NAN
        expected = plain_agreements(human, metric)
        found = pair_agreements(human, metric)
        np.testing.assert_array_equal(found, expected, strict=True)
        right, pairs = expected.count(1.0), len(expected) - sum(map(math.isnan, expected))
        assert system_accuracy(human, metric) == float(Fraction(right, pairs))


@pytest.mark.parametrize("scores, pairs", [([], []), ([1.0], []), ([1.0, NAN], [NAN])])
def test_no_pair_no_accuracy(scores, pairs):
    np.testing.assert_array_equal(pair_agreements(np.array(scores), np.array(scores)), pairs)
    assert math.isnan(system_accuracy(np.array(scores), np.array(scores)))


# soft pairwise accuracy


def drawn_swaps(segments, permutations, seed):
    """What p_values promises to swap: True where a number drawn from [0, 1) rounds to 0."""
    return np.rint(np.random.default_rng(seed).random((permutations, segments), dtype=np.float32)) == 0


def exact(scores):
    """Fractions of the decimals that were meant; None where NaN."""
    return [[None if math.isnan(value) else Fraction(repr(float(value))) for value in row] for row in scores]


def plain_p(scores, swaps):
    """p-values by the definition: the lead after the swaps is at least the lead before, in fractions."""
    scores, found = exact(scores), np.full((len(scores), len(scores)), NAN)
    for i, j in product(range(len(scores)), repeat=2):
        shared = [n for n in range(len(swaps[0])) if scores[i][n] is not None and scores[j][n] is not None]
        lead = sum(scores[i][n] - scores[j][n] for n in shared)
        leads = [sum((scores[j][n] - scores[i][n]) * (1 if row[n] else -1) for n in shared) for row in swaps]
        if shared:
            found[i, j] = sum(each >= lead for each in leads) / len(swaps)
    return found


def plain_spa(human, metric, permutations, seed):
    judged = ~np.isnan(human).all(axis=0)
    human, metric = human[:, judged], metric[:, judged]
    missing = np.isnan(human) | np.isnan(metric)
    swaps = drawn_swaps(human.shape[1], permutations, seed)
    apart = np.abs(plain_p(np.where(missing, NAN, human), swaps) - plain_p(np.where(missing, NAN, metric), swaps))
    apart = [apart[i, j] for i, j in combinations(range(len(human)), 2) if not math.isnan(apart[i, j])]
    return 1 - math.fsum(apart) / len(apart)


def tenths(seed, shape=(4, 9), missing="none"):
    """Scores whose sums are rounded: many leads are equal as decimals and not in float64."""
    rng = np.random.default_rng(seed)
    scores = np.array([[float(f"{value / 10}") for value in row] for row in rng.integers(0, 4, shape)])
    if missing == "segments":
        scores[:, rng.random(shape[1]) < 0.3] = NAN
    elif missing == "system":
        scores[1] = NAN
    elif missing == "outputs":
        scores[rng.random(shape) < 0.4] = NAN
    return scores


MISSING = ["none", "segments", "system", "outputs"]


@pytest.mark.parametrize("missing", MISSING)
def test_soft_pairwise_accuracy_of_a_plain_loop(missing):
    for seed in range(3):
        human, metric = tenths(seed, missing=missing), tenths(seed + 50)
        found = soft_pairwise_accuracy(human, metric, permutations=40, seed=7)
        assert found == pytest.approx(plain_spa(human, metric, 40, 7), abs=1e-15)


def test_equal_outputs_are_equally_good():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 501)) * 1e6
    scores[2] = scores[0]
    p = p_values(scores)
    assert p[0, 2] == p[2, 0] == 1.0 and np.diag(p).tolist() == [1.0] * 3
    np.testing.assert_array_equal(p[0, 1], p[2, 1])


def test_blocks_do_not_change_a_value(monkeypatch):
    scores, holes = tenths(2, (4, 33)), tenths(3, (4, 33), "outputs")
    whole = p_values(scores, 101), p_values(holes, 101)
    for block in (1, 200, 1000):
        monkeypatch.setattr(pairwise, "BLOCK", block)
        np.testing.assert_array_equal(p_values(scores, 101), whole[0])
        np.testing.assert_array_equal(p_values(holes, 101), whole[1])


def test_human_side_follows_what_a_metric_scored():
    human, full = tenths(4), tenths(5)
    holes = np.where(tenths(6) == 0, NAN, full)
    spa = SoftPairwise(human, 50)
    first = spa.accuracy(full)
    assert spa.accuracy(holes) == soft_pairwise_accuracy(human, holes, 50) != first
    assert spa.accuracy(full) == first


def test_no_pair_of_systems_no_value():
    for human in (np.zeros((1, 5)), np.full((3, 5), NAN), np.array([[1.0, NAN], [NAN, 1.0]])):
        assert math.isnan(soft_pairwise_accuracy(human, human))
