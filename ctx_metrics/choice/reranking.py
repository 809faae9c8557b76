"""Reranks candidates by reference-free metrics, optionally combined with the decoder's own scores, whose weight can be tuned
on candidates with known references."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric

from ..corpus import without_invisible
from ..errors import InputError
from ..metrics.candidates import with_candidates
from ..metrics.estimated import EstimatorMetric
from ..models.estimator import Example
from ..notices import collected
from ..registry import metric_table
from ..run.rows import RowScorer
from ..run.run import Run
from ..scoring.base import ContextMetric
from ..scoring.comparison import scorer
from ..scoring.context import MetricSettings, capabilities
from ..scoring.scores import scores as scores_of
from .blocks import ChoiceScores, Chooser, alone
from .candidates import Item


@dataclass(frozen=True)
class Reranking(Chooser):
    """The weighted sum of the metrics' scores of each candidate, given its source."""

    NAME: ClassVar = "rerank"

    def signatures(self, items: Sequence[Item]) -> dict[str, str]:
        return {name: str(metric.get_signature().format()) for name, metric in self._built(items[0]).items()}

    def _built(self, first: Item) -> dict[str, ContextMetric]:
        found = {}
        for each in self.run.metrics:
            name, cls, _ = each
            can = capabilities(cls)
            if "doc_ids" in can.reads:
                raise InputError(
                    f"{name}: the metric reads documents, but candidates are single segments", fix="give --docids FILE"
                )
            if can.streams or can.compares_systems:
                raise InputError(
                    f"{name}: the metric cannot score a candidate by itself", fix="choose another metric, such as comet"
                )
            without = f"{name}: needs a reference, but candidates have none; use ctx-metrics mbr with it"
            if not issubclass(cls, ContextMetric) or (can.references and not can.estimator):
                raise InputError(without)
            with collected():
                metric = alone(each, self.run, [first.candidates[0]], [first.source])
            assert isinstance(metric, ContextMetric)
            if metric.can.references:
                estimator = getattr(metric, "estimator", None)
                choice = "mt+src" in getattr(estimator, "choices", ())
                raise InputError(
                    f"{name}: the model reads references by default, but candidates have none; give --{name}-inputs mt+src"
                    if choice
                    else without
                )
            if metric.can.compares_systems:
                metric.announce([])  # a candidate is compared with the others of its source
            found[name] = metric
        return found

    def __call__(self, items: Sequence[Item], first: bool) -> ChoiceScores:
        """Score a block's candidates; each distinct text of a source is scored once."""
        built = self._built(items[0])
        by_rows = [each for each in self.run.metrics if not built[each.name].can.compares_systems]
        found = self._by_rows(by_rows, items, first) if by_rows else {}
        found |= {name: _beside(metric, items) for name, metric in built.items() if name not in found}
        weighted = [
            weight * found[each.name].scores for weight, each in zip(self.weights, self.run.metrics, strict=True)
        ]
        sums = iter(np.sum(weighted, axis=0).tolist())
        return ChoiceScores(
            [[next(sums) for _ in item.candidates] for item in items],
            {name: str(metric.get_signature().format()) for name, metric in built.items()},
            {name: found[name].counts for name in built},
            [True] * len(items),
            any(found[name].failed for name in built),
        )

    def _by_rows(
        self, metrics: Sequence[MetricSettings], items: Sequence[Item], first: bool
    ) -> dict[str, "OfCandidates"]:
        distinct = list(dict.fromkeys((item.source, text) for item in items for text in item.candidates))
        texts: dict[str, list[list[str | None]]] = {"mt": [[text for _, text in distinct]]}
        if items[0].source is not None:
            texts["src"] = [[source for source, _ in distinct]]
        scored = RowScorer(replace(self.run, metrics=metrics))(texts, first)
        number = {each: k for k, each in enumerate(distinct)}
        places = [number[item.source, text] for item in items for text in item.candidates]
        return {
            name: OfCandidates(own.oriented[places], own.counts, own.failed) for name, own in scored.metrics.items()
        }


class OfCandidates(NamedTuple):
    """One metric's scores of all candidates of some items in turn (float64, higher is better), counts, and whether a later
    run may score some that this one could not."""

    scores: np.ndarray
    counts: dict[str, int]
    failed: bool = False


def _beside(metric: ContextMetric, items: Sequence[Item]) -> OfCandidates:
    """The scores by a model that compares a candidate with the others of its source."""
    assert isinstance(metric, EstimatorMetric)
    examples, number, lacking = [], metric.estimator.candidates, 0
    for item in items:
        texts = [without_invisible(text) for text in item.candidates]
        examples += [with_candidates(Example(text, None, item.source), texts, number) for text in texts]
        lacking += sum(len(texts) - texts.count(text) < number for text in texts)
    estimates = metric.estimated(examples)
    scores = 100 * np.array([each.value for each in estimates])
    counts = {"truncated": sum(each.cut for each in estimates), "empty": sum(each.empty for each in estimates)}
    counts["lacking"] = lacking
    return OfCandidates(scores if metric.can.higher_is_better else -scores, counts)


