"""The results of an evaluation: one Agreement per protocol, over all test sets and metrics."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Agreement:
    """The agreement of M metrics with human judgements, under one protocol on K test sets; metrics are sorted, best first.

    protocol      such as "acc-eq"; `title` is the same in words, `level` is segment, document, system or preference
    sets          names of the K test sets to which the protocol applies
    sizes         K numbers of units from which the values are computed; `unit` names them ("system pairs", "outputs", ...)
    metrics       M names; if `baseline` is set, the last one is a baseline, which is not ranked
    values        float64 (M, K), NaN where a metric could not be scored on a set
    overall       float64 (M,): the values combined over sets; `overall_is` "pooled" (pairs of all sets) or "mean" (of the
                  sets' values); NaN for a metric that lacks a set
    intervals     float64 (M, 2): 95 % interval of `overall`, NaN where there is none; None: not requested
    ranks         M ranks from 1: metrics that share a rank form one significance cluster; None: no test was requested;
                  rank 0: not ranked, because `overall` is NaN, or a baseline
    p_values      {(better, worse): p}, for the comparisons that were made: the one-sided p-value of the hypothesis that
                  `better` agrees no better than `worse`; `test` names the test
    draws         {(better, worse): the number of random draws that this p-value rests on}; empty for Williams' test
    seen          {(metric, set)}: the metric was trained on this set, so its value is not comparable
    within        float64 (M, K): the mean of a metric's agreement within each segment (document) of a set, for protocols
                  whose `values` cover all outputs; NaN where it is undefined. None: other protocols
    baseline      name of a row in `metrics` that is not a metric: minus the number of source characters; "": none
    details       {metric: {set: further numbers about the value, such as a calibrated epsilon or counts}}
    """

    protocol: str
    title: str
    level: str
    unit: str
    sets: list[str]
    sizes: list[int]
    metrics: list[str]
    values: np.ndarray
    overall: np.ndarray
    overall_is: str
    intervals: np.ndarray | None = None
    ranks: list[int] | None = None
    test: str = ""
    p_values: dict[tuple[str, str], float] = field(default_factory=dict)
    draws: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: set[tuple[str, str]] = field(default_factory=set)
    within: np.ndarray | None = None
    baseline: str = ""
    details: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def seen_somewhere(self, metric: str) -> bool:
        return any((metric, name) in self.seen for name in self.sets)


@dataclass
class Report:
    """All results of one run of `ctx-metrics meta`.

    agreements    in the order in which protocols were requested
    sets          {set: its sizes: "systems", "segments", "documents", "judged outputs", "preferences", "left out"}
    signatures    {metric: signature, "" if unknown}; if segment scores have another signature and systems are also
                  measured, there is an additional entry "METRIC (segments)"; sets whose signature differs from the
                  first set's, as that of BLEU for Japanese, have an entry "METRIC (SET, SET)"
    settings      how agreement was measured: test, significance level, resamples, seed, average, ...
    """

    agreements: list[Agreement]
    sets: dict[str, dict[str, Any]]
    signatures: dict[str, str]
    settings: dict[str, Any]
