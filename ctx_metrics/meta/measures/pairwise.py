"""Pairwise accuracy of systems (Kocmi et al. 2021, To Ship or Not to Ship)."""

import numpy as np


def pair_agreements(human: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """Whether metric and people order two systems alike, a tie for both included: bool (P,).

    sign(h[i] - h[j]) == sign(m[i] - m[j]) of the pairs i < j of systems that both judge, in the order of
    np.triu_indices. Accuracy over several language pairs pools these: their sum over their number.

    human, metric    float64 (S,), NaN where a system is not judged or not scored

    People tie systems 0 and 1, the metric does not; the fourth is not scored.

    >>> pair_agreements(np.array([1.0, 1, 2, 3]), np.array([5.0, 6, 7, np.nan])).tolist()
    [False, True, True]
    """
    there = ~(np.isnan(human) | np.isnan(metric))
    human, metric = human[there], metric[there]
    first, second = np.triu_indices(len(human), 1)
    above = (human[first] > human[second]) == (metric[first] > metric[second])
    return above & ((human[first] < human[second]) == (metric[first] < metric[second]))


def system_accuracy(human: np.ndarray, metric: np.ndarray) -> float:
    """Share of the pairs of systems that metric and people order alike, from 0 to 1; NaN where there is no pair.

    >>> round(system_accuracy(np.array([1.0, 1, 2, 3]), np.array([5.0, 6, 7, np.nan])), 3)
    0.667
    """
    agreements = pair_agreements(human, metric)
    return float(agreements.mean()) if len(agreements) else float("nan")
