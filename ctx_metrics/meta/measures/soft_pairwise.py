"""Soft pairwise accuracy: does a metric separate two systems with the confidence that people do (Thompson et al. 2024)?"""

from collections.abc import Iterator

import numpy as np

BLOCK = 2_000_000  # numbers of a block of permutations, whatever their number


def p_values(scores: np.ndarray, permutations: int = 1000, seed: int = 4) -> np.ndarray:
    """One-sided p-values that one system is no better than another, of a paired permutation test: float64 (S, S).

    A permutation swaps the scores of i and j in every segment with probability 1/2. Entry [i, j] is the share of
    permutations in which i leads j by at least as much as it does in fact. A swapped segment takes twice its difference
    from the lead, so these are the permutations whose swapped segments' differences, x[i] - x[j], sum to 0 or less; a
    sum that is 0 but for rounding counts as 0. So p is 1 both ways for equal outputs, and on the diagonal. All pairs
    share the permutations, which makes it a matrix product.

    scores                float64 (S, N), finite or NaN: a pair of systems is compared on the segments that both have
    permutations, seed    the swaps are those that mt-metrics-eval draws from this seed

    NaN for two systems that have no segment in common.

    Below, system 0 leads by 1 in each of 3 segments. Only where none is swapped does it lead by as much: 1 in 8. System
    1 leads system 0 by -3, which it always does or exceeds.

    >>> (same, lead), (behind, _) = p_values(np.array([[1.0, 1, 1], [0, 0, 0]]), permutations=20000).tolist()
    >>> abs(lead - 1 / 8) < 0.01, behind, same
    (True, 1.0, 1.0)
    """
    return _p_values(scores, _swaps(scores.shape[1], permutations, seed), permutations)


def soft_pairwise_accuracy(human: np.ndarray, metric: np.ndarray, permutations: int = 1000, seed: int = 4) -> float:
    """SPA = 1 - mean over pairs of systems i < j of |p_human[i, j] - p_metric[i, j]|, from 0 to 1, of p_values.

    human, metric    float64 (S, N), systems by segments, finite or NaN; both sides are tested on the segments that are
                     both judged and scored. Pairs of systems that share none are left out; NaN where no pair is left

    People see a lead of 1 in each of 3 segments (p = 1/8), the metric sees none (p = 1): SPA = 1 - 7/8.

    >>> human, metric = np.array([[1.0, 1, 1], [0, 0, 0]]), np.array([[2.0, 2, 2], [2, 2, 2]])
    >>> abs(soft_pairwise_accuracy(human, metric, permutations=20000) - 1 / 8) < 0.01
    True
    """
    return SoftPairwise(human, permutations, seed).accuracy(metric)


class SoftPairwise:
    """soft_pairwise_accuracy of several metrics on the same human scores, whose p-values are computed once.

    >>> human = np.array([[1.0, 1, 1], [0, 0, 0]])
    >>> spa = SoftPairwise(human)
    >>> spa.accuracy(human * 5), spa.accuracy(human * 0) == soft_pairwise_accuracy(human, human * 0)
    (1.0, True)
    """

    def __init__(self, human: np.ndarray, permutations: int = 1000, seed: int = 4):
        self._human, self._permutations = human, permutations
        self._swaps = _swaps(human.shape[1], permutations, seed)
        self._there: np.ndarray | None = None  # the outputs that the human p-values at hand are of
        self._human_p: np.ndarray | None = None

    def accuracy(self, metric: np.ndarray) -> float:
        """Soft pairwise accuracy of a metric's scores, float64 (S, N)."""
        agreements = self.agreements(metric)
        agreements = agreements[~np.isnan(agreements)]
        return float(agreements.mean()) if len(agreements) else float("nan")

    def agreements(self, metric: np.ndarray) -> np.ndarray:
        """1 - |p_h - p_m| of each pair of systems i < j, whose mean is the accuracy: float64 (S(S-1)/2,), NaN for pairs
        without a common segment."""
        there = ~(np.isnan(self._human) | np.isnan(metric))
        if self._there is None or not np.array_equal(there, self._there):
            self._there, self._human_p = there, self._p_values(self._human, there)
        return 1 - np.abs(self._human_p - self._p_values(metric, there))[np.triu_indices(len(metric), 1)]

    def _p_values(self, scores: np.ndarray, there: np.ndarray) -> np.ndarray:
        return _p_values(np.where(there, scores, np.nan), self._swaps, self._permutations)


def _swaps(segments: int, permutations: int, seed: int) -> np.ndarray:
    """Which segments each permutation swaps, as packed bits: uint8 (permutations, ceil(segments / 8))."""
    rng = np.random.default_rng(seed)
    rows = max(1, BLOCK // max(1, segments))
    found = np.zeros((permutations, (segments + 7) // 8), dtype=np.uint8)
    for start in range(0, permutations, rows):
        drawn = rng.random((min(rows, permutations - start), segments), dtype=np.float32)
        found[start : start + rows] = np.packbits(drawn <= 0.5, axis=1)
    return found


def _p_values(scores: np.ndarray, swaps: np.ndarray, permutations: int) -> np.ndarray:
    there = ~np.isnan(scores)
    scores = np.where(there, scores, 0)
    systems, segments = scores.shape
    # a sum of n numbers in any order is off by less than n / 2 * eps of the sum of their sizes
    size = np.abs(scores).sum(axis=1)
    slack = segments * np.finfo(float).eps * (size[:, None] + size)
    known = there.any(axis=1)
    alike = not known.any() or bool((there[known] == there[known][0]).all())
    counts = np.zeros((systems, systems), dtype=np.int64)
    for swapped in _blocks(swaps, segments, systems):
        if alike:
            sums = swapped @ scores.T
            counts += (sums[:, :, None] - sums[:, None, :] <= slack).sum(axis=0)
            continue
        for i in range(systems):
            sums = swapped @ np.where(there & there[i], scores[i] - scores, 0).T
            counts[i] += (sums <= slack[i]).sum(axis=0)
    shared = (there.astype(np.int64) @ there.T.astype(np.int64)) > 0
    return np.where(shared, counts / permutations, np.nan)


def _blocks(swaps: np.ndarray, segments: int, systems: int) -> Iterator[np.ndarray]:
    """The swaps as float64 of 0 and 1, some permutations at a time."""
    rows = max(1, BLOCK // max(1, segments, systems**2))
    for start in range(0, len(swaps), rows):
        yield np.unpackbits(swaps[start : start + rows], axis=1, count=segments).astype(np.float64)
