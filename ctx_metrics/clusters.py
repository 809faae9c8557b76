"""Ranks by significance cluster."""

from collections.abc import Callable, Sequence

import numpy as np


def ranks(values: Sequence[float] | np.ndarray, significantly_better: Callable[[int, int], bool]) -> list[int]:
    """Return the rank of each metric, from 1, as the WMT metrics tasks have assigned ranks since Freitag et al. (2022).

    values                  M values in any order, higher is better; a metric whose value is NaN is not ranked and gets 0
    significantly_better    whether metric i is significantly better than metric j; called only for an i that ranks before
                            j, and only as long as the answer matters

    Going down from the best metric, each one joins the current cluster unless a metric in that cluster is significantly
    better. In that case it opens the next cluster, with the next rank. Metrics with equal values keep their order.

    A metric in one cluster is therefore not always significantly better than every metric in the next. For example, take
    A .9, B .8, C .7 and D .6, with A better than C and B better than D. A and B share rank 1. C opens rank 2, although B
    is not better than C. D is compared only with C, and shares its rank.

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
