"""Pairwise accuracy that gives credit for ties, and the calibration of a metric's ties (Deutsch et al. 2023, Ties Matter).

Two outputs tie for people where their scores are equal, for the metric where they differ by epsilon or less.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .correlation import grouped
from .dominance import first_within, prefix_counts

EXHAUSTIVE = 5_000_000  # pairs above which epsilon is chosen on a sample of as many
SEED = 4


class PairCounts(NamedTuple):
    """How people (h) and a metric (m) see the pairs of outputs: C, D, T_h, T_m (a tie for one), T_hm (for both)."""

    concordant: int
    discordant: int
    human_ties: int
    metric_ties: int
    both_ties: int

    @property
    def pairs(self) -> int:
        """All pairs, C + D + T_h + T_m + T_hm."""
        return sum(self)

    @property
    def right(self) -> int:
        """C + T_hm; acc_eq is their share of all pairs."""
        return self.concordant + self.both_ties


class Calibration(NamedTuple):
    """The epsilon at which a metric agrees best with people: 0 or an observed difference of two of its scores.

    epsilon     the smallest of the best
    accuracy    mean accuracy of the groups at epsilon; NaN where there is no pair (epsilon is then 0)
    groups      how many groups have a pair; pairs    how many pairs they have
    sampled     whether epsilon was chosen on a sample of the pairs; the accuracy is of all pairs, in any case
    """

    epsilon: float
    accuracy: float
    groups: int
    pairs: int
    sampled: bool


def pair_counts(human: np.ndarray, metric: np.ndarray, epsilon: float = 0.0) -> PairCounts:
    """Counts the pairs of a list of outputs by how people and the metric see them, in O(n log n).

    human, metric    float64 (n,), finite or NaN: outputs with a NaN are left out
    epsilon          0 or more; the metric ties where abs(m[i] - m[j]) <= epsilon, in float64

    Of the 3 pairs below, people tie outputs 0 and 1, which epsilon 1 makes a tie for the metric too; 0 and 2 differ by 3
    and are concordant; 1 and 2 differ by 2 and are concordant.

    >>> pair_counts(np.array([1.0, 1, 2]), np.array([0.0, 1, 3]), 1)
    PairCounts(concordant=2, discordant=0, human_ties=0, metric_ties=0, both_ties=1)
    """
    known = ~(np.isnan(human) | np.isnan(metric))
    human, metric = human[known], metric[known]
    order = np.argsort(metric)
    human, metric = human[order], metric[order]
    clear = first_within(metric, epsilon)  # so many outputs are below each by more than epsilon
    below, level = prefix_counts(human, clear)
    concordant, human_ties = int(below.sum()), int(level.sum())
    discordant = int(clear.sum()) - concordant - human_ties
    sizes = np.unique(human, return_counts=True)[1]
    both_ties = int((sizes * (sizes - 1) // 2).sum()) - human_ties
    metric_ties = int((np.arange(len(metric)) - clear).sum()) - both_ties
    return PairCounts(concordant, discordant, human_ties, metric_ties, both_ties)


def calibrate(human: np.ndarray, metric: np.ndarray, average: str = "item") -> Calibration:
    """The epsilon that maximises a metric's accuracy, the mean over groups of right / pairs of pair_counts.

    Epsilon 0 and every observed difference of two scores are tried; the smallest of the best is taken. Where a pair
    begins to tie for the metric, it gains a credit if people tie it, and loses one if it was concordant; so the accuracy
    at all epsilons is a cumulative sum over the sorted differences, here in whole numbers, so that rounding decides
    nothing. Groups without a pair are left out.

    human, metric    float64 (S, N), systems by segments, finite or NaN: outputs with a NaN are left out
    average          item: the outputs for a segment are a group; system: those of a system; none: all of them, also 1-D.
                     For none and system, epsilon is chosen on a sample where there are more than 5 million pairs

    Raises InputError for another average.

    Segment 0 is tied for people and differs by 1, 1 is reversed, 2 is concordant and differs by 2: accuracy is 1/3 at
    epsilon 0 (segment 2), 2/3 at 1, and again 1/3 at 2.

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
    """Each group's accuracy and number of pairs: float64 (G, 2), with accuracy NaN for a group without a pair.

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
    """Which pairs of outputs for a segment a metric sees as people do: int8 (N, S(S-1)/2), columns as np.triu_indices(S, 1).

    1: concordant, or a tie for both; 0: neither; -1: an output is not judged or not scored.

    Pairs below are of systems (0, 1), (0, 2) and (1, 2).

    >>> pair_credits(np.array([[1.0, 2], [1, 1], [2, np.nan]]), np.array([[1.0, 1], [2, 4], [0, 5]]), 1.0).tolist()
    [[1, 0, 0], [0, -1, -1]]
    """
    human, metric = grouped(human, metric, "item")
    return np.ascontiguousarray(_credits(human.T, metric.T, epsilon).T)


def _changes(human: np.ndarray, others: np.ndarray, metric: np.ndarray, metric_others: np.ndarray) -> np.ndarray:
    """int8: what a pair's credit changes by once the metric ties it: 1 if people tie it, -1 if it is concordant, else 0."""
    concordant = ((human < others) & (metric < metric_others)) | ((human > others) & (metric > metric_others))
    return (human == others).view(np.int8) - concordant.view(np.int8)


