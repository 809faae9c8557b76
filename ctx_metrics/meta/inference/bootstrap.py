"""Bootstrap of agreement: intervals of a metric's value, and whether one metric beats another in the same resamples.

The units of each test set (segments, systems, preferences) are drawn with replacement, as many as there are (Efron 1979; for
comparing systems, Koehn 2004).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np

BLOCK = 2**20  # units drawn at once; some 24 bytes each


def ratio(sums: np.ndarray) -> np.ndarray:
    """The first sum by the second: (...,) of (..., 2); NaN where the second is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums[..., 1] != 0, sums[..., 0] / sums[..., 1], np.nan)


def bootstrap_parts(
    parts: Sequence[np.ndarray],
    pooled: bool,
    *,
    resamples: int = 1000,
    seed: int = 0,
    value: Callable[[np.ndarray], np.ndarray] = ratio,
    of_pairs: bool = False,
) -> np.ndarray:
    """Values in resamples, where a value follows from sums over units. float64 (resamples,).

    parts     K float64 arrays, one a test set, of shape (U_k units, C): what a unit adds to each sum, such as to numerator
              and denominator; zeros for a unit that has nothing to add, never NaN
    pooled    whether the value is that of the sums over the units of all sets, or the mean over sets of each set's value
    value     the values (...,) of sums (..., C)
    of_pairs  whether the parts are of the pairs i < j of things, in the order of np.triu_indices. Then the things are drawn,
              and a pair counts as often as its two were drawn together: pairs that share a thing are not independent

    Set k's units are drawn U_k times with replacement, independently of the other sets; with c_u the number of times that
    unit u was drawn, its sums are sum of c_u * parts[u], of pairs sum of c_i * c_j * parts[i, j]. The draws depend on the
    seed and the U_k alone, as in bootstrap_values, so two metrics' replicates on the same units are paired.

    By hand: two draws of the units (1, 1) and (0, 1) give the values 1, 1/2 and 0 with probabilities 1/4, 1/2 and 1/4. Of
    the pairs of three things, of which (0, 1) alone adds to the numerator, three draws give each thing once (1/3), or one
    thing twice and another once, whose pair is then all there is.

    >>> parts = [np.array([[1.0, 1.0], [0.0, 1.0]])]
    >>> replicates = bootstrap_parts(parts, pooled=True)
    >>> np.unique(replicates).tolist()
    [0.0, 0.5, 1.0]
    >>> bool(abs(np.mean(replicates == 0.5) - 1 / 2) < 0.05)
    True
    >>> pairs = bootstrap_parts([np.array([[1.0, 1], [0, 1], [0, 1]])], pooled=True, of_pairs=True)
    >>> np.unique(pairs[~np.isnan(pairs)]).round(3).tolist()
    [0.0, 0.333, 1.0]
    """
    sums = np.zeros((len(parts), resamples, parts[0].shape[1]))
    for k, of_set in enumerate(parts):
        sums[k] = resampled_sums(of_set, resamples, seed=[seed, k], of_pairs=of_pairs)
    return value(sums.sum(axis=0) if pooled else sums).reshape(-1, resamples).mean(axis=0)


def resampled_sums(parts: np.ndarray, resamples: int, *, seed: int | list[int], of_pairs: bool = False) -> np.ndarray:
    """Sums (resamples, C) of parts (U, C) in resamples of the units, or of pairs of them; see bootstrap_parts."""
    units = len(parts)
    if of_pairs:
        units = (1 + math.isqrt(1 + 8 * units)) // 2
        first, second = np.triu_indices(units, 1)
    sums = np.zeros((resamples, parts.shape[1]))
    at = 0
    for drawn in _draws(units, resamples, seed, max(units, len(parts))):
        places = drawn + np.arange(len(drawn))[:, None] * units
        counts = np.bincount(places.ravel(), minlength=places.size).reshape(places.shape).astype(np.float64)
        if of_pairs:
            counts = counts[:, first] * counts[:, second]
        sums[at : at + len(drawn)] = counts @ parts
        at += len(drawn)
    return sums


def bootstrap_values(
    sizes: Sequence[int], value: Callable[[list[np.ndarray]], float], *, resamples: int = 1000, seed: int = 0
) -> np.ndarray:
    """Values in resamples, for a value of any kind. float64 (resamples,).

    sizes    units of each of K test sets
    value    the value, from K int64 arrays (U_k,) of the units drawn, as bootstrap_parts draws them

    By hand: the median of 1, 2 and 9 drawn with replacement is 2 unless 1 or 9 is drawn at least twice:
    1 - 2 * (3 * 2 + 1) / 27 = 13 / 27.

    >>> medians = bootstrap_values([3], lambda drawn: np.median(np.array([1, 2, 9])[drawn[0]]))
    >>> bool(abs(np.mean(medians == 2) - 13 / 27) < 0.05)
    True
    """
    draws = [chain.from_iterable(_draws(size, resamples, [seed, k], size)) for k, size in enumerate(sizes)]
    return np.fromiter((value(list(arrays)) for arrays in zip(*draws, strict=True)), dtype=np.float64)


def interval(replicates: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval: the (1 - level) / 2 and (1 + level) / 2 quantiles of the replicates (Efron 1979).

    Replicates that are NaN are left out; (NaN, NaN) if all are.

    By hand: of 0, 1, ..., 100 the quantile q is 100 q, so that 90 % lie from 5 to 95.

    >>> low, high = interval(np.arange(101.0), level=0.9)
    >>> round(low, 9), round(high, 9)
    (5.0, 95.0)
    """
    known = replicates[~np.isnan(replicates)]
    if not known.size:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def p_not_better(replicates_better: np.ndarray, replicates_other: np.ndarray) -> float:
    """Paired bootstrap test (Koehn 2004): p that the first metric agrees no better than the other.

    p = (k + 1) / (n + 1), never 0, of two metrics' values (n,) in the same resamples, of which the first is not greater in
    k, a tie included, so that identical metrics have p = 1. Resamples in which either is NaN are left out; NaN if all are.

    By hand: better, worse, equal, better, so k = 2 and p = 3 / 5.

    >>> p_not_better(np.array([0.9, 0.5, 0.7, 0.8]), np.array([0.6, 0.6, 0.7, 0.6]))
    0.6
    """
    number = np.count_nonzero(~(np.isnan(replicates_better) | np.isnan(replicates_other)))
    # replicates that are equal but for rounding are a tie; a NaN is not <= anything
    not_greater = np.count_nonzero(replicates_better <= replicates_other + 1e-12)
    return float((not_greater + 1) / (number + 1)) if number else float("nan")


def _draws(units: int, resamples: int, seed: int | list[int], size: int) -> Iterator[np.ndarray]:
    """Resamples as rows of unit numbers, int64 (..., units), in blocks that bound the memory at `size` numbers a row."""
    rng = np.random.default_rng(seed)
    rows = max(1, BLOCK // max(1, size))
    for start in range(0, resamples, rows):
        yield rng.integers(max(1, units), size=(min(rows, resamples - start), units))
