"""Pairwise accuracy of systems (Kocmi et al. 2021, To Ship or Not to Ship), and soft pairwise accuracy: does a metric
separate two systems with the same confidence as people do (Thompson et al. 2024)?
"""

import numpy as np

BLOCK = 2_000_000  # most random numbers per block of permutations


def pair_agreements(human: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """Whether the metric and people order each pair of systems alike, including ties: float64 (S(S-1)/2,), 1 or 0.

    sign(h[i] - h[j]) == sign(m[i] - m[j]) for the pairs i < j of systems, in the order of np.triu_indices; NaN if a score is
    missing. For accuracy over several language pairs, pool these values: divide their sum by their number.

    human, metric    float64 (S,), NaN where a system is not judged or not scored

    People tie systems 0 and 1, but the metric does not; the fourth system is not scored.

    >>> pair_agreements(np.array([1.0, 1, 2, 3]), np.array([5.0, 6, 7, np.nan])).tolist()
    [0.0, 1.0, nan, 1.0, nan, nan]
    """
    first, second = np.triu_indices(len(human), 1)
    human, metric = (np.sign(scores[first] - scores[second]) for scores in (human, metric))
    return np.where(np.isnan(human + metric), np.nan, human == metric)


class SoftPairwise:
    """SPA = 1 - mean over pairs of systems i < j of |p_human[i, j] - p_metric[i, j]|, from 0 to 1; for p, see p_values.

    human    float64 (S, N), systems by segments, finite or NaN. Its p-values are reused for several metrics. Both sides are
             tested on the segments that are both judged and scored
    permutations, seed    the swaps are the same as mt-metrics-eval draws from this seed, for the segments that are judged

    People see a lead of 1 in each of 3 segments (p = 1/8); the second metric sees none (p = 1). So SPA = 1 - 7/8.

    >>> human = np.array([[1.0, 1, 1], [0, 0, 0]])
    >>> spa = SoftPairwise(human, permutations=20000)
    >>> spa.accuracy(human * 5), abs(spa.accuracy(human * 0) - 1 / 8) < 0.01
    (1.0, True)
    """

    def __init__(self, human: np.ndarray, permutations: int = 1000, seed: int = 4):
        self._judged = ~np.isnan(human).all(axis=0)
        self._human = human[:, self._judged]
        self._swaps = swaps(self._human.shape[1], permutations, seed)
        self._known: np.ndarray | None = None  # the outputs for which human p-values have been computed
        self._human_p: np.ndarray | None = None

    def accuracy(self, metric: np.ndarray) -> float:
        """The soft pairwise accuracy of a metric's scores, float64 (S, N); NaN if no pair of systems is left."""
        agreements = self.agreements(metric)
        agreements = agreements[~np.isnan(agreements)]
        return float(agreements.mean()) if len(agreements) else float("nan")

    def agreements(self, metric: np.ndarray) -> np.ndarray:
        """1 - |p_human - p_metric| for each pair of systems i < j, float64 (S(S-1)/2,); NaN for pairs without a common
        segment. The mean is the accuracy."""
        metric = metric[:, self._judged]
        known = ~(np.isnan(self._human) | np.isnan(metric))
        if self._known is None or not np.array_equal(known, self._known):
            self._known, self._human_p = known, p_values(np.where(known, self._human, np.nan), self._swaps)
        metric_p = p_values(np.where(known, metric, np.nan), self._swaps)
        return 1 - np.abs(self._human_p - metric_p)[np.triu_indices(len(metric), 1)]


def swaps(segments: int, permutations: int = 1000, seed: int = 4) -> np.ndarray:
    """The segments that each permutation swaps, as packed bits: uint8 (permutations, ceil(segments / 8))."""
    rng = np.random.default_rng(seed)
    rows = max(1, BLOCK // max(1, segments))
    packed = np.zeros((permutations, (segments + 7) // 8), dtype=np.uint8)
    for start in range(0, permutations, rows):
        drawn = rng.random((min(rows, permutations - start), segments), dtype=np.float32)
        packed[start : start + rows] = np.packbits(drawn <= 0.5, axis=1)
    return packed


def p_values(scores: np.ndarray, swaps: np.ndarray) -> np.ndarray:
    """One-sided p-values, from a paired permutation test, that one system is no better than another: float64 (S, S).

    A permutation swaps the scores of i and j in each segment with probability 1/2. Entry [i, j] is the share of permutations
    in which i leads j by at least its actual lead. Swapping a segment reduces the lead by twice the segment's difference.
    Therefore these are the permutations in which the differences x[i] - x[j] of swapped segments sum to 0 or less; sums that
    differ from 0 only by rounding count as 0. So p is 1 in both directions for equal outputs, and on the diagonal.

    scores    float64 (S, N), finite or NaN: each pair of systems is compared on the segments that both have
    swaps     uint8 (permutations, ceil(N / 8)), as from swaps()

    NaN for two systems without a common segment.

    Below, system 0 leads by 1 in each of 3 segments. It only keeps this lead if no segment is swapped: 1 in 8. System 1
    leads system 0 by -3, which every permutation reaches or exceeds.

    >>> (same, lead), (behind, _) = p_values(np.array([[1.0, 1, 1], [0, 0, 0]]), swaps(3, 20000)).tolist()
    >>> abs(lead - 1 / 8) < 0.01, behind, same
    (True, 1.0, 1.0)
    """
    known = ~np.isnan(scores)
    scores = np.where(known, scores, 0)
    systems, segments = scores.shape
    # the error of a sum of n numbers, in any order, is below n / 2 * eps times the sum of their absolute values
    size = np.abs(scores).sum(axis=1)
    slack = segments * np.finfo(float).eps * (size[:, None] + size)
    with_scores = known[known.any(axis=1)]
    alike = bool((with_scores == with_scores[:1]).all())
    counts = np.zeros((systems, systems), dtype=np.int64)
    rows = max(1, BLOCK // max(1, segments, systems**2))
    for start in range(0, len(swaps), rows):
        swapped = np.unpackbits(swaps[start : start + rows], axis=1, count=segments).astype(np.float64)
        if alike:
            sums = swapped @ scores.T
            counts += (sums[:, :, None] - sums[:, None, :] <= slack).sum(axis=0)
            continue
        for i in range(systems):
            sums = swapped @ np.where(known & known[i], scores[i] - scores, 0).T
            counts[i] += (sums <= slack[i]).sum(axis=0)
    shared = (known.astype(np.int64) @ known.T.astype(np.int64)) > 0
    return np.where(shared, counts / len(swaps), np.nan)
