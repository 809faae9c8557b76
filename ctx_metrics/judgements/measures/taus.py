"""Kendall-like taus over human preferences between two outputs for the same segment."""

import numpy as np

# terms that a preference adds to numerator and denominator if the metric ties the two outputs
TIES = {"darr": (-1, 1), "wmt12": (-1, 1), "wmt13": (0, 0), "wmt14": (0, 1)}


def preferences_from_scores(segment_scores: np.ndarray, threshold: float = 25.0) -> np.ndarray:
    """Derive preferences from direct assessment (DARR, WMT17 to WMT20): int64 (P, 3), rows (segment, better, worse system).

    Two outputs for a segment form a preference if their scores differ by at least `threshold` raw points and are not equal.
    The findings papers say "more than 25 points"; mt-metrics-eval includes a difference of exactly 25, and so does this
    function. Rows are sorted by segment, then by the two systems.

    segment_scores    float64 (S, N), raw scores of 0 to 100, NaN where nobody judged an output

    >>> preferences_from_scores(np.array([[80.0, 10], [55, 10], [60, 90]])).tolist()
    [[0, 0, 1], [1, 2, 0], [1, 2, 1]]
    """
    rows = [np.zeros((0, 3), dtype=np.int64)]
    for i in range(len(segment_scores) - 1):
        difference = segment_scores[i] - segment_scores[i + 1 :]
        other, segment = np.nonzero((np.abs(difference) >= threshold) & (difference != 0))  # NaN >= threshold is false
        first = difference[other, segment] > 0
        other, one = other + i + 1, np.full(len(other), i)
        rows.append(np.column_stack([segment, np.where(first, one, other), np.where(first, other, one)]))
    preferences = np.concatenate(rows)
    return preferences[np.argsort(preferences[:, 0], kind="stable")]  # keeps the order of the pairs of a segment


def preference_parts(preferences: np.ndarray, segment_scores: np.ndarray, variant: str) -> np.ndarray:
    """The numerator and denominator of each preference, float64 (P, 2); tau is the ratio of their sums.

    The metric agrees with C preferences, reverses D of them, and gives equal scores to both outputs in T:
      darr     (C - D - T) / (C + D + T)   WMT17 to WMT20, on preferences_from_scores (Ma et al. 2019)
      wmt12    (C - D - T) / (C + D + T)   WMT11 and WMT12; same formula, on human rankings (Callison-Burch et al. 2012)
      wmt13    (C - D) / (C + D)           (Machacek and Bojar 2013)
      wmt14    (C - D) / (C + D + T)       WMT14 to WMT16 (Machacek and Bojar 2014)
    A preference with an output that the metric did not score adds 0 to both.

    preferences       int64 (P, 3), rows (segment, better, worse system)
    segment_scores    float64 (S, N), the metric's, NaN where it scored nothing

    >>> scores = np.array([[3.0, 1, 2], [2, 4, 2]])
    >>> preference_parts(np.array([[0, 0, 1], [1, 0, 1], [2, 0, 1]]), scores, "wmt14").tolist()
    [[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0]]
    """
    segment, better, worse = preferences.T
    better, worse = segment_scores[better, segment], segment_scores[worse, segment]
    parts = np.zeros((len(preferences), 2))
    parts[better > worse] = 1, 1
    parts[better < worse] = -1, 1
    parts[better == worse] = TIES[variant]
    return parts


def tau(preferences: np.ndarray, segment_scores: np.ndarray, variant: str) -> float:
    """A Kendall-like tau, from -1 to 1; for the variants, see preference_parts. NaN if no preference counts.

    Below, C = 2, D = 1 and T = 1: (2 - 1 - 1) / 4, (2 - 1) / 3 and (2 - 1) / 4.

    >>> scores = np.array([[3.0, 1, 2, 5], [2, 4, 2, 4]])
    >>> preferences = np.array([[0, 0, 1], [1, 0, 1], [2, 0, 1], [3, 0, 1]])
    >>> [round(tau(preferences, scores, variant), 3) for variant in ("darr", "wmt13", "wmt14")]
    [0.0, 0.333, 0.25]
    """
    above, below = preference_parts(preferences, segment_scores, variant).sum(axis=0)
    return float(above / below) if below else float("nan")
