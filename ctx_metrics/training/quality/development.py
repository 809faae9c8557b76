"""Measures how well a model's values agree with human judgements on development data."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from ...errors import InputError
from ...judgements.measures.correlation import pearson
from ...judgements.measures.taus import preferences_from_scores, tau
from ...notices import notice
from ..data import left_out
from .judgements import (
    Judgement,
    JudgementSet,
    averaged,
    check_inputs,
    partners_of,
    read_judgements,
    read_of,
    rows_by,
    scores_of,
    usable,
)
from .options import ALL, TrainingOptions


class _Part(NamedTuple):
    """One data set of n outputs.

    rows           int64 (n,), the index of each output's distinct pair of texts in the DevelopmentSet
    scores         float64 (n,), the human score of each output
    preferences    int64 (P, 3), rows (0, better, worse) of indices into `rows` and `scores`
    """

    name: str
    rows: np.ndarray
    scores: np.ndarray
    preferences: np.ndarray


@dataclass(frozen=True, eq=False)
class DevelopmentSet:
    """m distinct pairs of texts to score, and the human judgements to compare the values with.

    hypotheses, references, sources    m texts each, as in TrainingSet
    counts                  {path: {"rows": rows read, "kept": rows used, "without a score": ..., ...}}; rows of the same
                            output are averaged, so "kept" may exceed the number of outputs compared
    origins                 {path: which scores of the data they are}, where there was a choice
    """

    hypotheses: list[str]
    references: list[str | None]
    sources: list[str | None]
    metric: str
    counts: dict[str, dict[str, int]]
    parts: list[_Part]
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def partners(self) -> list[str]:
        return partners_of(self.references, self.sources)

    @property
    def datasets(self) -> list[str]:
        """The first data set of each pair of texts."""
        of_rows = {row: part.name for part in reversed(self.parts) for row in part.rows.tolist()}
        return [of_rows[row] for row in range(len(self.hypotheses))]

    def scores(self, values: np.ndarray) -> dict[str, float]:
        """Return the agreement for each data set, from -1 to 1: Pearson's r of values and scores, or the DARR tau of pairs.

        values    float (m,), one for each hypothesis

        If all values of a set are equal, Pearson's r is 0, and tau is -1, as a tie counts as wrong.
        """
        if broken := int((~np.isfinite(values)).sum()):
            raise InputError(
                f"{broken} of {len(values)} development values are not finite numbers", fix="lower the learning rate"
            )
        agreement = {}
        for part in self.parts:
            own = values[part.rows]
            if self.metric == "darr":
                agreement[part.name] = tau(part.preferences, own[:, None], "darr")
            else:
                agreement[part.name] = float(np.nan_to_num(pearson(part.scores, own)))
        return agreement

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Return the weights of k values of an output in the sum that agrees best with people: float64 (k,).

        values    float (m, k), all on one scale

        The weights are a non-negative least-squares fit to the human scores, standardised in each set; all sets have the
        same influence. They are normalised to a sum of 1, which does not change Pearson's r, and rounded to hundredths. If
        no weight is above 0, all are equal.
        """
        centred = [(values[part.rows] - values[part.rows].mean(0)) / len(part.rows) ** 0.5 for part in self.parts]
        wanted = [(part.scores - part.scores.mean()) / part.scores.std() / len(part.rows) ** 0.5 for part in self.parts]
        weights, _ = nnls(np.concatenate(centred), np.concatenate(wanted))
        total = weights.sum()
        k = values.shape[1]
        # the largest weight gets what rounding removed
        hundredths = np.floor(100 * (weights / total if total > 0 else np.full(k, 1 / k)) + 1e-9)
        hundredths[weights.argmax()] += 100 - hundredths.sum()
        return hundredths / 100

    def score(self, values: np.ndarray) -> float:
        """Return the mean of `scores` over data sets, from -1 to 1."""
        return float(np.mean(list(self.scores(values).values())))


def read_development(
    paths: Sequence[str],
    metric: str = "pearson",
    inputs: str = "mt+ref",
    threshold: float = 0.0,
    options: TrainingOptions = ALL,
) -> DevelopmentSet:
    """Read outputs with human scores from files and folders; a notice for each path counts the rows left out.

    An output's judgements are averaged. Human systems, and rows without a score, output or partner, are left out. For
    darr, two outputs of a segment form a pair if their scores differ by at least `threshold`; 0 means any difference. Files
    of preferences contain their own pairs.
    """
    distinct: dict[tuple[str, str | None, str | None], int] = {}
    parts = []
    counts: dict[str, Counter] = {}
    sets = read_judgements(paths, options)
    for of_set in sets:
        if metric == "pearson" and of_set.preferences:
            raise InputError(f"{of_set.name}: preferences have no scores to correlate with", fix="choose darr")
        check_inputs(of_set, inputs)
        kept, left = usable(of_set.rows, inputs)
        count = counts.setdefault(of_set.path, Counter(rows=0, kept=0))
        count.update({"rows": len(of_set.rows), "kept": len(kept), **left})
        rows, scores = averaged(kept, np.array([row.score for row in kept]))
        texts = [(row.hypothesis, *read_of(row, inputs)) for row in rows]
        index = np.array([distinct.setdefault(each, len(distinct)) for each in texts], np.int64)
        preferences = _pairs(of_set, rows, scores, threshold) if metric == "darr" else np.zeros((0, 3), np.int64)
        parts.append(_Part(of_set.name, index, scores, preferences))
        if metric == "darr" and not len(preferences):
            raise InputError(
                f"{of_set.name}: no two usable outputs of a segment differ in score enough", fix="choose pearson"
            )
        if metric == "pearson" and (len(scores) < 2 or scores.min() == scores.max() or len(set(index.tolist())) < 2):
            raise InputError(
                f"{of_set.name}: fewer than two usable outputs, or all scores are equal, so there is no correlation"
            )
    if not parts:
        raise InputError("no development files")
    origins = scores_of(sets)
    for path, count in counts.items():
        scored = f"scored by {origins[path]}" if path in origins else ""
        if said := [each for each in (scored, left_out(count, "row", "rows")) if each]:
            notice("; ".join([f"{path}: {count['kept']} rows for development", *said]))
    hypotheses, references, sources = map(list, zip(*distinct, strict=True))
    return DevelopmentSet(
        hypotheses, references, sources, metric, {path: dict(count) for path, count in counts.items()}, parts, origins
    )


def _pairs(of_set: JudgementSet, rows: Sequence[Judgement], scores: np.ndarray, threshold: float) -> np.ndarray:
    """Return preferences among the outputs of each segment: int64 (P, 3), rows (0, better, worse) of indices in `rows`."""
    least = 0.0 if of_set.preferences else threshold
    rows_of_pairs = [np.zeros((0, 3), np.int64)]
    for own in map(np.array, rows_by(row.segment for row in rows).values()):
        pairs = preferences_from_scores(scores[own, None], least)
        rows_of_pairs.append(np.column_stack([pairs[:, 0], own[pairs[:, 1]], own[pairs[:, 2]]]))
    return np.concatenate(rows_of_pairs)
