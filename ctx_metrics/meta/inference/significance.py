"""Tests of whether one metric agrees significantly better with human judgements than another, and ranks based on them.

All p-values here are one-sided: small if the first metric agrees better. If k of n random arrangements reach the observed
difference, p is (k + 1) / (n + 1), which counts the observed arrangement as one of them. The plain share k / n can be 0
and rejects slightly too often; this estimate never does (Phipson & Smyth 2010).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

ROUNDING = 1e-12  # smaller differences of agreement count as equal: the same numbers, summed in another order
ENOUGH_BETTER, ENOUGH_WORSE = 0.02, 0.5  # PERM-BOTH stops early if p is below the first or above the second


class PValue(NamedTuple):
    """The p-value of a test, and the number of random draws it rests on; 0 for a test without draws."""

    p: float
    draws: int


def williams(r12: float, r13: float, r23: float, n: int) -> float:
    """Williams' test of the hypothesis that metric 2's correlation with human scores is not greater than metric 3's.

    r12, r13    Pearson correlation of each metric with the human scores
    r23         Pearson correlation of the two metrics
    n           number of items; all three correlations are over the same items

    With K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23 and m = (r12 + r13) / 2,

        t = (r12 - r13) sqrt((n - 1)(1 + r23)) / sqrt(2 K (n - 1) / (n - 3) + m^2 (1 - r23)^3),

    and p is the upper tail of Student's t distribution with n - 3 degrees of freedom (Williams 1959; for metrics, Graham &
    Baldwin 2014). The test assumes normally distributed scores. n is usually the number of systems, since the outputs of
    one system are not independent.

    Returns p in [0, 1]; 1.0 for perfectly correlated metrics (r23 = 1), as in a permutation test. NaN if r23 = -1, n <= 3, a
    correlation is NaN, or no data can have these three correlations (K < 0).

    By hand, r12 = .6, r13 = r23 = 0, n = 5: K = .64, t^2 = .36 * 4 / (.64 * 4 + .09) = 1.44 / 2.65; with 2 degrees of
    freedom p = (1 - sqrt(t^2 / (2 + t^2))) / 2 = (1 - sqrt(1.44 / 6.74)) / 2 = (1 - .4622) / 2 = .2689.

    >>> round(williams(0.6, 0.0, 0.0, 5), 4)
    0.2689
    """
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if n <= 3 or not k >= -1e-9:  # comparisons with NaN are false
        return float("nan")
    if abs(r23) > 1 - ROUNDING:
        return 1.0 if r23 > 0 else float("nan")
    variance = 2 * max(k, 0.0) * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    with np.errstate(divide="ignore"):  # division by 0 if human scores are a * metric 2 - a * metric 3: t is infinite
        t = np.divide((r12 - r13) * np.sqrt((n - 1) * (1 + r23)), np.sqrt(variance))
    return float(stats.t.sf(t, n - 3))


def perm_both(
    a: Sequence[np.ndarray],
    b: Sequence[np.ndarray],
    value: Callable[[list[np.ndarray]], float],
    *,
    resamples: int = 1000,
    seed: int = 0,
    block: int = 100,
    early_stop: bool = True,
) -> PValue:
    """PERM-BOTH (Deutsch, Dror & Roth 2021): the p-value of the hypothesis that metric a agrees no better than metric b,
    found by swapping scores.

    a, b          K float64 arrays each, one per test set, of the same shapes; NaN where a metric has no score
    value         computes a metric's overall value from K such arrays
    block         number of resamples between two checks of p; early_stop, whether such a check may end the test

    In each set, the scores of each metric are standardised, z = (score - mean) / standard deviation (0 for a constant). Then
    delta = value(z of a) - value(z of b) is compared with delta*, the same difference after swapping the two metrics'
    entries, each output independently with probability 1/2:

        p = (1 + number of delta* >= delta) / (1 + number of resamples)

    An entry that is missing for either metric is NaN for both. `value` must be invariant under affine maps of the scores, as
    correlations and accuracies are, since swapped scores no longer have the spread of the observed ones. The null hypothesis
    is that the two metrics are exchangeable output by output, and that outputs are independent. A NaN delta* counts as >=
    delta. If b agrees better, p is near 1.

    early_stop    after each block the test ends if p < .02 or p > .5. This saves nine tenths of the work if metrics differ
                  clearly, and half of it if they do not. Compare such a p with a level such as .05, not with .02 or less:
                  with 1,000 resamples in blocks of 100, equally good metrics have p < .05 in 5.03 % of cases (5.00 %
                  without early stopping) and p < .02 in 2.8 % (2.0 %). These shares are exact, for a uniform true p.

    Returns p in (0, 1] and the number of resamples it rests on; NaN and 0 if delta is NaN. The same seed gives the same p,
    and the same swaps for any two metrics.

    Two outputs, of which the second is better: a gives them 1 and 3, b 3 and 1. delta is 1 - (-1) = 2, which one of the four
    arrangements reaches: no swap.

    >>> p, _ = perm_both([np.array([1.0, 3.0])], [np.array([3.0, 1.0])], lambda arrays: np.sign(arrays[0][1] - arrays[0][0]))
    >>> abs(p - 1 / 4) < 0.05
    True
    """
    missing = [np.isnan(x) | np.isnan(y) for x, y in zip(a, b, strict=True)]
    a = [_standardised(x, gaps) for x, gaps in zip(a, missing, strict=True)]
    b = [_standardised(y, gaps) for y, gaps in zip(b, missing, strict=True)]
    delta = value(a) - value(b)
    if np.isnan(delta):
        return PValue(float("nan"), 0)
    rng = np.random.default_rng(seed)
    reached, done, p = 0, 0, 1.0
    for done in range(1, resamples + 1):
        swapped = [rng.integers(2, size=x.shape, dtype=bool) for x in a]
        a_star = [np.where(swap, y, x) for swap, x, y in zip(swapped, a, b, strict=True)]
        b_star = [np.where(swap, x, y) for swap, x, y in zip(swapped, a, b, strict=True)]
        reached += not value(a_star) - value(b_star) < delta - ROUNDING  # comparisons with NaN are false
        p = (reached + 1) / (done + 1)
        if early_stop and done % block == 0 and not ENOUGH_BETTER <= p <= ENOUGH_WORSE:
            break
    return PValue(p, done)


def pairwise_permutation(
    credits_a: Sequence[np.ndarray], credits_b: Sequence[np.ndarray], *, resamples: int = 1000, seed: int = 0
) -> float:
    """The p-value of the hypothesis that metric a's tie-calibrated accuracy is no greater than b's, found by swapping the
    metrics' decisions on pairs.

    credits_a, credits_b    K int8 arrays each, one per test set, of shape (N_k groups, P_k pairs): 1 if the metric orders
                            the pair (or ties it) as people do, 0 if not, -1 if there is no such pair

    A set's value is the mean over its groups of the mean over each group's pairs; the overall value is the mean over sets.
    A pair counts only if both metrics have it, and a group only if it has a pair. Scores cannot be swapped, since ties are
    calibrated to each metric's scale. Instead, the metrics' decisions on each pair are swapped with probability 1/2, while
    the calibrated epsilons stay fixed (Deutsch, Foster & Freitag 2023).

        p = (1 + number of delta* >= delta) / (1 + resamples)

    A swap matters only if the two credits differ. So for a group with n such pairs out of m, the difference is
    (2 B - n) / m, where B follows Binomial(n, 1/2); all groups of a set with the same m are drawn as one. This is exact.

    The test treats pairs as independent, but pairs that share an output are not. Therefore p is too small, increasingly so
    with more systems: in simulations with equally good metrics, 7 % have p < .05 with 5 systems, 17 % with 14 and 24 % with
    30. The bootstrap of whole groups (bootstrap_parts, p_not_better) had 5 to 6 % there.

    Returns p in (0, 1], or NaN if a set has no pair that both metrics have. The same seed gives the same p.

    One group of four pairs: a is right on all, b is wrong on three. Only one of 2^3 arrangements reaches delta = 3/4.

    >>> a, b = np.array([[1, 1, 1, 1]], np.int8), np.array([[0, 1, 0, 0]], np.int8)
    >>> abs(pairwise_permutation([a], [b]) - 1 / 8) < 0.04
    True
    """
    rng = np.random.default_rng(seed)
    delta, delta_star = 0.0, np.zeros(resamples)
    for a, b in zip(credits_a, credits_b, strict=True):
        both = (a >= 0) & (b >= 0)
        pairs = both.sum(axis=1)
        a_only = ((a > b) & both).sum(axis=1)
        b_only = ((b > a) & both).sum(axis=1)
        if not pairs.any():
            return float("nan")
        groups = np.count_nonzero(pairs)
        for m in np.unique(pairs[pairs > 0]):
            weight, same = 1 / (m * groups * len(credits_a)), pairs == m
            differing = (a_only + b_only)[same].sum()
            delta += weight * (a_only - b_only)[same].sum()
            delta_star += weight * (2 * rng.binomial(differing, 0.5, size=resamples) - differing)
    return float((np.count_nonzero(delta_star >= delta - ROUNDING) + 1) / (resamples + 1))


def _standardised(scores: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Scores minus their mean, divided by their standard deviation; 0 for a constant, NaN where `missing`. Same shape."""
    known = scores[~missing]
    spread = known.std() if known.size else 0.0
    standardised = np.full(scores.shape, np.nan)
    standardised[~missing] = (known - known.mean()) / spread if spread else 0.0
    return standardised
