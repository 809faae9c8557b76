"""The protocols for measuring agreement with human judgements, by the names for `ctx-metrics meta -p`.

A protocol reads a JudgedSet and one metric's scores of it. It returns a Measurement: the value and the number of units it
was computed from. If the value is a ratio of sums over independent units, the Measurement also contains these units, from
which a bootstrap then draws.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..judgements.judged import JudgedSet, MetricScores
from ..judgements.measures import correlation, pairwise, taus, ties
from .inference.bootstrap import ratio

CORRELATIONS = {"pearson": "Pearson's r", "spearman": "Spearman's rho", "kendall": "Kendall's tau-b"}
SPARSE = 0.5  # if the share of judged outputs is lower, tests swap only these
PER = {"none": "", "item": ", mean over {}s", "system": ", mean over systems"}  # {}: the level


@dataclass(frozen=True)
class Measurement:
    """A metric's agreement on one set. `parts` (U, C), if given, are the units that a bootstrap draws from; `value` is then
    computed from their sums (Protocol.of_sums). `size` counts the protocol's units. `details` explain the value."""

    value: float
    size: int
    parts: np.ndarray | None = None
    details: dict[str, Any] = field(default_factory=dict)


class Protocol(ABC):
    """One way to measure agreement.

    name, title   as used by `-p`, and in words
    level         system, document or segment: the scores to compare; document scores are means of segment scores
    unit          the unit that `size` counts
    overall       how to combine the values of several sets: "mean", or "pooled" (sum/sum over the units of all sets)
    test          the suitable significance test: perm-both or bootstrap; "" if there is none
    of_pairs      whether the parts belong to pairs of the judged systems, in which case a bootstrap draws systems
    average       groups of outputs over which a segment-level value is averaged: none, item or system
    fewest        fewest systems that a set must have; at level system, fewest judged systems
    of_all        whether outputs of different segments are compared, which rewards telling hard segments from easy ones
    """

    name: str
    title: str
    level: str
    unit: str
    overall = "mean"
    test = "perm-both"
    of_pairs = False
    average = "none"
    fewest = 1
    of_all = False

    def lacks(self, judged: JudgedSet) -> str:
        """The data that a set lacks for this protocol, in words; "" if the protocol applies."""
        human = judged.system_scores if self.level == "system" else judged.segment_scores
        if human is None:
            return f"no human scores of {self.level}s"
        if self.level == "system":
            return f"fewer than {self.fewest} judged systems" if (~np.isnan(human)).sum() < self.fewest else ""
        if len(judged.systems) < self.fewest:
            return "only one system" if self.fewest == 2 else f"fewer than {self.fewest} systems"
        return ""

    def human(self, judged: JudgedSet) -> np.ndarray:
        """The human scores at this level: float64 (S,) of systems, (S, N) of segments, (S, D) of documents."""
        return judged.human_systems if self.level == "system" else judged.human_segments

    @abstractmethod
    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        """Measure the agreement of a metric's scores, as from scores_of, with the set's judgements."""

    def within(self, judged: JudgedSet, scores: np.ndarray) -> float:
        """For a correlation over all outputs, its mean within segments (documents); NaN for other protocols."""
        return float("nan")

    def statistic(self, judged: JudgedSet) -> Callable[[np.ndarray], float]:
        """The value as a function of the scores selected by `cells`, for tests that compute it many times."""
        return lambda scores: self.measure(judged, scores).value

    def cells(self, judged: JudgedSet) -> np.ndarray | None:
        """The scores that tests swap, bool of the scores' shape, if only few outputs were judged; None: all."""
        return None

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        """The values for sums of parts, (...,) from (..., C): the first sum divided by the second."""
        return ratio(sums)

    def resampled(self, judged: JudgedSet, scores: np.ndarray, drawn: np.ndarray) -> float:
        """The value on resampled systems (at level system) or segments; needed for measurements without parts."""
        raise NotImplementedError(f"{self.name} has parts to draw from")

    def credits(self, judged: JudgedSet, scores: np.ndarray) -> np.ndarray:
        """Whether the metric is right on each pair, for the permutation test: int8 (N, S(S-1)/2), -1 for no pair."""
        raise NotImplementedError(f"{self.name} makes no decisions on pairs")

    def lacking(self, sets: Sequence[JudgedSet]) -> dict[str, str]:
        """The data that each set of an evaluation lacks, by set name."""
        return {judged.name: self.lacks(judged) for judged in sets}

    def overall_value(self, measured: Sequence[Measurement]) -> float:
        if self.overall == "mean":
            return float(np.mean([each.value for each in measured]))
        return float(ratio(np.sum([each.parts.sum(axis=0) for each in measured if each.parts is not None], axis=0)))

    def scores_of(self, metric: MetricScores, judged: JudgedSet) -> np.ndarray | None:
        """The scores that this protocol reads, in the shape of `human`; None if the metric has none at its level."""
        return metric.system_scores if self.level == "system" else metric.segment_scores


