"""How well values agree with people on data that is not learned from."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from ...errors import InputError
from ...meta.judgements.options import ALL, DataOptions
from ...meta.measures.correlation import pearson
from ...meta.measures.taus import preferences_from_scores, tau
from ...notices import notice
from .data import (
    PARTNERS,
    Judgement,
    JudgementSet,
    averaged,
    check_inputs,
    partners_of,
    read_judgements,
    read_of,
    rows_by,
    say_left_out,
    usable,
)

METRICS = ("pearson", "darr")


class _Part(NamedTuple):
    """One data set: which distinct row each output is, int64 (n,), what people say of it, float64 (n,), and preferences,
    int64 (P, 3), rows (0, better, worse) of positions in these."""

    name: str
    rows: np.ndarray
    scores: np.ndarray
    preferences: np.ndarray


@dataclass(frozen=True, eq=False)
class DevelopmentSet:
    """m distinct pairs of texts to score, and how the values are compared with people's.

    hypotheses, references, sources    m texts each, as in TrainingSet
    metric                  pearson or darr
    counts                  {path: {"rows": all that were read, "kept": those used, "without a score": ..., ...}}; rows of an
                            output are averaged, so "kept" may be more than the outputs that are compared
    """

    hypotheses: list[str]
    references: list[str | None]
    sources: list[str | None]
    metric: str
    counts: dict[str, dict[str, int]]
    parts: list[_Part]

    @property
    def partners(self) -> list[str]:
        """The reference of each output, or its source where there is none."""
        return partners_of(self.references, self.sources)

    def scores(self, values: np.ndarray) -> dict[str, float]:
        """The agreement by data set, from -1 to 1: Pearson's r of values and scores, or the DARR tau of the pairs.

        values    float (m,), one for each hypothesis

        Pearson's r is 0 where a set's values are all alike: they tell nothing. (A tau is -1 then, as a tie counts
        against.) Raises InputError if a value is no finite number.
        """
        values = np.asarray(values, np.float64)
        if values.shape != (len(self.hypotheses),):
            raise ValueError(f"values of shape {values.shape} for {len(self.hypotheses)} rows")
        if broken := int((~np.isfinite(values)).sum()):
            raise InputError(
                f"{broken} of {len(values)} development values are not finite numbers; lower the learning rate"
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
        """What k values of an output weigh in the sum that agrees best with people: float64 (k,), hundredths of 1.

        values    float (m, k), all on one scale

        The least squares of people's scores, standardised in each set, by weights of at least 0, which Pearson's r does not
        see the size of; each set counts alike. All the same where no weight is above 0.
        """
        centred = [(values[part.rows] - values[part.rows].mean(0)) / len(part.rows) ** 0.5 for part in self.parts]
        wanted = [(part.scores - part.scores.mean()) / part.scores.std() / len(part.rows) ** 0.5 for part in self.parts]
        weights, _ = nnls(np.concatenate(centred), np.concatenate(wanted))
        total = weights.sum()
        k = values.shape[1]
        # the parts that rounding leaves out go to the largest
        hundredths = np.floor(100 * (weights / total if total > 0 else np.full(k, 1 / k)) + 1e-9)
        hundredths[weights.argmax()] += 100 - hundredths.sum()
        return hundredths / 100

    def score(self, values: np.ndarray) -> float:
        """The mean of `scores` over data sets, from -1 to 1."""
        return float(np.mean(list(self.scores(values).values())))


def read_development(
    paths: Sequence[str],
    metric: str = "pearson",
    inputs: str = "mt+ref",
    threshold: float = 0.0,
    options: DataOptions = ALL,
) -> DevelopmentSet:
    """The outputs of files and folders with people's scores; a notice for each path names what was left out.

    metric       pearson: the mean over data sets of Pearson's r of all outputs; darr: of WMT's Kendall-like tau over pairs
                 of better and worse outputs, (C - D - T) / (C + D + T) as in meta.measures.taus
    threshold    of darr: the least difference in score that makes two outputs of a segment a pair, 25 raw points in WMT;
                 0: any difference. A file of preferences has its own pairs
    inputs, options    as in examples.read_training_set

    An output's judgements are averaged. Human systems, and rows without a score, output or partner are kept out.

    Raises InputError as data.read_judgements does, for sets whose scores are all alike or that hold no pairs, and for
    preferences where metric is pearson.
    """
    if metric not in METRICS:
        raise InputError(f"development metric {metric!r} is none of {', '.join(METRICS)}")
    if inputs not in PARTNERS:
        raise InputError(f"inputs {inputs!r} are none of {', '.join(PARTNERS)}")
    distinct: dict[tuple[str, str | None, str | None], int] = {}
    parts = []
    counts: dict[str, Counter] = {}
    for of_set in read_judgements(paths, options):
        if metric == "pearson" and of_set.preferences:
            raise InputError(f"{of_set.name}: preferences have no scores to correlate with; choose darr")
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
                f"{of_set.name}: no two usable outputs of a segment differ in score enough; choose pearson"
            )
        if metric == "pearson" and (len(scores) < 2 or scores.min() == scores.max() or len(set(index.tolist())) < 2):
            raise InputError(
                f"{of_set.name}: fewer than two usable outputs, or all scores are equal, so there is no correlation"
            )
    if not parts:
        raise InputError("no development files")
    for path, count in counts.items():
        if said := say_left_out(Counter({why: n for why, n in count.items() if why not in ("rows", "kept")})):
            notice(f"{path}: {count['kept']} rows for development; {said}")
    hypotheses, references, sources = map(list, zip(*distinct, strict=True))
    return DevelopmentSet(
        hypotheses, references, sources, metric, {path: dict(count) for path, count in counts.items()}, parts
    )


def _pairs(of_set: JudgementSet, rows: Sequence[Judgement], scores: np.ndarray, threshold: float) -> np.ndarray:
    """Preferences among the outputs of each segment: int64 (P, 3), rows (0, better, worse), positions in `rows`."""
    least = 0.0 if of_set.preferences else threshold
    rows_of_pairs = [np.zeros((0, 3), np.int64)]
    for own in map(np.array, rows_by(row.segment for row in rows).values()):
        pairs = preferences_from_scores(scores[own, None], least)
        rows_of_pairs.append(np.column_stack([pairs[:, 0], own[pairs[:, 1]], own[pairs[:, 2]]]))
    return np.concatenate(rows_of_pairs)
