"""Counts, for each position in a sequence, how many of the preceding scores are lower or equal, in O(n log n) overall."""

import numpy as np


def prefix_counts(values: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each i, how many of values[: ends[i]] are below values[i], and how many equal it: two int64 arrays (n,).

    The ranks of the values descend a wavelet matrix (Claude, Navarro and Ordonez 2015) level by level, from the highest bit
    to the lowest. At each level, a stable partition by that bit is made, and each prefix becomes a range in the half to
    which its value belongs. If that is the half of ones, the zeros that the range contained are below the value. The values
    that remain at the end are equal.

    values    (n,), no NaN; ends    int64 (n,), from 0 to n

    Below, the three values before position 3 are (2, 1, 2): one is below 2, two equal it.

    >>> [counts.tolist() for counts in prefix_counts(np.array([2.0, 1, 2, 2]), np.array([0, 1, 2, 3]))]
    [[0, 0, 1, 1], [0, 0, 1, 2]]
    """
    wanted = np.unique(values, return_inverse=True)[1].reshape(-1)
    parted = wanted
    low, high, below = np.zeros_like(ends), ends, np.zeros_like(ends)
    for bit in reversed(range(int(wanted.max(initial=0)).bit_length())):
        one = (parted >> bit) & 1 == 1
        ones_before = np.concatenate([[0], np.cumsum(one)])
        zeros = len(parted) - ones_before[-1]
        ones_low, ones_high = ones_before[low], ones_before[high]
        zeros_low, zeros_high = low - ones_low, high - ones_high
        up = (wanted >> bit) & 1 == 1
        below = below + np.where(up, zeros_high - zeros_low, 0)
        low, high = np.where(up, zeros + ones_low, zeros_low), np.where(up, zeros + ones_high, zeros_high)
        parted = np.concatenate([parted[~one], parted[one]])
    return below, high - low


def first_within(ascending: np.ndarray, reach: float) -> np.ndarray:
    """For each i, the first j with ascending[i] - ascending[j] <= reach: int64 (n,), at most i.

    The comparison uses differences as they are rounded. Bisection is possible because rounding preserves their order. So the
    result agrees exactly with comparing all pairs, whereas a search for ascending[i] - reach would not.

    ascending    float64 (n,), sorted, finite; reach    0 or more

    >>> first_within(np.array([0.1, 0.3, 0.4]), 0.1).tolist()
    [0, 1, 2]
    >>> 0.4 - 0.3 <= 0.1
    False
    """
    low, high = np.zeros(len(ascending), dtype=np.int64), np.arange(len(ascending), dtype=np.int64)
    for _ in range(len(ascending).bit_length()):
        middle = (low + high) // 2
        near = ascending - ascending[middle] <= reach
        low, high = np.where(near, low, middle + 1), np.where(near, middle, high)
    return high
