"""Bootstrap of agreement: confidence intervals of a metric's value, and paired tests of whether one metric beats another.

The units of each test set (segments, systems or preferences) are drawn with replacement, as many as there are (Efron 1979;
for comparing systems, Koehn 2004).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np

BLOCK = 2**20  # units drawn at once, at about 24 bytes each


def ratio(sums: np.ndarray) -> np.ndarray:
    """The first sum divided by the second: (...,) from (..., 2); NaN where the second is 0."""
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
    """Resample a value that is a function of sums over units. Returns float64 (resamples,).

    parts     K float64 arrays, one per test set, of shape (U_k units, C): each unit's terms in C sums, for example
              to a numerator and a denominator; zeros for a unit that adds nothing, never NaN
    pooled    whether to compute the value from sums over all sets, or as the mean of the sets' values
    value     maps sums (..., C) to values (...,)
    of_pairs  whether the parts belong to the pairs i < j of items, in the order of np.triu_indices. Then items are drawn,
              and a pair counts as often as its items were drawn together, since pairs that share an item are dependent

    From set k, U_k units are drawn with replacement, independently of the other sets. If unit u was drawn c_u times, the
    sums are sum of c_u * parts[u]; for pairs, sum of c_i * c_j * parts[i, j]. The draws depend only on the seed and the U_k,
    as in bootstrap_values, so the replicates of two metrics on the same units are paired.

    Two draws of the units (1, 1) and (0, 1) give the values 1, 1/2 and 0 with probabilities 1/4, 1/2 and 1/4.

    >>> replicates = bootstrap_parts([np.array([[1.0, 1.0], [0.0, 1.0]])], pooled=True)
    >>> np.unique(replicates).tolist(), bool(abs(np.mean(replicates == 0.5) - 1 / 2) < 0.05)
    ([0.0, 0.5, 1.0], True)
    """
    sums = np.zeros((len(parts), resamples, parts[0].shape[1]))
    for k, of_set in enumerate(parts):
        sums[k] = resampled_sums(of_set, resamples, seed=[seed, k], of_pairs=of_pairs)
    return value(sums.sum(axis=0) if pooled else sums).reshape(-1, resamples).mean(axis=0)


def resampled_sums(parts: np.ndarray, resamples: int, *, seed: int | list[int], of_pairs: bool = False) -> np.ndarray:
    """The sums (resamples, C) of parts (U, C) in resamples of the units, or of pairs of items; see bootstrap_parts."""
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
    """Resample a value of any kind. Returns float64 (resamples,).

    sizes    number of units in each of K test sets
    value    maps K int64 arrays (U_k,) of drawn units to the value; units are drawn as in bootstrap_parts

    By hand: the median of 1, 2 and 9 drawn with replacement is 2 unless 1 or 9 is drawn at least twice:
    1 - 2 * (3 * 2 + 1) / 27 = 13 / 27.

    >>> medians = bootstrap_values([3], lambda drawn: np.median(np.array([1, 2, 9])[drawn[0]]))
    >>> bool(abs(np.mean(medians == 2) - 13 / 27) < 0.05)
    True
    """
    draws = [chain.from_iterable(_draws(size, resamples, [seed, k], size)) for k, size in enumerate(sizes)]
    return np.fromiter((value(list(arrays)) for arrays in zip(*draws, strict=True)), dtype=np.float64)


def interval(replicates: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The percentile interval: the (1 - level) / 2 and (1 + level) / 2 quantiles of the replicates (Efron 1979).

    NaN replicates are ignored; (NaN, NaN) if all are NaN.

    By hand: the quantile q of 0, 1, ..., 100 is 100 q, so 90 % lie between 5 and 95.

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
    """Paired bootstrap test (Koehn 2004): p-value of the hypothesis that the first metric agrees no better than the other.

    p = (k + 1) / (n + 1), where n is the number of paired replicates and k the number in which the first metric's value is
    not greater. Ties count towards k, so p = 1 for identical metrics; p is never 0. Resamples in which either value is NaN
    are ignored; NaN if all are.

    By hand: better, worse, equal, better; so k = 2 and p = 3 / 5.

    >>> p_not_better(np.array([0.9, 0.5, 0.7, 0.8]), np.array([0.6, 0.6, 0.7, 0.6]))
    0.6
    """
    number = np.count_nonzero(~(np.isnan(replicates_better) | np.isnan(replicates_other)))
    # values that differ only by rounding are ties; comparisons with NaN are false
    not_greater = np.count_nonzero(replicates_better <= replicates_other + 1e-12)
    return float((not_greater + 1) / (number + 1)) if number else float("nan")


def _draws(units: int, resamples: int, seed: int | list[int], size: int) -> Iterator[np.ndarray]:
    """Yield resamples as rows of unit numbers, int64 (..., units), in blocks that limit memory at `size` numbers a row."""
    rng = np.random.default_rng(seed)
    rows = max(1, BLOCK // max(1, size))
    for start in range(0, resamples, rows):
        yield rng.integers(max(1, units), size=(min(rows, resamples - start), units))