class SystemCorrelation(Protocol):
    """Correlation of system scores. Without outliers: leaves out systems whose human scores are far from the rest
    (|h - median| / (1.4826 MAD) > 2.5; Mathur et al. 2020, Tangled up in BLEU)."""

    level, unit, fewest = "system", "systems", 3

    def __init__(self, kind: str, outliers: bool = True):
        self.name = f"sys-{kind}" + ("" if outliers else "-no-outliers")
        self.title = f"system-level {CORRELATIONS[kind]}" + ("" if outliers else " without outliers")
        self._kind, self._outliers = kind, outliers

    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        human = self._human(judged)
        left_out = np.flatnonzero(correlation.mad_outliers(judged.human_systems))
        details = {} if self._outliers else {"outliers": [judged.systems[i] for i in left_out]}
        return Measurement(self._correlate(human, scores), _scored(human, scores), details=details)

    def resampled(self, judged: JudgedSet, scores: np.ndarray, drawn: np.ndarray) -> float:
        return self._correlate(self._human(judged)[drawn], scores[drawn])

    def _correlate(self, human: np.ndarray, scores: np.ndarray) -> float:
        return float(correlation.group_coefficients(human, scores, self._kind, "none")[0])

    def _human(self, judged: JudgedSet) -> np.ndarray:
        human = judged.human_systems
        return human if self._outliers else np.where(correlation.mad_outliers(human), np.nan, human)


class SystemAccuracy(Protocol):
    """Share of system pairs that a metric orders as people do, over the pairs of all sets (Kocmi et al. 2021).

    Intervals resample systems, since pairs that share a system are not independent. In simulations with 14 systems, 95 %
    intervals from resampled pairs contained the true accuracy in 76 to 79 % of cases, and these in 96 to 97 %.
    """

    name, title = "sys-acc", "system-level pairwise accuracy"
    level, unit, overall, of_pairs, fewest = "system", "system pairs", "pooled", True, 2

    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        known = ~np.isnan(judged.human_systems)
        agreements = pairwise.pair_agreements(judged.human_systems[known], scores[known])
        return _mean(agreements, details={"agreeing": int(np.nansum(agreements))})


class SoftPairwiseAccuracy(Protocol):
    """Soft pairwise accuracy of systems, based on p-values of segment scores (Thompson et al. 2024).

    Intervals resample systems, as for sys-acc. Resampling segments would lower the accuracy, since p-values become more
    extreme when segments are drawn with replacement.
    """

    name, title = "spa", "soft pairwise accuracy of systems"
    level, unit, of_pairs, fewest = "segment", "system pairs", True, 2

    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        known = ~np.isnan(judged.human_segments).all(axis=1)
        return _mean(pairwise.SoftPairwise(judged.human_segments[known]).agreements(scores[known]))

    def statistic(self, judged: JudgedSet) -> Callable[[np.ndarray], float]:
        return pairwise.SoftPairwise(judged.human_segments).accuracy


