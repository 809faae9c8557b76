"""Evaluates metrics: applies each protocol to every set that it suits, with ranks, intervals and significance tests."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np

from ..errors import InputError
from ..judgements.judged import JudgedSet, MetricScores
from ..notices import Progress, counted, notice, progress
from ..scoring.comparison import ranks
from .inference.bootstrap import bootstrap_parts, bootstrap_values, interval, p_not_better
from .inference.significance import PValue, pairwise_permutation, perm_both, williams
from .protocols import Measurement, Protocol, TieAccuracy
from .report import Agreement, Report

BASELINE = "length"
TESTS = {
    "perm-both": "PERM-BOTH permutation test",
    "pairs": "permutation of pairwise decisions",
    "bootstrap": "paired bootstrap",
    "williams": "Williams' test",
}


@dataclass(frozen=True)
class Significance:
    """How differences between metrics are tested.

    test        auto (the protocol's own test), perm-both, bootstrap, pairs, williams or none
    alpha       significance level at which a metric opens a new cluster
    resamples   of permutation tests and the bootstrap, with `seed`
    intervals   whether to compute 95 % bootstrap intervals
    all_pairs   whether to test all pairs of metrics, not only those needed for the clusters
    """

    test: str = "auto"
    alpha: float = 0.05
    resamples: int = 1000
    seed: int = 0
    intervals: bool = False
    all_pairs: bool = False


@dataclass
class _Measured:
    """One metric under one protocol: its scores and measurements on each set, and the overall value."""

    scores: dict[str, np.ndarray] = field(default_factory=dict)
    by_set: dict[str, Measurement] = field(default_factory=dict)
    overall: float = float("nan")


def evaluate(
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores]],
    protocols: Sequence[Protocol],
    significance: Significance = Significance(),
    *,
    seen: Sequence[tuple[str, str]] = (),
    quiet: bool = True,
) -> Report:
    """Measure how well metrics agree with human judgements.

    scores      {name of a set: the scores of the metrics on it}
    protocols   the measurements; a protocol that applies to no set is left out, with a notice
    seen        (metric, pattern of set names): the metric was trained on these sets, which the report marks
    quiet       whether to omit a line per protocol with its running time, if stderr is not a terminal
    """
    names = [judged.name for judged in sets]
    if len(set(names)) < len(names):
        raise InputError(f"two sets have the same name ({', '.join(sorted(names))})", fix="evaluate them one by one")
    agreements = []
    for protocol in protocols:
        start = time.perf_counter()
        if (agreement := _agreement(sets, scores, protocol, significance, quiet)) is not None:
            agreements.append(agreement)
            progress(f"{protocol.name}: measured in {time.perf_counter() - start:,.1f} s", quiet)
    if not agreements:
        raise InputError("none of the protocols applies to any of the sets, or no metric has scores for them")
    for agreement in agreements:
        agreement.seen = {
            (metric, name)
            for (metric, pattern), name in product(seen, agreement.sets)
            if metric in agreement.metrics and fnmatchcase(name, pattern)
        }
    described = {judged.name: _described(judged) for judged in sets}
    return Report(agreements, described, _signatures(scores, agreements), vars(significance).copy())


def _agreement(
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores]],
    protocol: Protocol,
    significance: Significance,
    quiet: bool,
) -> Agreement | None:
    lacking = protocol.lacking(sets)
    usable = [judged for judged in sets if not lacking[judged.name]]
    if not usable:
        notice(f"{protocol.name}: applies to none of the sets ({', '.join(f'{k}: {v}' for k, v in lacking.items())})")
        return None
    measured: dict[str, _Measured] = {}
    for judged in usable:
        for metric in scores[judged.name]:
            if (array := protocol.scores_of(metric, judged)) is not None:
                of_metric = measured.setdefault(metric.name, _Measured())
                of_metric.scores[judged.name] = array
                of_metric.by_set[judged.name] = protocol.measure(judged, array)
    if not measured:
        notice(f"{protocol.name}: no metric has scores of {protocol.level}s")
        return None
    usable = [judged for judged in usable if any(judged.name in each.by_set for each in measured.values())]
    for of_metric in measured.values():
        if len(of_metric.by_set) == len(usable):
            of_metric.overall = protocol.overall_value([of_metric.by_set[judged.name] for judged in usable])
    order = sorted(measured, key=lambda name: (np.isnan(measured[name].overall), -measured[name].overall, name))
    values, sizes = np.full((len(order), len(usable)), np.nan), np.full((len(order), len(usable)), -1)
    within = np.full(values.shape, np.nan)
    for m, name in enumerate(order):
        for k, judged in enumerate(usable):
            if one := measured[name].by_set.get(judged.name):
                values[m, k], sizes[m, k] = one.value, one.size
                within[m, k] = protocol.within(judged, measured[name].scores[judged.name])
    for m, k in np.argwhere((sizes >= 0) & (sizes < sizes.max(axis=0))):
        fewer = f"{sizes[m, k]} of {counted(sizes[:, k].max(), protocol.unit.removesuffix('s'), protocol.unit)}"
        notice(f"{protocol.name}: {order[m]} has scores for {fewer} of {usable[k].name}")
    agreement = Agreement(
        protocol=protocol.name,
        title=protocol.title,
        level=protocol.level,
        unit=protocol.unit,
        sets=[judged.name for judged in usable],
        sizes=sizes.max(axis=0).tolist(),
        metrics=order,
        values=values,
        overall=np.array([measured[name].overall for name in order]),
        overall_is=protocol.overall,
        within=None if np.isnan(within).all() else within,
        details={name: {k: one.details for k, one in measured[name].by_set.items()} for name in order},
    )
    with Progress(f"{protocol.name}, significance", "comparison", quiet=quiet) as done:
        _Comparisons(protocol, usable, measured, significance).complete(agreement, done)
    if protocol.of_all and BASELINE not in order:
        _add_baseline(agreement, protocol, usable)
    return agreement


def _add_baseline(agreement: Agreement, protocol: Protocol, sets: Sequence[JudgedSet]) -> None:
    """Add a baseline row, if there are sources: minus the number of source characters, since long segments are harder."""
    measured = []
    for judged in sets:
        scores = None
        if judged.sources is not None:
            lengths = np.array([-float(len(source)) for source in judged.sources])
            scores = protocol.scores_of(
                MetricScores(BASELINE, np.tile(lengths, (len(judged.systems), 1)), None), judged
            )
        measured.append(Measurement(float("nan"), 0) if scores is None else protocol.measure(judged, scores))
    values = np.array([each.value for each in measured])
    if np.isnan(values).all():
        return
    agreement.baseline = BASELINE
    agreement.metrics = [*agreement.metrics, BASELINE]
    agreement.values = np.vstack([agreement.values, values])
    agreement.overall = np.append(agreement.overall, protocol.overall_value(measured))
    nothing = np.full((1, len(sets)), np.nan)
    agreement.within = None if agreement.within is None else np.vstack([agreement.within, nothing])
    agreement.intervals = None if agreement.intervals is None else np.vstack([agreement.intervals, [np.nan, np.nan]])
    agreement.ranks = None if agreement.ranks is None else [*agreement.ranks, 0]


class _Comparisons:
    def __init__(
        self, protocol: Protocol, sets: Sequence[JudgedSet], measured: dict[str, _Measured], significance: Significance
    ):
        self.protocol, self.sets, self.measured, self.significance = protocol, sets, measured, significance
        self.test = self._suitable(significance.test)
        self._can_bootstrap = bool(protocol.test)  # tie-calibrated accuracy over all outputs has no independent units
        self._options: dict[str, Any] = {"resamples": significance.resamples, "seed": significance.seed}
        self._replicates, self._credits = cache(self._replicates_of), cache(self._credits_of)
        self._statistics = [protocol.statistic(judged) for judged in sets]

    def _suitable(self, asked: str) -> str:
        """The requested test if it suits the protocol; otherwise the protocol's own test, with a notice."""
        protocol, ties, sets = self.protocol, isinstance(self.protocol, TieAccuracy), len(self.sets)
        pearson = protocol.name.endswith("-pearson") and sets == 1
        unsuitable = {
            "williams": not pearson and "is for Pearson's r on one set",
            "pairs": not (ties and protocol.average == "item") and "is for acc-eq and tau-23 averaged over segments",
            "perm-both": ties and "would tie scores at random, and ties are calibrated",
        }.get(asked)
        if unsuitable:
            own = TESTS.get(protocol.test, "no test")
            notice(f"--test {asked} {unsuitable}; {protocol.name} on {counted(sets, 'set', 'sets')} has: {own}")
        return protocol.test if unsuitable or asked == "auto" else asked

    def complete(self, agreement: Agreement, done: Progress) -> None:
        """Add the requested ranks, p-values and intervals; `done` counts the comparisons."""
        whole = [name for name in agreement.metrics if not np.isnan(self.measured[name].overall)]
        if self.significance.intervals and self._can_bootstrap:
            intervals = {name: interval(self._replicates(name)) for name in whole}
            agreement.intervals = np.array([intervals.get(name, (np.nan, np.nan)) for name in agreement.metrics])
        if self.test in ("", "none") or (self.test == "bootstrap" and not self._can_bootstrap):
            return
        agreement.test = TESTS[self.test]

        def significantly_better(better: int, worse: int) -> bool:
            pair = agreement.metrics[better], agreement.metrics[worse]
            if pair not in agreement.p_values:
                agreement.p_values[pair], draws = self.p_value(*pair)
                if draws:
                    agreement.draws[pair] = draws
                done.update()
            return agreement.p_values[pair] < self.significance.alpha

        agreement.ranks = ranks(agreement.overall, significantly_better)
        if self.significance.all_pairs:
            for better, worse in combinations(map(agreement.metrics.index, whole), 2):
                significantly_better(better, worse)

    def p_value(self, better: str, worse: str) -> PValue:
        """The one-sided p-value of the hypothesis that `better` agrees no better than `worse`, and the draws behind it."""
        resamples = self.significance.resamples
        names = [judged.name for judged in self.sets]
        a, b = ([self.measured[each].scores[name] for name in names] for each in (better, worse))
        if self.test == "williams":
            human = self.protocol.human(self.sets[0])
            known = ~(np.isnan(human) | np.isnan(a[0]) | np.isnan(b[0]))
            r = np.corrcoef([human[known], a[0][known], b[0][known]])
            return PValue(williams(r[0, 1], r[0, 2], r[1, 2], int(known.sum())), 0)
        if self.test == "bootstrap":
            return PValue(p_not_better(self._replicates(better), self._replicates(worse)), resamples)
        if self.test == "pairs":
            p = pairwise_permutation(self._credits(better), self._credits(worse), **self._options)
            return PValue(p, resamples)
        cells = [self.protocol.cells(judged) for judged in self.sets]
        a, b = ([each if of is None else each[of] for each, of in zip(arrays, cells, strict=True)] for arrays in (a, b))
        # early stopping makes p-values of .02 and below unreliable
        return perm_both(a, b, self._value, early_stop=self.significance.alpha > 0.02, **self._options)

    def _replicates_of(self, name: str) -> np.ndarray:
        """A metric's overall value in each bootstrap resample, float64 (resamples,); the same resamples for all metrics."""
        protocol, measured = self.protocol, [self.measured[name].by_set[judged.name] for judged in self.sets]
        parts = [each.parts for each in measured if each.parts is not None]
        if len(parts) == len(measured):
            more = {"value": protocol.of_sums, "of_pairs": protocol.of_pairs, **self._options}
            return bootstrap_parts(parts, protocol.overall == "pooled", **more)
        arrays = [self.measured[name].scores[judged.name] for judged in self.sets]

        def value(drawn: list[np.ndarray]) -> float:
            return float(np.mean([*map(protocol.resampled, self.sets, arrays, drawn)]))

        return bootstrap_values([array.shape[-1] for array in arrays], value, **self._options)

    def _credits_of(self, name: str) -> list[np.ndarray]:
        arrays = self.measured[name].scores
        return [self.protocol.credits(judged, arrays[judged.name]) for judged in self.sets]

    def _value(self, arrays: Sequence[np.ndarray]) -> float:
        if self.protocol.overall == "pooled":
            return self.protocol.overall_value([*map(self.protocol.measure, self.sets, arrays)])
        return float(np.mean([statistic(array) for statistic, array in zip(self._statistics, arrays, strict=True)]))


def _signatures(scores: Mapping[str, Sequence[MetricScores]], agreements: Sequence[Agreement]) -> dict[str, str]:
    """The signature of each metric; if its segment scores have another one, the signature for the levels measured; and
    those of sets whose signature differs from the first set's, as that of BLEU for Japanese."""
    sets: dict[str, dict[str, list[str]]] = {}  # by metric and signature
    for of_set, each in ((name, each) for name, found in scores.items() for each in found):
        levels = {agreement.level for agreement in agreements if each.name in agreement.metrics}
        own = {each.name: each.signature}
        if each.segment_signature and not levels <= {"system"}:
            own[f"{each.name} (segments)" if "system" in levels else each.name] = each.segment_signature
        for name, signature in own.items():
            sets.setdefault(name, {}).setdefault(signature, []).append(of_set)
    signatures: dict[str, str] = {}
    for name, found in sets.items():
        first, *more = found
        signatures |= {name: first, **{f"{name} ({', '.join(found[each])})": each for each in more}}
    return signatures


def _described(judged: JudgedSet) -> dict[str, int]:
    counts = {
        "systems": len(judged.systems),
        "segments": judged.segments,
        "documents": None if judged.doc_ids is None else len(set(judged.doc_ids)),
        "judged outputs": None if judged.segment_scores is None else int((~np.isnan(judged.segment_scores)).sum()),
        "judged systems": None if judged.system_scores is None else int((~np.isnan(judged.system_scores)).sum()),
        "preferences": None if judged.preferences is None else len(judged.preferences),
    }
    return {what: number for what, number in counts.items() if number is not None}
