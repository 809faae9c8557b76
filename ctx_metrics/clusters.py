"""Ranks of things that significance tests tell apart, or do not."""

from collections.abc import Callable, Sequence

import numpy as np


def ranks(values: Sequence[float] | np.ndarray, significantly_better: Callable[[int, int], bool]) -> list[int]:
    """Each metric's rank, from 1, as the WMT metrics tasks give them since 2022 (Freitag et al. 2022).

    values                  M values, higher is better, in any order; NaN for a metric that is not ranked: rank 0
    significantly_better    whether metric i is significantly better than metric j; asked only for an i that comes before
                            j, and only for as long as the answer matters

    Down the list from the best, a metric stays in the current cluster unless a metric of that cluster is significantly
    better; then it opens the next cluster, with the next rank. Equal values keep their order.

    So not all metrics of one cluster need be better than all of the next. By hand, for A .9, B .8, C .7 and D .6 with A
    better than C and B better than D: A and B share rank 1; C opens rank 2, although B is not better than it; D is
    compared with C only, and shares its rank.

    >>> better = {(0, 2), (1, 3)}
    >>> ranks([0.9, 0.8, 0.7, 0.6], lambda i, j: (i, j) in better)
    [1, 1, 2, 2]
    >>> ranks([0.8, float("nan"), 0.9], lambda i, j: (i, j) == (2, 0))
    [2, 0, 1]
    """
    ranks = [0] * len(values)
    cluster: list[int] = []
    rank = 1
    order = np.argsort(-np.asarray(values, dtype=np.float64), kind="stable").tolist()
    for metric in [i for i in order if not np.isnan(values[i])]:
        if any(significantly_better(better, metric) for better in cluster):
            rank, cluster = rank + 1, []
        cluster.append(metric)
        ranks[metric] = rank
    return ranks
