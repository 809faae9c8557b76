"""What an evaluation of metrics says: one Agreement a protocol, over all test sets and metrics."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Agreement:
    """How well M metrics agree with people under one protocol, on K test sets; metrics are sorted, best first.

    protocol      such as "acc-eq"; `title` is the same in words, `level` is segment, system or preference
    sets          names of the K test sets that the protocol applies to
    sizes         what each set's values are computed from, K numbers; `unit` says of what ("system pairs", "outputs", ...)
    metrics       M names; the last is a baseline where `baseline` names one, which is not ranked
    values        float64 (M, K), NaN where a metric could not be scored on a set
    overall       float64 (M,): over the sets, `overall_is` "pooled" (pairs of all sets) or "mean" (of the sets' values);
                  NaN for a metric that lacks a set
    intervals     float64 (M, 2): 95 % interval of `overall`, NaN where there is none; None: not asked for
    ranks         M ranks from 1: metrics of one rank are in one significance cluster; None: no test was asked for;
                  rank 0: not ranked, because `overall` is NaN
    p_values      {(better, worse): p}: one-sided p-value that `better` agrees no better than `worse`, of the
                  comparisons that were made; `test` names how
    seen          {(metric, set)}: the metric was trained on this set, so its value says little
    within        float64 (M, K): the mean of a metric's agreement within each segment (document) of a set, where `values`
                  are of all outputs together; NaN where nothing is defined. None: not of this protocol
    baseline      name of a row of `metrics` that is no metric: minus the number of the source's characters; "": none
    details       {metric: {set: numbers that belong to the value, such as a calibrated epsilon or counts}}
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
    seen: set[tuple[str, str]] = field(default_factory=set)
    within: np.ndarray | None = None
    baseline: str = ""
    details: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)


@dataclass
class Report:
    """Everything one run of `ctx-metrics meta` found.

    agreements    in the order the protocols were asked for
    sets          {set: what it holds: "systems", "segments", "documents", "judged outputs", "preferences", "left out"}
    signatures    {metric: signature, "" where it is not known}; where scores of segments have another, and systems are
                  measured too, that is of "METRIC (segments)"
    settings      how it was measured: test, level of significance, resamples, seed, average, ...
    """

    agreements: list[Agreement]
    sets: dict[str, dict[str, Any]]
    signatures: dict[str, str]
    settings: dict[str, Any]
