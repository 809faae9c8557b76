"""Reranks candidates by reference-free metrics, optionally combined with the decoder's own scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..errors import InputError
from ..notices import collected
from ..run.context import build, capabilities
from ..run.registry import metric_table
from ..scale.scorer import Scorer
from ..scoring.base import ContextMetric
from .blocks import Chooser, Chosen
from .candidates import Item


@dataclass(frozen=True)
class Reranking(Chooser):
    """The weighted sum of the metrics' scores of each candidate, given its source."""

    NAME: ClassVar = "rerank"

    def signatures(self, items: Sequence[Item]) -> dict[str, str]:
        """The metrics' signatures, without scoring; raises InputError for metrics that cannot score a candidate alone."""
        first = items[0]
        found = {}
        for name, settings in self.metrics:
            cls = metric_table()[name.upper()]
            can = capabilities(cls)
            if "doc_ids" in can.reads:
                raise InputError(
                    f"{name}: the metric reads documents, but candidates are single segments; give --docids FILE"
                )
            if can.streams or can.compares_systems:
                raise InputError(
                    f"{name}: the metric cannot score a candidate by itself; choose another metric, such as comet"
                )
            if not issubclass(cls, ContextMetric) or (can.references and not can.estimator):
                raise InputError(f"{name}: needs a reference, but candidates have none; use ctx-metrics mbr with it")
            texts = replace(
                self.context,
                references=[],
                systems=[[first.candidates[0]]],
                sources=None if first.source is None else [first.source],
            )
            with collected():
                found[name] = str(build(cls, texts, settings).get_signature().format())
        return found

    def __call__(self, items: Sequence[Item], first: bool) -> Chosen:
        """Score a block's candidates; each distinct text of a source is scored once."""
        signatures = self.signatures(items)
        distinct = list(dict.fromkeys((item.source, text) for item in items for text in item.candidates))
        texts: dict[str, list[list[str | None]]] = {"mt": [[text for _, text in distinct]]}
        if items[0].source is not None:
            texts["src"] = [[source for source, _ in distinct]]
        scored = Scorer(self.metrics, self.context, {})(texts, first)
        lower = {name: not capabilities(metric_table()[name.upper()]).higher_is_better for name, _ in self.metrics}
        sums = np.sum(
            [
                weight * (-1 if lower[name] else 1) * scored.metrics[name].scores
                for weight, (name, _) in zip(self.weights, self.metrics, strict=True)
            ],
            axis=0,
        )
        of = dict(zip(distinct, sums.tolist(), strict=True))
        return Chosen(
            [[of[item.source, text] for text in item.candidates] for item in items],
            signatures,
            {name: each.counts for name, each in scored.metrics.items()},
            [True] * len(items),
        )


def check_decoder_scores(items: Sequence[Item], flag: str) -> None:
    """Raise InputError, naming the flag that needs them, if decoder scores are unknown or not finite."""
    for number, item in enumerate(items, 1):
        if item.scores is None:
            raise InputError(
                f"source {number}, counted from 1: its candidates have no decoder scores, which {flag} needs; give an "
                f"n-best list or JSON lines with scores"
            )
        if bad := [score for score in item.scores if not math.isfinite(score)]:
            raise InputError(
                f"source {number}, counted from 1: a decoder score is {bad[0]}, but {flag} needs finite numbers; remove "
                f"the candidate"
            )


def mixed(items: Sequence[Item], scores: Sequence[Sequence[float]], weight: float) -> list[list[float]]:
    """Add `weight` times the decoder's scores to the scores."""
    if weight == 0:
        return [list(own) for own in scores]
    return [
        [each + weight * given for each, given in zip(own, item.scores or (), strict=True)]
        for item, own in zip(items, scores, strict=True)
    ]
