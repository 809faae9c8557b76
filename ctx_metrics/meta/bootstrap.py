"""Bootstrap of agreement: intervals of a metric's value, and whether one metric beats another in the same resamples.

The units of each test set (segments, pairs, systems) are drawn with replacement, as many as there are (Efron 1979; for
comparing systems, Koehn 2004).
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

BLOCK = 2**20  # units drawn at once; some 24 bytes each


def bootstrap_parts(parts: Sequence[np.ndarray], pooled: bool, resamples: int = 1000, seed: int = 0) -> np.ndarray:
    """Values in resamples, where a value is a sum over units divided by another. float64 (resamples,).

    parts     K float64 arrays, one a test set, of shape (U_k units, 2): what a unit adds to the numerator and to the
              denominator; (0, 0) for a unit that has nothing to add, never NaN
    pooled    whether the value is sum / sum over the units of all sets, or the mean over sets of each set's sum / sum

    Set k's units are drawn U_k times with replacement, independently of the other sets; with c_u the number of times that
    unit u was drawn, its sums are sum of c_u * parts[u]. NaN where a denominator is 0.

    The draws depend on the seed and the U_k alone. So two metrics measured on the same units get the same resamples, and
    their replicates are paired; bootstrap_values draws the same units too.

    By hand: of the units (1, 1) and (0, 1), two draws give the first twice, each once or the second twice, with values 1,
    1/2 and 0 and probabilities 1/4, 1/2 and 1/4.

    >>> parts = [np.array([[1.0, 1.0], [0.0, 1.0]])]
    >>> replicates = bootstrap_parts(parts, pooled=True)
    >>> np.unique(replicates).tolist()
    [0.0, 0.5, 1.0]
    >>> bool(abs(np.mean(replicates == 0.5) - 1 / 2) < 0.05)
    True
    """
    sums = np.zeros((len(parts), resamples, 2))
    for k, of_set in enumerate(parts):
        at = 0
        for drawn in _draws(len(of_set), resamples, seed, k):
            rows = len(drawn)
            places = drawn + np.arange(rows)[:, None] * len(of_set)
            counts = np.bincount(places.ravel(), minlength=places.size).reshape(places.shape)
            sums[k, at : at + rows] = counts.astype(np.float64) @ of_set
            at += rows
    if pooled:
        sums = sums.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(sums[..., 1] != 0, sums[..., 0] / sums[..., 1], np.nan)
    return values.mean(axis=0)


def bootstrap_values(
    sizes: Sequence[int], value: Callable[[list[np.ndarray]], float], resamples: int = 1000, seed: int = 0
) -> np.ndarray:
    """Values in resamples, for a value of any kind. float64 (resamples,).

    sizes    units of each of K test sets
    value    the value, from K int64 arrays of the units drawn, with repetitions, in any order

    The draws depend on the seed and the sizes alone, as in bootstrap_parts.

    By hand: the median of 1, 2 and 9 drawn with replacement is one of them, and it is 2 unless 1 or 9 is drawn at least
    twice: 1 - 2 * (3 * 2 + 1) / 27 = 13 / 27.

    >>> medians = bootstrap_values([3], lambda drawn: np.median(np.array([1, 2, 9])[drawn[0]]))
    >>> bool(abs(np.mean(medians == 2) - 13 / 27) < 0.05)
    True
    """
    drawn = zip(*(_one_by_one(size, resamples, seed, k) for k, size in enumerate(sizes)))
    return np.fromiter((value(list(arrays)) for arrays in drawn), dtype=np.float64)


def interval(replicates: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval: the (1 - level) / 2 and (1 + level) / 2 quantiles of the replicates (Efron 1979).

    Replicates that are NaN are left out; (NaN, NaN) if all are.

    By hand: of 0, 1, ..., 100 the quantile q is 100 q, so that 90 % lie from 5 to 95.

    >>> low, high = interval(np.arange(101.0), level=0.9)
    >>> round(low, 9), round(high, 9)
    (5.0, 95.0)
    """
    there = replicates[~np.isnan(replicates)]
    if not there.size:
        return float("nan"), float("nan")
    low, high = np.quantile(there, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def p_not_better(replicates_better: np.ndarray, replicates_other: np.ndarray) -> float:
    """Paired bootstrap test (Koehn 2004): p that the first metric agrees no better than the other.

    The replicates are two metrics' values in the same n resamples; k is the number of resamples in which the first value
    is not greater, a tie included, so that identical metrics have p = 1:

        p = (k + 1) / (n + 1)

    which is never 0, as the permutation tests' p is not. Resamples in which either value is NaN are left out; NaN if all
    are.

    By hand: better, worse, equal, better, so k = 2 and p = 3 / 5.

    >>> p_not_better(np.array([0.9, 0.5, 0.7, 0.8]), np.array([0.6, 0.6, 0.7, 0.6]))
    0.6
    """
    there = ~(np.isnan(replicates_better) | np.isnan(replicates_other))
    if not there.any():
        return float("nan")
    # replicates that are equal but for rounding are a tie
    not_greater = np.count_nonzero(replicates_better[there] <= replicates_other[there] + 1e-12)
    return float((not_greater + 1) / (np.count_nonzero(there) + 1))


def _draws(units: int, resamples: int, seed: int, k: int) -> Iterator[np.ndarray]:
    """Resamples of set k as rows of unit numbers, in blocks that bound the memory."""
    if not units:
        return
    rng = np.random.default_rng([seed, k])
    rows = max(1, BLOCK // units)
    for start in range(0, resamples, rows):
        yield rng.integers(units, size=(min(rows, resamples - start), units))


def _one_by_one(units: int, resamples: int, seed: int, k: int) -> Iterator[np.ndarray]:
    if not units:
        yield from (np.empty(0, dtype=np.int64) for _ in range(resamples))
    for drawn in _draws(units, resamples, seed, k):
        yield from drawn
