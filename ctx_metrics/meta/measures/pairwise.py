"""Pairwise accuracy of systems (Kocmi et al. 2021, To Ship or Not to Ship)."""

import numpy as np


def pair_agreements(human: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """Whether metric and people order two systems alike, a tie for both included: float64 (S(S-1)/2,), 1 or 0.

    sign(h[i] - h[j]) == sign(m[i] - m[j]) of the pairs i < j of systems, in the order of np.triu_indices; NaN where either
    side lacks a system. Accuracy over several language pairs pools these: their sum over their number.

    human, metric    float64 (S,), NaN where a system is not judged or not scored

    People tie systems 0 and 1, the metric does not; the fourth is not scored.

    >>> pair_agreements(np.array([1.0, 1, 2, 3]), np.array([5.0, 6, 7, np.nan])).tolist()
    [0.0, 1.0, nan, 1.0, nan, nan]
    """
    first, second = np.triu_indices(len(human), 1)
    human, metric = (np.sign(scores[first] - scores[second]) for scores in (human, metric))
    return np.where(np.isnan(human + metric), np.nan, human == metric)