def check_decoder_scores(items: Sequence[Item], flag: str) -> None:
    for number, item in enumerate(items, 1):
        if item.scores is None:
            raise InputError(
                f"source {number}, counted from 1: its candidates have no decoder scores, which {flag} needs",
                fix="give an n-best list or JSON lines with scores",
            )
        if bad := [score for score in item.scores if not math.isfinite(score)]:
            raise InputError(
                f"source {number}, counted from 1: a decoder score is {bad[0]}, but {flag} needs finite numbers",
                fix="remove the candidate",
            )


def mixed(items: Sequence[Item], scores: Sequence[Sequence[float]], weight: float) -> list[list[float]]:
    """Add `weight` times the decoder's scores to the scores."""
    if weight == 0:
        return [list(own) for own in scores]
    return [
        [each + weight * given for each, given in zip(own, item.scores or (), strict=True)]
        for item, own in zip(items, scores, strict=True)
    ]


class TunedWeight(NamedTuple):
    """The weight whose choices the judging metric scores best.

    weight         at least 0
    title          the judging metric's
    without, best, decoder    its score of the choices at weight 0, at the best weight, and by the decoder's scores alone
    """

    weight: float
    title: str
    without: float
    best: float
    decoder: float


def check_judge(name: str) -> None:
    if not capabilities(metric_table()[name.upper()]).compares_two_texts:
        raise InputError(
            f"--tune-by {name}: the metric cannot judge single outputs", fix="choose another one, such as chrf or comet"
        )


def tuned(
    items: Sequence[Item], scores: Sequence[Sequence[float]], references: Sequence[str], judge: str, run: Run
) -> TunedWeight:
    """Find the weight w >= 0 at which the candidates with the highest score + w * decoder score are best as a corpus, by the
    metric `judge`. The search is exact: as w grows, the choice for a source changes only where two lines cross, and all
    crossings are tried (Och 2003).
    """
    metric, title, rows = _judged(items, references, judge, run)
    sign = 1 if capabilities(metric).higher_is_better else -1
    changes: list[tuple[float, np.ndarray]] = []
    total, last = np.zeros(rows[0].shape[1]), np.zeros(rows[0].shape[1])
    for item, own, of_item in zip(items, scores, rows, strict=True):
        path = envelope(own, item.scores or ())
        total += of_item[path[0][1]]
        last += of_item[int(np.argmax(item.scores or ()))]
        changes += [(w, of_item[k] - of_item[j]) for (_, j), (w, k) in pairwise(path)]
    changes.sort(key=lambda change: change[0])
    places = np.array([0.0, *(w for w, _ in changes)])
    sums = total + np.concatenate([np.zeros((1, len(total))), *(delta[None] for _, delta in changes)]).cumsum(0)
    found = sign * scorer(metric)(sums)
    alone = np.append(np.diff(places) > 0, True)  # of several changes at the same weight, only the last counts
    best = int(np.flatnonzero(alone)[np.argmax(found[alone])])
    beyond = places[best + 1] if best + 1 < len(places) else 2 * places[best] + 1
    decoder = float(scorer(metric)(last[None])[0])
    weight = 0.0 if best == 0 and found[0] >= found[alone].max() else float((places[best] + beyond) / 2)
    return TunedWeight(weight, title, float(sign * found[0]), float(sign * found[best]), decoder)


def envelope(scores: Sequence[float], slopes: Sequence[float]) -> list[tuple[float, int]]:
    """The upper envelope of the lines score + w * slope for w >= 0: pairs (w from which a line is the highest, its index).

    >>> envelope([3.0, 2.0, 0.0], [0.0, 1.0, 2.0])
    [(0.0, 0), (1.0, 1), (2.0, 2)]
    """
    now = max(range(len(scores)), key=lambda k: (scores[k], slopes[k]))
    path, at = [(0.0, now)], 0.0
    while True:
        steeper = [k for k in range(len(scores)) if slopes[k] > slopes[now]]
        if not steeper:
            return path
        crossings = {k: (scores[now] - scores[k]) / (slopes[k] - slopes[now]) for k in steeper}
        now = min(steeper, key=lambda k: (crossings[k], -slopes[k]))
        at = max(at, crossings[now])
        path.append((at, now))


def _judged(
    items: Sequence[Item], references: Sequence[str], judge: str, run: Run
) -> tuple[Metric, str, list[np.ndarray]]:
    """The judging metric, its title, and its statistics for each item's candidates."""
    texts = [text for item in items for text in item.candidates]
    beside = [reference for item, reference in zip(items, references, strict=True) for _ in item.candidates]
    sources = [item.source for item in items for _ in item.candidates]
    metric = alone(MetricSettings(judge, metric_table()[judge.upper()]), run, texts, sources, beside)
    found = scores_of(metric, texts)
    ends = np.cumsum([len(item.candidates) for item in items])
    return metric, found.title, np.split(np.array(found.rows, np.float64), ends[:-1])
