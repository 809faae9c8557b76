"""Comparison of systems: confidence intervals, tests between all pairs with a correction for their number, and ranks."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric
from sacrebleu.significance import estimate_ci

from .base import ContextMetric
from .context import capabilities
from .names import name_in_files, written_name
from .scores import Scores, score_of_sums
from .testing import ALPHA, BOOTSTRAP, USUAL, Design, SystemTests, has_all_swaps

AT_ONCE = 40  # resamples processed at a time, to limit memory
CELLS = 2**22  # units times trials processed at a time, to limit memory
Scorer = Callable[[np.ndarray], np.ndarray]


class Comparison(NamedTuple):
    """The comparison of S systems by one metric.

    means, margins    float64 [S]: means of the scores in resamples, and half the width of their 95 % intervals
    differences       float64 [S, S, 2]: 95 % bootstrap interval of a row's score minus a column's
    p_values          float64 [S, S], symmetric: two-sided, for the hypothesis that two systems do not differ; NaN on the
                      diagonal, and for a system whose score is NaN
    adjusted          p_values corrected for the number of pairs (Holm 1979); with --no-holm the same as p_values
    ranks             from 1; 0 if the score is NaN. No system is significantly better than another one of its rank
    alpha             significance level: a difference is significant if its adjusted p-value is below it
    """

    means: np.ndarray
    margins: np.ndarray
    differences: np.ndarray
    p_values: np.ndarray
    adjusted: np.ndarray
    ranks: list[int]
    alpha: float = ALPHA

    def differ(self, i: int, j: int) -> bool:
        return bool(self.adjusted[i, j] < self.alpha)


def compare(
    score: Scorer,
    rows: Sequence[Any],
    scores: Sequence[float],
    ranges: Sequence[tuple[int, int]] | None = None,
    *,
    sign: int = 1,
    testing: SystemTests = USUAL,
) -> Comparison | None:
    """Test all pairs of systems as sacrebleu's paired tests compare each system with the baseline.

    Returns None for fewer than two segments (or documents, if `ranges` are given).

    With D the difference between two systems' scores, and d_k the difference in trial k of K,
    p = (1 + #{k: s_k >= |D|}) / (1 + K):

    bootstrap        the same segments are drawn for all systems, and s = |d| - mean |d| (Koehn 2004). For two systems that
                     do not differ, it finds p < .05 in about 12 of 100 cases instead of 5
    randomization    for each segment, the outputs of the two systems are swapped or not, at random, and s = |d| (Riezler
                     and Maxwell 2005). It keeps its level. If there are at most K ways to swap, each is taken once, and
                     the test is exact: p = #{k: s_k >= |D|} / 2^U for U segments or documents

    sacrebleu counts only s_k > |D|, in random trials. The result differs only if the difference in a trial exactly equals
    that of the systems. With few documents, this happens: 3 documents can be swapped in 8 ways, 2 of which give the systems
    themselves, so no p is below .25, while sacrebleu finds .0001.

    score      maps sums of rows to scores: float64 [n, statistics] to [n]
    rows       for each system, the additive statistics of its segments: array-like [segments, statistics]
    scores     for each system, its corpus score
    ranges     of the documents that are drawn or swapped whole; None draws or swaps segments
    sign       -1 if lower scores are better
    testing    the test, its trials and the correction; its unit is ignored, because `ranges` determines it

    >>> from sacrebleu.metrics import BLEU
    >>> from ctx_metrics.scoring.scores import rows_of
    >>> references, good, bad = ["It rains today."] * 9, ["It rains today."] * 9, ["Snow fell there."] * 9
    >>> bleu = BLEU(references=[references])
    >>> rows = [rows_of(bleu, system) for system in (good, bad)]
    >>> found = compare(scorer(bleu), rows, [100.0, 0.0], testing=SystemTests(samples=99))
    >>> found.ranks, round(float(found.p_values[0, 1]), 2)
    ([1, 2], 0.01)
    """
    tables = [np.asarray(of_system, np.float64) for of_system in rows]
    if ranges is not None:
        starts = [start for start, _ in ranges]
        tables = [np.add.reduceat(table, starts, axis=0) for table in tables]
    if len(tables[0]) < 2:
        return None
    draws = _draws(len(tables[0]), testing.resamples, testing.seed)
    resampled = np.concatenate([[score(counts @ table) for table in tables] for counts in draws], axis=1)
    known = [of_system[~np.isnan(of_system)] for of_system in resampled]
    means, margins = np.transpose([estimate_ci(own) if len(own) else (np.nan, np.nan) for own in known])
    differences = np.full((len(tables), len(tables), 2), np.nan)
    pairs = [(i, j) for i in range(len(tables)) for j in range(i) if not np.isnan([scores[i], scores[j]]).any()]
    for i, j in pairs:
        apart = resampled[i] - resampled[j]
        differences[i, j] = np.nanpercentile(apart, [2.5, 97.5])
        differences[j, i] = 0.0 - differences[i, j, ::-1]  # no -0.0
    gaps = [abs(scores[i] - scores[j]) for i, j in pairs]
    found = (
        (1 + _bootstrapped(resampled, pairs, gaps)) / (1 + testing.trials)
        if testing.test == BOOTSTRAP
        else randomized(score, tables, pairs, gaps, testing.trials, testing.seed)
    )
    corrected = found if testing.no_holm else corrected_by_holm(found)
    p_values, adjusted = (np.full((len(tables), len(tables)), np.nan) for _ in range(2))
    for (i, j), p, after in zip(pairs, found, corrected, strict=True):
        p_values[i, j] = p_values[j, i] = p
        adjusted[i, j] = adjusted[j, i] = after
    order = ranks(sign * np.asarray(scores), lambda i, j: bool(adjusted[i, j] < testing.alpha))
    return Comparison(means, margins, differences, p_values, adjusted, order, testing.alpha)


def scorer(metric: Metric) -> Scorer:
    """Return a function from sums of a metric's rows to scores: float64 [n, statistics] to [n]."""
    if isinstance(metric, ContextMetric) and metric.is_mean:
        return weighted_mean
    return lambda rows: np.array([score_of_sums(metric, row).score for row in rows])


def weighted_mean(rows: np.ndarray) -> np.ndarray:
    """Return 100 * sum(weight * value) / sum(weight) for rows [n, 2] of these two sums; NaN where nothing was scored.

    >>> weighted_mean(np.array([[1.0, 2.0], [0.0, 0.0]])).tolist()
    [50.0, nan]
    """
    with np.errstate(invalid="ignore"):
        return np.where(rows[:, 1] > 0, 100 * rows[:, 0] / np.where(rows[:, 1] > 0, rows[:, 1], 1), np.nan)


def corrected_by_holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the p-values of m tests, corrected so that the probability of any false positive is at most the level.

    The k-th smallest, from 1, is multiplied by m - k + 1, raised to at least the one before it, and capped at 1 (Holm
    1979).

    >>> corrected_by_holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(p_values, np.float64)
    order = np.argsort(given, kind="stable")
    scaled = given[order] * np.arange(len(given), 0, -1)
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(1, np.maximum.accumulate(scaled))
    return corrected


def _bootstrapped(resampled: np.ndarray, pairs: Sequence[tuple[int, int]], gaps: Sequence[float]) -> np.ndarray:
    """Count, for each pair, the resamples in which its difference exceeds the mean difference by at least its gap."""
    larger = []
    for (i, j), gap in zip(pairs, gaps, strict=True):
        apart = np.abs(resampled[i] - resampled[j])
        apart = apart[~np.isnan(apart)]
        larger.append(int(_as_large(apart - apart.mean(), gap).sum()) if len(apart) else 0)
    return np.array(larger, np.int64)


def randomized(
    score: Scorer,
    tables: Sequence[np.ndarray],
    pairs: Sequence[tuple[int, int]],
    gaps: Sequence[float],
    trials: int,
    seed: int,
) -> np.ndarray:
    """Return, for each pair of systems, the p-value of the randomization test, float64 [pairs]; see compare.

    tables    for each system, the additive statistics of the units that are swapped: float64 [units, statistics]
    gaps      for each pair, the absolute difference between the systems' scores
    """
    units = len(tables[0])
    totals, larger = [table.sum(0) for table in tables], np.zeros(len(pairs), np.int64)
    exact = has_all_swaps(units, trials)
    for chosen in _all_swaps(units) if exact else _random_swaps(units, trials, seed):
        kept = [chosen @ table for table in tables]
        for k, ((i, j), gap) in enumerate(zip(pairs, gaps, strict=True)):
            first, second = (score(kept[a] + totals[b] - kept[b]) for a, b in ((i, j), (j, i)))
            larger[k] += int(_as_large(np.abs(first - second), gap).sum())
    return larger / 2**units if exact else (1 + larger) / (1 + trials)


def _random_swaps(units: int, trials: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the units that each trial keeps, as 0 or 1: float64 [some of the trials, units]."""
    generator, step = np.random.default_rng(seed), _at_once(units)
    for begin in range(0, trials, step):
        yield generator.integers(2, size=(min(step, trials - begin), units), dtype=bool).astype(np.float64)


def _all_swaps(units: int) -> Iterator[np.ndarray]:
    """Yield the same for each of the 2^units ways to swap: float64 [some of the ways, units]."""
    step = _at_once(units)
    for begin in range(0, 2**units, step):
        ways = np.arange(begin, min(begin + step, 2**units))
        yield (ways[:, None] >> np.arange(units) & 1).astype(np.float64)


def _at_once(units: int) -> int:
    """Return a number of trials that fits the memory: a multiple of 32, so that the draws equal sacrebleu's single draw."""
    return max(32, CELLS // units // 32 * 32)


def _as_large(values: np.ndarray, gap: float) -> np.ndarray:
    """Return which values are at least `gap`, allowing for rounding errors."""
    return values >= gap - 1e-9 * (1 + gap)


def _draws(units: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each unit is drawn, float64 [up to AT_ONCE resamples, units]; the draws are sacrebleu's."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, AT_ONCE):
        drawn = generator.choice(units, size=(min(AT_ONCE, resamples - start), units), replace=True)
        places = drawn + np.arange(len(drawn))[:, None] * units
        yield np.bincount(places.ravel(), minlength=places.size).reshape(places.shape).astype(np.float64)


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


def heading(title: str, sign: int) -> str:
    """A metric's title in a table, with an arrow if lower is better.

    >>> heading("BLEU", 1), heading("TER", -1)
    ('BLEU', 'TER ↓')
    """
    return title if sign > 0 else f"{title} ↓"


@dataclass(frozen=True)
class Column:
    """One metric's scores of each system, and the comparison of the systems by it.

    signature     "" if unknown
    metric        None for scores that were read from files
    sign          1 if higher scores are better, -1 if lower ones are
    comparison    None for fewer than two segments (or documents, if those are resampled), which cannot be tested
    """

    name: str
    signature: str
    scores: Sequence[Scores]
    sign: int
    comparison: Comparison | None
    metric: Metric | None = None

    @classmethod
    def of(cls, name: str, metric: Metric, scores: Sequence[Scores], design: Design) -> "Column":
        sign = 1 if capabilities(metric).higher_is_better else -1
        rows, of_systems = [each.rows for each in scores], [each.system for each in scores]
        comparison = compare(scorer(metric), rows, of_systems, design.ranges, sign=sign, testing=design.testing)
        return cls(name, str(metric.get_signature().format()), scores, sign, comparison, metric)

    @property
    def written_name(self) -> str:
        """The name in tables for programs."""
        if self.metric is None:
            return written_name(self.name, self.signature)
        return name_in_files(self.name, self.metric, self.signature)

    @property
    def title(self) -> str:
        return self.scores[0].title

    @property
    def heading(self) -> str:
        """The title in a table, with an arrow if lower is better."""
        return heading(self.title, self.sign)

    @property
    def best(self) -> int:
        """The number of the system with the best score, from 0."""
        return self.order[0]

    @property
    def order(self) -> list[int]:
        """The systems' numbers, best first; ties keep the given order, and systems without a score come last."""
        scores = [each.system for each in self.scores]
        return sorted(range(len(scores)), key=lambda s: (math.isnan(scores[s]), -self.sign * scores[s]))
