"""How far apart systems are: intervals of their scores, tests between all pairs, and ranks, by paired bootstrap."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.significance import estimate_ci

from ..clusters import ranks

RESAMPLES, SEED, ALPHA = 1000, 12345, 0.05  # sacrebleu's
AT_ONCE = 40  # resamples, which bounds memory


class Comparison(NamedTuple):
    """S systems by one metric.

    means, margins    float64 [S]: of the scores in resamples, and half the width of their 95 % interval
    p_values          float64 [S, S], symmetric: two-sided, of no difference between two systems; NaN on the diagonal, and
                      for a system whose score is NaN
    ranks             from 1, 0 where the score is NaN; no system of a rank is significantly better than another one of it
    """

    means: np.ndarray
    margins: np.ndarray
    p_values: np.ndarray
    ranks: list[int]


def compare(
    score: Callable[[np.ndarray], float],
    rows: Sequence[Any],
    scores: Sequence[float],
    ranges: Sequence[tuple[int, int]] | None = None,
    *,
    sign: int = 1,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    alpha: float = ALPHA,
) -> Comparison | None:
    """All pairs of systems as sacrebleu's paired bootstrap compares each one with its baseline (Koehn 2004); None for fewer
    than two segments (or documents, where they are drawn).

    The same segments are drawn for all systems. With |d| the difference of two systems in a resample, D that of their scores
    and m the mean of |d|, p = (1 + number of resamples with |d| - m > |D|) / (1 + resamples).

    score     of the sum of some rows
    rows      of each system, its segments' statistics, which add up: [segments, statistics] in what NumPy takes
    scores    of each system, of all its segments
    ranges    of documents, which are drawn whole then; None: segments are
    sign      -1 where a smaller score is the better one

    >>> from sacrebleu.metrics import BLEU
    >>> references, good, bad = ["It rains today."] * 9, ["It rains today."] * 9, ["Snow fell there."] * 9
    >>> bleu = BLEU(references=[references])
    >>> rows = [bleu._extract_corpus_statistics(system, None) for system in (good, bad)]
    >>> found = compare(lambda row: bleu._compute_score_from_stats(row).score, rows, [100.0, 0.0], resamples=99)
    >>> found.ranks, round(float(found.p_values[0, 1]), 2)
    ([1, 2], 0.01)
    """
    tables = [np.asarray(of_system, np.float64) for of_system in rows]
    if ranges is not None:
        starts = [start for start, _ in ranges]
        tables = [np.add.reduceat(table, starts, axis=0) for table in tables]
    if len(tables[0]) < 2:
        return None
    resampled = np.concatenate(
        [
            [[score(row) for row in counts @ table] for table in tables]
            for counts in _draws(len(tables[0]), resamples, seed)
        ],
        axis=1,
    )
    known = [of_system[~np.isnan(of_system)] for of_system in resampled]
    means, margins = np.transpose([estimate_ci(own) if len(own) else (np.nan, np.nan) for own in known])
    p_values = np.full((len(tables), len(tables)), np.nan)
    for i in range(len(tables)):
        for j in range(i):
            if np.isnan([scores[i], scores[j]]).any():
                continue
            apart = np.abs(resampled[i] - resampled[j])
            apart = apart[~np.isnan(apart)]
            larger = int((apart - apart.mean() > abs(scores[i] - scores[j])).sum())
            p_values[i, j] = p_values[j, i] = (1 + larger) / (1 + resamples)
    return Comparison(
        means, margins, p_values, ranks(sign * np.asarray(scores), lambda i, j: bool(p_values[i, j] < alpha))
    )


def _draws(units: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """How often each unit is drawn in each resample, float64 [some resamples, units] at a time: sacrebleu's draws."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, AT_ONCE):
        drawn = generator.choice(units, size=(min(AT_ONCE, resamples - start), units), replace=True)
        places = drawn + np.arange(len(drawn))[:, None] * units
        yield np.bincount(places.ravel(), minlength=places.size).reshape(places.shape).astype(np.float64)