class SegmentCorrelation(Protocol):
    """Correlation of segment scores: over all outputs, or the mean over segments or systems.

    The test is a bootstrap of segments, which keeps the outputs for a segment together. Metrics often err in the same way on
    all outputs for a segment, for example a hard one. PERM-BOTH swaps single outputs and then finds differences too easily:
    in simulations with 14 systems, 16 to 23 % of equally good metrics had p < .05 by PERM-BOTH, and 5 to 6 % by the
    bootstrap. Without such errors, both had 4 to 6 %.
    """

    level, unit, test = "segment", "outputs", "bootstrap"

    def __init__(self, kind: str, average: str = "none"):
        self.name = f"{self.level[:3]}-{kind}"
        self.title = f"{self.level}-level {CORRELATIONS[kind]}{PER[average].format(self.level)}"
        self._kind, self.average, self.fewest = kind, average, 3 if average == "item" else 1
        self.of_all = average != "item"

    def within(self, judged: JudgedSet, scores: np.ndarray) -> float:
        return self._mean(self.human(judged), scores, "item") if self.average == "none" else float("nan")

    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        human = self.human(judged)
        coefficients = correlation.group_coefficients(human, scores, self._kind, self.average)
        if self.average == "none":
            parts = correlation.moments(human, scores) if self._kind == "pearson" else None
            return Measurement(float(coefficients[0]), _scored(human, scores), parts)
        undefined = {"undefined groups": int(np.isnan(coefficients).sum())}
        measured = _mean(coefficients, _scored(human, scores), undefined)
        return measured if self.average == "item" else replace(measured, parts=None)

    def statistic(self, judged: JudgedSet) -> Callable[[np.ndarray], float]:
        cells = self.cells(judged)
        human = self.human(judged) if cells is None else self.human(judged)[cells][None]
        return lambda scores: self._mean(human, scores if cells is None else scores[None])

    def cells(self, judged: JudgedSet) -> np.ndarray | None:
        known = ~np.isnan(self.human(judged))
        return known if self.average == "none" and known.mean() < SPARSE else None

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        return correlation.of_moments(sums) if self._kind == "pearson" and self.average == "none" else ratio(sums)

    def resampled(self, judged: JudgedSet, scores: np.ndarray, drawn: np.ndarray) -> float:
        return self._mean(self.human(judged)[:, drawn], scores[:, drawn])

    def _mean(self, human: np.ndarray, scores: np.ndarray, average: str = "") -> float:
        coefficients = correlation.group_coefficients(human, scores, self._kind, average or self.average)
        coefficients = coefficients[~np.isnan(coefficients)]
        return float(coefficients.mean()) if coefficients.size else float("nan")


class DocumentCorrelation(SegmentCorrelation):
    """Correlation of document scores: the mean of an output's human scores against the mean of the metric's scores over the
    same segments. A document is a run of equal ids. Metrics that read documents, such as slide, enter with their segment
    scores.
    """

    level, unit = "document", "documents"

    def lacks(self, judged: JudgedSet) -> str:
        return super().lacks(judged) or ("no document ids" if judged.doc_ids is None else "")

    def human(self, judged: JudgedSet) -> np.ndarray:
        return correlation.document_means(judged.human_segments, judged.doc_ids or ())

    def scores_of(self, metric: MetricScores, judged: JudgedSet) -> np.ndarray | None:
        if metric.segment_scores is None:
            return None
        known = np.where(np.isnan(judged.human_segments), np.nan, metric.segment_scores)
        return correlation.document_means(known, judged.doc_ids or ())


class TieAccuracy(Protocol):
    """Pairwise accuracy of outputs with calibrated ties of the metric (Deutsch et al. 2023): acc_eq, or the same as a tau,
    tau_23 = 2 acc_eq - 1.

    The test is a bootstrap of whole groups. The permutation test that WMT uses with it treats pairwise decisions as
    independent, and finds differences too easily with many systems (meta/inference/significance.py).
    """

    level, unit = "segment", "output pairs"

    def __init__(self, name: str, average: str = "item"):
        self.name, self._tau, self.average = name, name == "tau-23", average
        words = name.replace("-", "_")
        self.title = (
            f"segment-level {words}, ties calibrated{PER[average].format(self.level) or ', all outputs together'}"
        )
        self.test, self.fewest = "" if average == "none" else "bootstrap", 2 if average == "item" else 1
        self.of_all = average != "item"

    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        human = judged.human_segments
        calibration = ties.calibrate(human, scores, self.average)
        details = {"epsilon": calibration.epsilon, "sampled": calibration.sampled}
        if self.average == "none":
            return Measurement(self._scaled(calibration.accuracy), calibration.pairs, details=details)
        accuracies, _ = ties.group_accuracies(human, scores, calibration.epsilon, self.average).T
        return _mean(self._scaled(accuracies), int(calibration.pairs), details)

    def credits(self, judged: JudgedSet, scores: np.ndarray) -> np.ndarray:
        epsilon = ties.calibrate(judged.human_segments, scores, self.average).epsilon
        return ties.pair_credits(judged.human_segments, scores, epsilon)

    def _scaled(self, accuracy):
        return 2 * accuracy - 1 if self._tau else accuracy


