"""Metrics that apply another metric to other texts: round trips, pseudo-references."""

import copy
import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from sacrebleu.metrics.base import Metric, Score, Signature

from ..corpus import Corpus
from ..notices import Notice
from .base import ContextMetric, ContextScore, Row, SystemResult
from .context import capabilities
from .results import counted_result
from .scores import ByOrders, against_references, rows_of, score_of_sums


class Texts(NamedTuple):
    """The texts that the inner metric compares for one system, with counts and notices about them.

    group    systems of one group share their references and are scored in one pass
    """

    hypotheses: Sequence[str]
    references: Sequence[Sequence[str | None]]
    counts: Mapping[str, Any] = {}
    notices: Sequence[Notice] = ()
    group: Hashable = None


class OfInnerMetric(ContextMetric):
    """A metric made of another one, `inner`, which may be sacrebleu's or ours."""

    inner: Any

    @property
    def effective_order(self) -> bool:
        """BLEU's setting for single sentences, if the inner metric is BLEU."""
        return cast(ByOrders, self.inner).effective_order

    @effective_order.setter
    def effective_order(self, value: bool) -> None:
        self.inner = copy.copy(self.inner)
        cast(ByOrders, self.inner).effective_order = value
        self.signature = {**self.signature, "eff": "yes" if value else "no"}


class DerivedMetric(OfInnerMetric):
    """An inner metric over texts that subclasses choose in _texts. Corpus scores are computed as the inner metric computes
    them: BLEU's from n-gram counts of the corpus, a mean of segments from the segments.

    The rows of a sacrebleu metric are its own statistics and, behind them, 1.0 where the segment has a reference, else 0.0.
    """

    def _prepare(self) -> None:
        self.inner = self._make_inner()
        if isinstance(self.inner, ContextMetric):
            self.inner.NAME = self.inner.title = self.NAME
        self.signature = inner_settings(self.inner)
        self.can = replace(self.can, whole_corpus=capabilities(self.inner).whole_corpus)

    @abstractmethod
    def _make_inner(self) -> Metric:
        """Return the inner metric for the settings: a sacrebleu metric, or a ContextMetric made without references."""

    @abstractmethod
    def _texts(self, corpus: Corpus) -> Texts:
        """Return the texts that the inner metric compares for one system."""

    def _score(self, corpora: list[Corpus]) -> list[SystemResult]:
        texts = [self._texts(corpus) for corpus in corpora]
        by_number: dict[int, SystemResult] = {}
        for group in dict.fromkeys(each.group for each in texts):
            members = [number for number, each in enumerate(texts) if each.group == group]
            by_number.update(zip(members, self._of_inner([texts[number] for number in members]), strict=True))
        results = [by_number[number] for number in range(len(texts))]
        for each, result in zip(texts, results, strict=True):
            result.counts = {**each.counts, **result.counts}
            result.of_texts = [*each.notices, *result.of_texts]
        return results

    def _of_inner(self, texts: list[Texts]) -> list[SystemResult]:
        if isinstance(self.inner, ContextMetric):
            return self.inner._score(self.inner.corpora_of([each.hypotheses for each in texts], texts[0].references))
        references = texts[0].references
        of_segments = enumerate(zip(*references, strict=True))
        missing = [i for i, of_segment in of_segments if all(text is None for text in of_segment)]
        kept = sorted(set(range(len(texts[0].hypotheses))) - set(missing))
        inner = against_references(self.inner, [[stream[i] for i in kept] for stream in references])
        results = []
        for each in texts:
            statistics = rows_of(inner, [each.hypotheses[i] for i in kept]) if kept else []
            rows: list[Row] = [[0.0] * (len(statistics[0]) + 1 if statistics else 1) for _ in each.hypotheses]
            for i, row in zip(kept, statistics, strict=True):
                rows[i] = [*row, 1.0]
            results.append(counted_result(rows, empty=[], unreferenced=missing))
        return results

    def _aggregate_and_compute(self, stats: Sequence[Row]) -> Score:
        if isinstance(self.inner, ContextMetric):
            return super()._aggregate_and_compute(stats)
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _compute_score_from_stats(self, stats: Row) -> Score:
        if isinstance(self.inner, ContextMetric):
            return score_of_sums(self.inner, stats)
        if not stats[-1]:
            return ContextScore(self.NAME, math.nan)
        score = score_of_sums(self.inner, stats[:-1])
        score.name, score.score = self.NAME, float(score.score)
        return score


def inner_settings(inner: Metric) -> dict[str, Any]:
    """Return the settings in a metric's signature, without the entries that all signatures have.

    >>> from sacrebleu.metrics import CHRF
    >>> inner_settings(CHRF())
    {'case': 'mixed', 'eff': 'yes', 'nc': 6, 'nw': 0, 'space': 'no'}
    """
    if isinstance(inner, ContextMetric):
        return dict(inner.signature)
    common = Signature({"num_refs": 1}).info
    inner = copy.copy(inner)
    inner.num_refs = 1  # a signature needs it
    return {key: value for key, value in inner.get_signature().info.items() if key not in common}
