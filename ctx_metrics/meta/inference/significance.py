"""Whether one metric agrees better with people than another by more than chance: one-sided tests, and ranks by them.

Every p-value here is small if the metric that comes first agrees better. One estimated from n random arrangements, k of
which reach the observed difference, is (k + 1) / (n + 1): the observed arrangement counts as one of them. The plain share
k / n can be 0 and rejects slightly too often; this one never does (Phipson & Smyth 2010).
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

ROUNDING = 1e-12  # differences of agreement closer than this are equal: the same counts, summed in another order
ENOUGH_BETTER, ENOUGH_WORSE = 0.02, 0.5  # PERM-BOTH's early stop: below the one, above the other


def williams(r12: float, r13: float, r23: float, n: int) -> float:
    """Williams' test that metric 2's correlation with people is not greater than metric 3's.

    r12, r13    each metric's Pearson correlation with the human scores; r23, the metrics' with one another; all three
                over the same n items

    With K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23 and m = (r12 + r13) / 2,

        t = (r12 - r13) sqrt((n - 1)(1 + r23)) / sqrt(2 K (n - 1) / (n - 3) + m^2 (1 - r23)^3),

    and p is the upper tail of Student's t with n - 3 degrees of freedom (Williams 1959; for metrics, Graham & Baldwin
    2014). It holds for normally distributed scores; n is mostly the number of systems, since the outputs of a system
    are not independent.

    Returns p in [0, 1]; 1.0 for metrics that say the same (r23 = 1), as a permutation test has it. NaN for opposites
    (r23 = -1), n <= 3, a NaN correlation, or three correlations that no data can have together (K < 0).

    By hand, r12 = .6, r13 = r23 = 0, n = 5: K = .64, t^2 = .36 * 4 / (.64 * 4 + .09) = 1.44 / 2.65; with 2 degrees of
    freedom p = (1 - sqrt(t^2 / (2 + t^2))) / 2 = (1 - sqrt(1.44 / 6.74)) / 2 = (1 - .4622) / 2 = .2689.

    >>> round(williams(0.6, 0.0, 0.0, 5), 4)
    0.2689
    """
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if n <= 3 or not k >= -1e-9:  # NaN is not >= anything
        return float("nan")
    if abs(r23) > 1 - ROUNDING:
        return 1.0 if r23 > 0 else float("nan")
    variance = 2 * max(k, 0.0) * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    with np.errstate(divide="ignore"):  # 0 where the scores of people are a * metric 2 - a * metric 3: t is infinite
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
) -> float:
    """PERM-BOTH (Deutsch, Dror & Roth 2021): p that metric a agrees no better with people than b, by swapping scores.

    a, b          K float64 arrays each, one a test set, of the same shapes; NaN where a metric has no score
    value         an evaluation's overall value of one metric, from K such arrays
    block         resamples between two looks at p; early_stop, whether a look may end the test

    Each metric's scores of each set are made comparable, z = (score - mean) / standard deviation (0 for a constant), and
    delta = value(z of a) - value(z of b) is compared with delta*, the same after swapping the two metrics' entries, each
    with probability 1/2 and each output by itself:

        p = (1 + number of delta* >= delta) / (1 + number of resamples)

    An entry that either metric lacks is NaN in both. `value` must be one that an affine map of the scores does not change,
    as correlations and accuracies are, since swapped scores no longer have the spread of the observed ones. What is tested
    is whether the two metrics could be exchanged output by output, outputs taken for independent. A delta* that is NaN
    counts as >= delta. If b agrees better, p is near 1.

    early_stop    after each block the test ends if p < .02 or p > .5, which saves nine tenths of the work where metrics
                  differ clearly and half of it where they do not. Compare such a p with a level such as .05, not with .02
                  or less: with 1,000 resamples in blocks of 100, equally good metrics have p < .05 in 5.03 % of cases (5.00
                  % without stopping) and p < .02 in 2.8 % (2.0 %; computed exactly, for an evenly distributed true p).

    Returns p in (0, 1], NaN if delta is NaN. The same seed gives the same p, and the same swaps for any two metrics.

    By hand: the second of two outputs is better; a gives them 1 and 3, b 3 and 1; the value is the sign of their
    difference. z are (-1, 1) and (1, -1), delta = 1 - (-1) = 2. Of the four arrangements, swapping nothing gives 2, one
    entry 0 (two ties), both -2: one in four reaches 2, so p is near 1/4.

    >>> p = perm_both([np.array([1.0, 3.0])], [np.array([3.0, 1.0])], lambda arrays: np.sign(arrays[0][1] - arrays[0][0]))
    >>> abs(p - 1 / 4) < 0.05
    True
    """
    missing = [np.isnan(x) | np.isnan(y) for x, y in zip(a, b, strict=True)]
    a = [_standardised(x, gaps) for x, gaps in zip(a, missing, strict=True)]
    b = [_standardised(y, gaps) for y, gaps in zip(b, missing, strict=True)]
    delta = value(a) - value(b)
    if np.isnan(delta):
        return float("nan")
    rng = np.random.default_rng(seed)
    reached, p = 0, 1.0
    for done in range(1, resamples + 1):
        swapped = [rng.integers(2, size=x.shape, dtype=bool) for x in a]
        a_star = [np.where(swap, y, x) for swap, x, y in zip(swapped, a, b, strict=True)]
        b_star = [np.where(swap, x, y) for swap, x, y in zip(swapped, a, b, strict=True)]
        reached += not value(a_star) - value(b_star) < delta - ROUNDING  # NaN is not < anything
        p = (reached + 1) / (done + 1)
        if early_stop and done % block == 0 and not ENOUGH_BETTER <= p <= ENOUGH_WORSE:
            break
    return p


def pairwise_permutation(
    credits_a: Sequence[np.ndarray], credits_b: Sequence[np.ndarray], *, resamples: int = 1000, seed: int = 0
) -> float:
    """p that metric a's tie-calibrated accuracy is no greater than b's, by swapping decisions on pairs.

    credits_a, credits_b    K int8 arrays each, one a test set, of shape (N_k groups, P_k pairs): 1 if the metric orders
                            the pair (or ties it) as people do, 0 if not, -1 if there is no such pair

    A set's value is the mean over its groups of the mean over the group's pairs, the overall value the mean over sets.
    A pair counts only if both metrics have it, a group only if it has a pair. Scores cannot be swapped here, since each
    metric's ties are calibrated to its own scale; so the metrics' decisions on each pair are swapped with probability
    1/2, with the calibrated epsilons as they are (Deutsch, Foster & Freitag 2023).

        p = (1 + number of delta* >= delta) / (1 + resamples)

    Pairs are not drawn one by one. A swap matters only where the two credits differ, and there it makes +1 of -1 or -1 of
    +1, each with probability 1/2. The difference of a group with n such pairs, of m in all, is then (2 B - n) / m with B
    from Binomial(n, 1/2), whatever the credits were; this is the distribution itself, not an approximation. Binomials of
    one probability add up, so groups of equal m in a set are drawn as one.

    The test takes pairs for independent, which those that share an output are not. So p is too small, the more so the more
    systems there are: of simulated metrics that are equally good, 7 % have p < .05 with 5 systems, 17 % with 14 and 24 %
    with 30. The bootstrap of whole groups (bootstrap_parts, p_not_better) had 5 to 6 % there.

    Returns p in (0, 1], NaN if a set has no pair that both metrics have. The same seed gives the same p.

    By hand: one group of four pairs, a right on all, b wrong on three of them. delta = 3/4, which only the one of the
    2^3 arrangements that swaps none of these three reaches, so p is near 1/8.

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
    """Scores less their mean over their standard deviation, 0 for a constant, NaN where missing; all of one shape."""
    known = scores[~missing]
    spread = known.std() if known.size else 0.0
    standardised = np.full(scores.shape, np.nan)
    standardised[~missing] = (known - known.mean()) / spread if spread else 0.0
    return standardised