def _all_changes(human: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gap of the metric, change and group of every pair whose change is not 0. Scores are (K, G) here: members by groups."""
    parts = []
    for i in range(len(human) - 1):
        changes = _changes(human[i], human[i + 1 :], metric[i], metric[i + 1 :])
        members, groups = np.nonzero(changes)
        gaps = np.abs(metric[i, groups] - metric[i + 1 + members, groups])
        parts.append((gaps, changes[members, groups], groups.astype(np.int32)))
    return _joined(parts)


def _sampled_changes(human: np.ndarray, metric: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of as many pairs of every group, drawn with replacement. Scores are (G, K)."""
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
    """The smallest best epsilon, and the mean accuracy there, of groups that have so many pairs each."""
    common = math.lcm(*np.unique(pairs).tolist())
    small = common * len(pairs) < 2**62  # else Python's whole numbers, which have no limit
    weights = np.array([common // each for each in pairs.tolist()], dtype=np.int64 if small else object)
    steps = changes.astype(weights.dtype) * weights[groups]
    at_zero = -steps[changes < 0].sum() + steps[gaps == 0].sum()
    kept = np.flatnonzero(gaps)
    kept = kept[np.argsort(gaps[kept])]
    gaps, totals = gaps[kept], at_zero + np.cumsum(steps[kept])
    last = np.flatnonzero(np.append(gaps[1:] != gaps[:-1], True)[: len(gaps)])  # of those that are equal
    epsilons, totals = np.append(0.0, gaps[last]), np.append(np.array([at_zero], dtype=weights.dtype), totals[last])
    best = int(np.argmax(totals))
    return float(epsilons[best]), float(Fraction(int(totals[best]), common * len(pairs)))


def _credits(human: np.ndarray, metric: np.ndarray, epsilon: float) -> np.ndarray:
    """As pair_credits, pairs by groups. Scores are (K, G)."""
    blocks = [np.zeros((0, human.shape[1]), dtype=np.int8)]
    for i in range(len(human) - 1):
        changes = _changes(human[i], human[i + 1 :], metric[i], metric[i + 1 :])
        gaps = np.abs(metric[i] - metric[i + 1 :])
        credits = np.where(gaps <= epsilon, changes == 1, changes == -1).view(np.int8)
        blocks.append(np.where(np.isnan(gaps), np.int8(-1), credits))
    return np.concatenate(blocks)


def _right(human: np.ndarray, metric: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Each group's credits and pairs, int64 (G,), for few large groups. Scores are (G, K)."""
    counts = [pair_counts(*rows, epsilon) for rows in zip(human, metric, strict=True)]
    right, pairs = np.array([(each.right, each.pairs) for each in counts], dtype=np.int64).reshape(-1, 2).T
    return right, pairs


def _mean(right: np.ndarray, pairs: np.ndarray) -> float:
    """Mean of the groups' right / pairs, correctly rounded."""
    groups = np.count_nonzero(pairs)
    if not groups:
        return float("nan")
    sums = [Fraction(int(right[pairs == size].sum()), int(size)) for size in np.unique(pairs[pairs > 0])]
    return float(sum(sums) / groups)