class PreferenceTau(Protocol):
    """Kendall-like tau over human preferences: DARR, and the taus of WMT11/12, WMT13 and WMT14."""

    level, unit, test = "segment", "preferences", "bootstrap"
    TITLES: ClassVar = {
        "darr": "Kendall-like tau, ties against the metric (DARR)",
        "wmt12": "Kendall's tau of WMT11/12, ties against the metric",
        "wmt13": "Kendall's tau of WMT13, ties left out",
        "wmt14": "Kendall's tau of WMT14, ties in the denominator",
    }

    def __init__(self, variant: str, threshold: float = 25.0):
        self.name, self.title, self._variant, self._threshold = variant, self.TITLES[variant], variant, threshold

    def lacks(self, judged: JudgedSet) -> str:
        if judged.preferences is None and (judged.segment_scores is None or len(judged.systems) < 2):
            return "no preferences between outputs"
        return "" if len(self._preferences(judged)) else "no preferences between these systems"

    def lacking(self, sets: Sequence[JudgedSet]) -> dict[str, str]:
        """If some sets have preferences, no preferences are derived from the scores of the others."""
        given = any(judged.preferences is not None for judged in sets)
        made = {judged.name for judged in sets if judged.preferences is None}
        lacking = super().lacking(sets)
        return {name: "scores in place of preferences" if given and name in made else lacking[name] for name in lacking}

    def measure(self, judged: JudgedSet, scores: np.ndarray) -> Measurement:
        preferences = self._preferences(judged)
        scored = _scored(*(scores[preferences[:, i], preferences[:, 0]] for i in (1, 2)))
        return _ratio(taus.preference_parts(preferences, scores, self._variant), scored)

    def _preferences(self, judged: JudgedSet) -> np.ndarray:
        if judged.preferences is not None:
            return judged.preferences
        return taus.preferences_from_scores(judged.human_segments, self._threshold)


def make_protocols(average: str | None = None, threshold: float = 25.0) -> dict[str, Protocol]:
    """Return all protocols by name.

    average     none, item or system: the groups over which segment-level protocols average; None: none for correlations,
                item for acc-eq and tau-23
    threshold   smallest difference of two segment scores that darr takes as a preference, if a set has no preferences
    """
    protocols: list[Protocol] = [
        SystemAccuracy(),
        SoftPairwiseAccuracy(),
        *(SystemCorrelation(kind, outliers) for kind in CORRELATIONS for outliers in (True, False)),
        *(SegmentCorrelation(kind, average or "none") for kind in CORRELATIONS),
        *(DocumentCorrelation(kind, average or "none") for kind in CORRELATIONS),
        *(TieAccuracy(name, average or "item") for name in ("acc-eq", "tau-23")),
        *(PreferenceTau(variant, threshold) for variant in PreferenceTau.TITLES),
    ]
    return {protocol.name: protocol for protocol in protocols}


def usual_protocols(judged: JudgedSet) -> list[str]:
    if judged.preferences is not None:
        return ["darr"]
    names = ["sys-acc"] if judged.system_scores is not None else []
    if judged.segment_scores is not None:
        names += ["spa", "seg-pearson", "acc-eq"] if len(judged.systems) > 1 else ["seg-pearson"]
    return names


def _scored(one: np.ndarray, other: np.ndarray) -> int:
    return int((~np.isnan(one) & ~np.isnan(other)).sum())


def _mean(values: np.ndarray, size: int | None = None, details: dict[str, Any] | None = None) -> Measurement:
    """The mean of the values (U,) without NaN; `size` defaults to their number."""
    known = ~np.isnan(values)
    return _ratio(np.column_stack([np.where(known, values, 0), known]), known.sum() if size is None else size, details)


def _ratio(parts: np.ndarray, size: int, details: dict[str, Any] | None = None) -> Measurement:
    """The ratio of the sums of the two columns of parts (U, 2)."""
    return Measurement(float(ratio(parts.sum(axis=0))), int(size), parts, details or {})
