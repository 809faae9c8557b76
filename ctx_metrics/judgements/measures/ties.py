"""Pairwise accuracy with credit for ties, and the calibration of a metric's ties (Deutsch et al. 2023, Ties Matter).

Two outputs are tied for people if their scores are equal, and for the metric if they differ by at most epsilon.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .correlation import grouped

EXHAUSTIVE = 5_000_000  # with more pairs than this, epsilon is chosen on a sample of this size
SEED = 4


class PairCounts(NamedTuple):
    """Counts of output pairs by how people (h) and a metric (m) see them: C, D, T_h, T_m (tied for one), T_hm (for both)."""

    concordant: int
    discordant: int
    human_ties: int
    metric_ties: int
    both_ties: int

    @property
    def pairs(self) -> int:
        return sum(self)

    @property
    def right(self) -> int:
        """C + T_hm; acc_eq is its share of all pairs."""
        return self.concordant + self.both_ties


class Calibration(NamedTuple):
    """The epsilon at which a metric agrees best with people: 0 or an observed difference between two of its scores.

    epsilon     the smallest among the best
    accuracy    mean accuracy of the groups at epsilon; NaN if there is no pair (epsilon is then 0)
    groups      number of groups that have a pair; pairs    number of their pairs
    sampled     whether epsilon was chosen on a sample of the pairs; the accuracy always covers all pairs
    """

    epsilon: float
    accuracy: float
    groups: int
    pairs: int
    sampled: bool


def pair_counts(human: np.ndarray, metric: np.ndarray, epsilon: float = 0.0) -> PairCounts:
    """Count the pairs of a list of outputs by how people and the metric see them, in O(n log n).

    human, metric    float64 (n,), finite or NaN: outputs with a NaN are left out
    epsilon          0 or more; the metric ties outputs if abs(m[i] - m[j]) <= epsilon, in float64

    Of the 3 pairs below, people tie outputs 0 and 1, which are also tied for the metric at epsilon 1; 0 and 2 differ by 3
    and are concordant; 1 and 2 differ by 2 and are concordant.

    >>> pair_counts(np.array([1.0, 1, 2]), np.array([0.0, 1, 3]), 1)
    PairCounts(concordant=2, discordant=0, human_ties=0, metric_ties=0, both_ties=1)
    """
    known = ~(np.isnan(human) | np.isnan(metric))
    human, metric = human[known], metric[known]
    order = np.argsort(metric)
    human, metric = human[order], metric[order]
    clear = first_within(metric, epsilon)  # number of outputs below each one by more than epsilon
    below, level = prefix_counts(human, clear)
    concordant, human_ties = int(below.sum()), int(level.sum())
    discordant = int(clear.sum()) - concordant - human_ties
    sizes = np.unique(human, return_counts=True)[1]
    both_ties = int((sizes * (sizes - 1) // 2).sum()) - human_ties
    metric_ties = int((np.arange(len(metric)) - clear).sum()) - both_ties
    return PairCounts(concordant, discordant, human_ties, metric_ties, both_ties)


def calibrate(human: np.ndarray, metric: np.ndarray, average: str = "item") -> Calibration:
    """Find the epsilon that maximises a metric's accuracy, the mean over groups of right / pairs (see PairCounts).

    Candidates are 0 and all observed differences of two scores; the smallest of the best is returned. When a pair becomes
    tied for the metric, it gains a credit if people tie it, and loses one if it was concordant. So the accuracy at all
    epsilons is a cumulative sum over the sorted differences, computed in integers so that rounding has no influence. Groups
    without a pair are left out.

    human, metric    float64 (S, N), systems by segments, finite or NaN: outputs with a NaN are left out
    average          item: the outputs for each segment form a group; system: those of each system; none: all outputs, which
                     may also be 1-D. With over 5 million pairs, none and system choose epsilon on a sample

    Segment 0 is tied for people and differs by 1, segment 1 is reversed, segment 2 is concordant and differs by 2. Accuracy
    is 1/3 at epsilon 0 (segment 2), 2/3 at 1, and 1/3 again at 2.

    >>> calibrate(np.array([[1.0, 2, 2], [1, 1, 1]]), np.array([[1.0, 1, 3], [2, 4, 1]]))
    Calibration(epsilon=1.0, accuracy=0.6666666666666666, groups=3, pairs=3, sampled=False)
    """
    human, metric = grouped(human, metric, average)
    sizes = (~np.isnan(human)).sum(axis=1, dtype=np.int64)
    human, metric, sizes = human[sizes > 1], metric[sizes > 1], sizes[sizes > 1]
    pairs = sizes * (sizes - 1) // 2
    if not len(pairs):
        return Calibration(0.0, float("nan"), 0, 0, False)
    sampled = average != "item" and int(pairs.sum()) > EXHAUSTIVE
    if sampled:
        gaps, changes, groups = _sampled_changes(human, metric)
        epsilon, _ = _best(gaps, changes, groups, np.ones_like(pairs))
        accuracy = _mean(*_right(human, metric, epsilon))
    else:
        used = ~np.isnan(human).all(axis=0)
        gaps, changes, groups = _all_changes(human[:, used].T, metric[:, used].T)
        epsilon, accuracy = _best(gaps, changes, groups, pairs)
    return Calibration(epsilon, accuracy, len(pairs), int(pairs.sum()), sampled)


def group_accuracies(human: np.ndarray, metric: np.ndarray, epsilon: float, average: str = "item") -> np.ndarray:
    """The accuracy and number of pairs of each group: float64 (G, 2); the accuracy is NaN for a group without a pair.

    >>> human, metric = np.array([[1.0, 2], [1, 1], [2, np.nan]]), np.array([[1.0, 1], [2, 4], [0, 5]])
    >>> group_accuracies(human, metric, 1.0).round(3).tolist()
    [[0.333, 3.0], [0.0, 1.0]]
    """
    human, metric = grouped(human, metric, average)
    if average == "item":
        credit = _credits(human.T, metric.T, epsilon)
        right, pairs = (credit == 1).sum(axis=0), (credit >= 0).sum(axis=0)
    else:
        right, pairs = _right(human, metric, epsilon)
    return np.column_stack([np.where(pairs > 0, right / np.maximum(pairs, 1), np.nan), pairs])


def pair_credits(human: np.ndarray, metric: np.ndarray, epsilon: float) -> np.ndarray:
    """Whether the metric sees each pair of outputs as people do: int8 (N, S(S-1)/2), columns as np.triu_indices(S, 1).

    1: concordant, or tied for both; 0: neither; -1: an output is not judged or not scored.

    The pairs below are of systems (0, 1), (0, 2) and (1, 2).

    >>> pair_credits(np.array([[1.0, 2], [1, 1], [2, np.nan]]), np.array([[1.0, 1], [2, 4], [0, 5]]), 1.0).tolist()
    [[1, 0, 0], [0, -1, -1]]
    """
    human, metric = grouped(human, metric, "item")
    return np.ascontiguousarray(_credits(human.T, metric.T, epsilon).T)


def _changes(human: np.ndarray, others: np.ndarray, metric: np.ndarray, metric_others: np.ndarray) -> np.ndarray:
    """int8: how a pair's credit changes when the metric ties it: 1 if people tie it, -1 if it is concordant, else 0."""
    concordant = ((human < others) & (metric < metric_others)) | ((human > others) & (metric > metric_others))
    return (human == others).view(np.int8) - concordant.view(np.int8)


