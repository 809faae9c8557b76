"""Ranks systems from pairwise comparisons: Bradley-Terry strengths, with bootstrap intervals and significance clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import expit

from ..errors import InputError
from ..meta.inference.bootstrap import interval, p_not_better, resampled_sums
from ..scoring.comparison import ranks

PRIOR = 0.5  # games that are added for each pair of systems, half of them won by either
TOLERANCE = 1e-10
MOST_STEPS = 1000  # most iterations of Newton's method, which needs about 10


@dataclass(frozen=True)
class Ranking:
    """The ranking of S systems; arrays are in the order in which the systems were given.

    strengths      float64 (S,): Bradley-Terry log-strengths, with mean 0
    intervals      float64 (S, 2): bootstrap intervals of the strengths at `confidence`; NaN if there is only one unit
    win_shares     float64 (S,) in [0, 1]: the mean chance of beating another system, over all segments and other systems
    win_matrix     float64 (S, S) in [0, 1]: [i, j] is the mean chance that i beats j; NaN on the diagonal and for two
                   systems without a common scored segment
    p_values       float64 (S, S): one-sided, that i is no stronger than j; NaN on the diagonal or if there is only one unit
    ranks          from 1; systems that share a rank form one significance cluster
    units, unit    number and kind of the resampled units: "segments" or "documents"
    """

    strengths: np.ndarray
    intervals: np.ndarray
    win_shares: np.ndarray
    win_matrix: np.ndarray
    p_values: np.ndarray
    ranks: list[int]
    segments: int
    units: int
    unit: str
    resamples: int
    confidence: float

    @property
    def order(self) -> list[int]:
        """The systems from strongest to weakest; ties keep the given order."""
        return [int(i) for i in np.argsort(-self.strengths, kind="stable")]

    def better(self, i: int, j: int) -> bool:
        return _significant(self.p_values[i, j], self.confidence)


def strengths(wins: np.ndarray) -> np.ndarray:
    """Bradley-Terry log-strengths (Bradley and Terry 1952) from counts of wins: float64 (..., S), with mean 0.

    wins     (..., S, S): [i, j] is how often i beat j, at least 0; sums of chances of winning may replace whole games.
             The diagonal is ignored. Each leading index is a separate problem

    In the model, i beats j with probability 1 / (1 + exp(t_j - t_i)). The strengths t maximise

        sum over i != j of w_ij log(1 / (1 + exp(t_j - t_i))),    w_ij = wins[i, j] + PRIOR / 2

    Since every system has beaten every other, the maximum is finite (Ford 1957). It is found by Newton's method, to 1e-10. A
    step whose changes have range r is scaled by log(1 + r) / r, which always increases the objective (the logistic loss is
    self-concordant, Bach 2010).

    For two systems, t_1 - t_2 is the log odds, here log(3.25 / 1.25):

    >>> first, second = strengths(np.array([[0, 3], [1, 0]]))
    >>> bool(abs(first - second - np.log(3.25 / 1.25)) < 1e-9), bool(abs(first + second) < 1e-9)
    (True, True)
    """
    size = wins.shape[-1]
    wins = np.where(np.eye(size, dtype=bool), 0.0, wins + PRIOR / 2)
    if not (wins >= 0).all():
        raise InputError("counts of wins are numbers of at least 0")
    games = wins + wins.swapaxes(-1, -2)
    log_strengths = np.zeros(wins.shape[:-1])
    for _ in range(MOST_STEPS):
        ahead = expit(log_strengths[..., :, None] - log_strengths[..., None, :])
        behind = ahead.swapaxes(-1, -2)
        lost = wins * behind  # a difference from games * ahead would cancel out for a system that nearly always wins
        gradient = (lost - lost.swapaxes(-1, -2)).sum(axis=-1)
        curvature = games * ahead * behind
        sums = curvature.sum(axis=-1)
        # strengths are defined up to a constant; filling that direction makes the matrix regular and keeps their mean
        laplacian = sums[..., None] * np.eye(size) - curvature + sums.mean(axis=-1)[..., None, None] / size
        step = np.linalg.solve(laplacian, gradient[..., None])[..., 0]
        spread = np.ptp(step, axis=-1, keepdims=True)
        log_strengths += step * np.divide(np.log1p(spread), spread, out=np.ones_like(spread), where=spread > 0)
        if spread.size == 0 or spread.max() < TOLERANCE:
            return log_strengths - log_strengths.mean(axis=-1, keepdims=True)
    raise InputError("no finite strengths found: a system almost never loses")


def rank(
    probabilities: np.ndarray,
    groups: Sequence[str] | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Ranking:
    """Rank systems by Bradley-Terry strengths, computed from the sums of their chances of winning.

    probabilities    float64 (S, S, N): [i, j, n] is the chance that i's output for segment n is better than j's; NaN where
                     it was not scored; the diagonal is ignored
    groups           N document ids: whole documents are resampled, since their segments are alike; None: resample segments

    If all pairs have the same number of segments, strengths and win shares order the systems alike.

    Units are drawn with replacement, as many as there are, and the strengths are recomputed (Efron 1979), so the chances of
    one pair need not be independent games. System i is significantly stronger than j if the one-sided p-value of
    p_not_better, which counts resamples where i is not stronger, is at most 1 - confidence. Ranks are the clusters that
    result from these tests (significance.ranks).

    Three segments, won with chances of .9, .9 and .6: 2.4 wins to .6, a share of .8.

    >>> chances = np.full((2, 2, 3), 0.5)
    >>> chances[0, 1], chances[1, 0] = [0.9, 0.9, 0.6], [0.1, 0.1, 0.4]
    >>> ranking = rank(chances)
    >>> ranking.win_shares.round(9).tolist(), ranking.ranks
    ([0.8, 0.2], [1, 2])
    """
    size = len(probabilities)
    if size < 2:
        raise InputError("a ranking needs at least 2 systems")
    chances = np.array(probabilities, dtype=np.float64)
    if chances.ndim != 3 or chances.shape[1] != size:
        raise InputError(f"chances are an array [systems, systems, segments], but this one has shape {chances.shape}")
    if groups is not None and len(groups) != chances.shape[2]:
        raise InputError(f"there are {len(groups)} document ids for {chances.shape[2]} segments")
    chances[np.arange(size), np.arange(size)] = np.nan
    scored = np.flatnonzero(~np.isnan(chances).all(axis=(0, 1)))
    chances = chances[..., scored]
    games = (~np.isnan(chances)).sum(axis=-1)
    if lacking := np.flatnonzero(games.sum(axis=1) == 0).tolist():
        raise InputError(f"system {lacking[0] + 1}: none of its segments is scored", fix="leave it out")
    segments = len(scored)
    units = of_segments = np.where(np.isnan(chances), 0.0, chances).reshape(size * size, segments).T
    if groups is not None:
        kept = [groups[segment] for segment in scored]
        numbers = {group: number for number, group in enumerate(dict.fromkeys(kept))}
        places = ([numbers[group] for group in kept], range(segments))
        units = csr_matrix((np.ones(segments), places), shape=(len(numbers), segments)) @ of_segments
    wins = of_segments.sum(axis=0).reshape(size, size)
    whole = strengths(wins)
    intervals, p_values = np.full((size, 2), np.nan), np.full((size, size), np.nan)
    if len(units) > 1:  # with a single unit, all resamples are equal
        drawn = strengths(resampled_sums(units, resamples, seed=seed).reshape(-1, size, size))
        intervals = np.array([interval(replicates, confidence) for replicates in drawn.T])
        for i, j in permutations(range(size), 2):  # the strengths of equal systems may differ by rounding
            p_values[i, j] = p_not_better(np.round(drawn[:, i] - drawn[:, j], 9), np.zeros(resamples))
    with np.errstate(invalid="ignore"):
        win_matrix = np.where(games > 0, wins / games, np.nan)
    return Ranking(
        whole,
        intervals,
        wins.sum(axis=1) / games.sum(axis=1),
        win_matrix,
        p_values,
        ranks(whole, lambda i, j: _significant(p_values[i, j], confidence)),
        segments,
        len(units),
        "segments" if groups is None else "documents",
        resamples,
        confidence,
    )


def _significant(p: float, confidence: float) -> bool:
    return bool(p <= 1 - confidence + 1e-12)  # 1 - .9 is slightly less than .1