def _all_changes(human: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The metric's gap, the change and the group of each pair with a change. Scores are (K, G), members by groups."""
    parts = []
    for i in range(len(human) - 1):
        changes = _changes(human[i], human[i + 1 :], metric[i], metric[i + 1 :])
        members, groups = np.nonzero(changes)
        gaps = np.abs(metric[i, groups] - metric[i + 1 + members, groups])
        parts.append((gaps, changes[members, groups], groups.astype(np.int32)))
    return _joined(parts)


def _sampled_changes(human: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for a sample with equally many pairs from each group, drawn with replacement. Scores are (G, K)."""
    rng, drawn, parts = np.random.default_rng(SEED), max(1, EXHAUSTIVE // len(human)), []
    for group in range(len(human)):
        known = np.flatnonzero(~np.isnan(human[group]))
        first, step = rng.integers(len(known), size=drawn), rng.integers(1, len(known), size=drawn)
        one, other = known[first], known[(first + step) % len(known)]
        one_score, other_score = metric[group, one], metric[group, other]
        changes = _changes(human[group, one], human[group, other], one_score, other_score)
        kept = changes != 0
        groups = np.full(np.count_nonzero(kept), group, dtype=np.int32)
        parts.append((np.abs(one_score - other_score)[kept], changes[kept], groups))
    return _joined(parts)


def _joined(parts: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    gaps, changes, groups = map(np.concatenate, zip(*parts, strict=True))
    return gaps, changes, groups


def _best(gaps: np.ndarray, changes: np.ndarray, groups: np.ndarray, pairs: np.ndarray) -> tuple[float, float]:
    """The smallest of the best epsilons, and the mean accuracy at it; `pairs` is the number of pairs in each group."""
    common = math.lcm(*np.unique(pairs).tolist())
    small = common * len(pairs) < 2**62  # otherwise use Python's unlimited integers
    weights = np.array([common // each for each in pairs.tolist()], dtype=np.int64 if small else object)
    steps = changes.astype(weights.dtype) * weights[groups]
    at_zero = -steps[changes < 0].sum() + steps[gaps == 0].sum()
    kept = np.flatnonzero(gaps)
    kept = kept[np.argsort(gaps[kept])]
    gaps, totals = gaps[kept], at_zero + np.cumsum(steps[kept])
    last = np.flatnonzero(np.append(gaps[1:] != gaps[:-1], True)[: len(gaps)])  # last of each run of equal gaps
    epsilons, totals = np.append(0.0, gaps[last]), np.append(np.array([at_zero], dtype=weights.dtype), totals[last])
    best = int(np.argmax(totals))
    return float(epsilons[best]), float(Fraction(int(totals[best]), common * len(pairs)))


def _credits(human: np.ndarray, metric: np.ndarray, epsilon: float) -> np.ndarray:
    """Like pair_credits, for pairs by groups. Scores are (K, G)."""
    blocks = [np.zeros((0, human.shape[1]), dtype=np.int8)]
    for i in range(len(human) - 1):
        changes = _changes(human[i], human[i + 1 :], metric[i], metric[i + 1 :])
        gaps = np.abs(metric[i] - metric[i + 1 :])
        credits = np.where(gaps <= epsilon, changes == 1, changes == -1).view(np.int8)
        blocks.append(np.where(np.isnan(gaps), np.int8(-1), credits))
    return np.concatenate(blocks)


def _right(human: np.ndarray, metric: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The credits and number of pairs of each group, int64 (G,), by a method for few large groups. Scores are (G, K)."""
    counts = [pair_counts(*rows, epsilon) for rows in zip(human, metric, strict=True)]
    right, pairs = np.array([(each.right, each.pairs) for each in counts], dtype=np.int64).reshape(-1, 2).T
    return right, pairs


def _mean(right: np.ndarray, pairs: np.ndarray) -> float:
    """The correctly rounded mean of right / pairs over groups; each group must have a pair."""
    sums = [Fraction(int(right[pairs == size].sum()), int(size)) for size in np.unique(pairs)]
    return float(sum(sums) / len(pairs))


def prefix_counts(values: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each i, how many of values[: ends[i]] are below values[i], and how many equal it: two int64 arrays (n,).

    The ranks of the values descend a wavelet matrix (Claude, Navarro and Ordonez 2015) level by level, from the highest bit
    to the lowest. At each level, a stable partition by that bit is made, and each prefix becomes a range in the half to
    which its value belongs. If that is the half of ones, the zeros that the range contained are below the value. The values
    that remain at the end are equal.

    values    (n,), no NaN; ends    int64 (n,), from 0 to n

    Below, the three values before position 3 are (2, 1, 2): one is below 2, two equal it.

    >>> [counts.tolist() for counts in prefix_counts(np.array([2.0, 1, 2, 2]), np.array([0, 1, 2, 3]))]
    [[0, 0, 1, 1], [0, 0, 1, 2]]
    """
    wanted = np.unique(values, return_inverse=True)[1].reshape(-1)
    parted = wanted
    low, high, below = np.zeros_like(ends), ends, np.zeros_like(ends)
    for bit in reversed(range(int(wanted.max(initial=0)).bit_length())):
        one = (parted >> bit) & 1 == 1
        ones_before = np.concatenate([[0], np.cumsum(one)])
        zeros = len(parted) - ones_before[-1]
        ones_low, ones_high = ones_before[low], ones_before[high]
        zeros_low, zeros_high = low - ones_low, high - ones_high
        up = (wanted >> bit) & 1 == 1
        below = below + np.where(up, zeros_high - zeros_low, 0)
        low, high = np.where(up, zeros + ones_low, zeros_low), np.where(up, zeros + ones_high, zeros_high)
        parted = np.concatenate([parted[~one], parted[one]])
    return below, high - low


def first_within(ascending: np.ndarray, reach: float) -> np.ndarray:
    """For each i, the first j with ascending[i] - ascending[j] <= reach: int64 (n,), at most i.

    The comparison uses differences as they are rounded. Bisection is possible because rounding preserves their order. So the
    result agrees exactly with comparing all pairs, whereas a search for ascending[i] - reach would not.

    ascending    float64 (n,), sorted, finite; reach    0 or more

    >>> first_within(np.array([0.1, 0.3, 0.4]), 0.1).tolist()
    [0, 1, 2]
    >>> 0.4 - 0.3 <= 0.1
    False
    """
    low, high = np.zeros(len(ascending), dtype=np.int64), np.arange(len(ascending), dtype=np.int64)
    for _ in range(len(ascending).bit_length()):
        middle = (low + high) // 2
        near = ascending - ascending[middle] <= reach
        low, high = np.where(near, low, middle + 1), np.where(near, middle, high)
    return high
