"""Confidence intervals and paired tests that treat whole documents, not segments, as independent."""

import functools
import math
import types
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric, Signature
from sacrebleu.significance import PairedTest, Result

from ..checks.documents import say_single
from ..corpus import document_ranges
from ..errors import InputError
from ..notices import counted, notice
from .comparison import randomized, scorer
from .constructor import as_list
from .context import is_stock
from .scores import rows_of
from .testing import ALONE, has_all_swaps, say_few_documents, smallest_exact_p


def resample_documents(metric: Metric, doc_ids: Sequence[str]) -> Metric:
    """Make a metric's intervals and tests resample whole documents; returns the same metric.

    Segments of one document are similar (even more so if the sentences of a window share its score), so intervals from
    resampled segments are too narrow. sacrebleu's statistics are rows that add up. Here one row stands for a document:
    the sum of its segments' rows. This works for every metric derived from sacrebleu's Metric. Scores do not change.
    Intervals come from corpus_score(..., n_bootstrap=N), paired tests from DocumentPairedTest.

    doc_ids    document id of each segment; a document is a run of equal ids

    Raises InputError for fewer than two documents, and for ids that return after their document. Prints a notice if
    there are few documents.

    >>> from sacrebleu.metrics import BLEU
    >>> ids = [f"talk {i // 2}" for i in range(20)]
    >>> texts = ["The cat sat on the mat."] * 20
    >>> metric = resample_documents(BLEU(references=[texts]), ids)
    >>> round(metric.corpus_score(texts, None, n_bootstrap=100).score, 3)
    100.0
    >>> "resample:document" in str(metric.get_signature())
    True
    """
    doc_ids = as_list("document ids", doc_ids)
    ranges = document_ranges(doc_ids)
    if len(ranges) < 2:
        documents = counted(len(ranges), "document", "documents")
        raise InputError(
            f"resampling by document: it needs at least 2 documents, but the document ids name {documents}"
        )
    say_few_documents(len(ranges))
    say_single(doc_ids, ALONE)
    if not isinstance(metric, ByDocument):
        metric.__class__ = _by_document(type(metric))
    assert isinstance(metric, ByDocument)
    metric.document_ranges = ranges
    return metric


class Documents(list):
    """A system as a list of documents, each a list of segments; `segments` is the original list."""

    def __init__(self, segments: Sequence[str], ranges: Sequence[tuple[int, int]]):
        segments = as_list("hypotheses", segments)
        if len(segments) != ranges[-1][1]:
            hypotheses = counted(len(segments), "hypothesis", "hypotheses")
            raise InputError(f"resampling by document: {ranges[-1][1]} document ids for {hypotheses}")
        super().__init__(segments[start:end] for start, end in ranges)
        self.segments = segments


class DocumentRows(list):
    """One row of statistics per document, the sum of its segments' rows; `segments` holds the rows of the segments."""

    def __init__(self, rows: list[list[float]], ranges: Sequence[tuple[int, int]]):
        super().__init__([_total(column) for column in zip(*rows[start:end], strict=True)] for start, end in ranges)
        self.segments = rows


def _total(column: Sequence[float]) -> float:
    return sum(column) if all(isinstance(value, int) for value in column) else math.fsum(column)


class ByDocument(Metric):
    """Mixin before a metric's class: a system given as Documents gets one row per document; others are not affected.

    The score is still computed from the segments' rows, so it is bit-identical.
    """

    document_ranges: list[tuple[int, int]]
    _used = False  # whether statistics by document were computed, which the signature records

    def corpus_score(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]] | None, n_bootstrap: int = 1
    ) -> Any:
        if n_bootstrap > 1:
            hypotheses = Documents(hypotheses, self.document_ranges)
        return super().corpus_score(hypotheses, references, n_bootstrap)

    def get_signature(self) -> Signature:
        """Return the metric's own signature, with resample:document once documents were resampled."""
        signature = super().get_signature()
        if self._used:
            signature._abbr["resample"] = "ru"  # "rs" is sacrebleu's seed
            signature.update("resample", "document")
        return signature

    def _check_corpus_score_args(self, hyps: Sequence, refs: Sequence | None) -> None:
        super()._check_corpus_score_args(hyps.segments if isinstance(hyps, Documents) else hyps, refs)

    def _extract_corpus_statistics(self, hypotheses: Sequence, references: Sequence | None) -> Any:
        if not isinstance(hypotheses, Documents):
            return super()._extract_corpus_statistics(hypotheses, references)
        self._used = True
        rows = super()._extract_corpus_statistics(hypotheses.segments, references)
        return DocumentRows(rows, self.document_ranges)

    def _aggregate_and_compute(self, stats: list[list[Any]]) -> Any:
        rows = stats.segments if isinstance(stats, DocumentRows) else stats
        return super()._aggregate_and_compute(rows)  # type: ignore[safe-super]  # next in the MRO is the metric itself

    def __reduce__(self) -> tuple:
        # This class is created at run time, so pickle, which sends metrics to the workers of -j, cannot find it by name.
        own = type(self).__mro__[2]
        return _blank, (own,), self.__getstate__() if hasattr(self, "__getstate__") else self.__dict__


@functools.cache
def _by_document(cls: type) -> type[Metric]:
    return types.new_class(
        cls.__name__, (ByDocument, cls), exec_body=lambda names: names.update(__module__=cls.__module__)
    )


def _blank(cls: type) -> Metric:
    made = _by_document(cls)
    return made.__new__(made)


class DocumentPairedTest(PairedTest):
    """sacrebleu's PairedTest, which resamples or swaps whole documents if the metrics come from resample_documents.

    It takes the same arguments as PairedTest, and resamples segments for all other metrics. If a resample contains no
    scored segment, there is no interval and no p-value, with a notice; PairedTest would call any difference significant.

    If segments (or documents) are so few that there are at most n_samples ways to swap them, approximate randomization
    takes each way once, and p is exact, see comparison.compare; the signature has ar:exact. sacrebleu's own metrics, unless
    they resample documents, keep PairedTest's random trials, with a notice that gives the smallest valid p-value.

    Raises InputError if the metrics have different documents, or only some of them have documents.
    """

    def __init__(
        self,
        named_systems: list[tuple[str, Sequence[str]]],
        metrics: Mapping[str, Metric],
        references: Sequence[Sequence[str]] | None,
        *args: Any,
        **options: Any,
    ):
        ranges_of = [metric.document_ranges if isinstance(metric, ByDocument) else None for metric in metrics.values()]
        if any(ranges != ranges_of[0] for ranges in ranges_of):
            raise InputError("a paired test resamples all its metrics by the same documents, or none by documents")
        self._unit = "document" if ranges_of[0] else "segment"
        if ranges_of[0]:
            named_systems = [(name, Documents(system, ranges_of[0])) for name, system in named_systems]
        super().__init__(named_systems, metrics, references, *args, **options)

    def __call__(self) -> tuple[dict[str, Signature], dict[str, list]]:
        """Runs the test, as PairedTest does."""
        signatures, scores = super().__call__()
        units = len(self.named_systems[0][1])
        if self.test_type == "ar" and has_all_swaps(units, self.n_samples):
            for name, metric in self.metrics.items():
                if isinstance(metric, ByDocument) or not is_stock(type(metric)):
                    signatures[name].update("ar", "exact")
                    self._take_all_swaps(metric, scores[name])
                else:
                    notice(
                        f"{name}: with {counted(units, 'segment', 'segments')} no p-value below "
                        f"{smallest_exact_p(units):.2g} is valid, but sacrebleu's random trials can give one"
                    )
        for name, results in scores.items():
            if any(isinstance(result, Result) and math.isnan(result.mean or 0) for result in results):
                notice(
                    f"{name}: some resamples contain no scored {self._unit}, so there are no intervals and no p-values"
                )
                scores[name] = [Result(result.score) for result in results if isinstance(result, Result)]
        return signatures, scores

    def _take_all_swaps(self, metric: Metric, results: list) -> None:
        """Replace the p-values of one metric's results, the baseline's first, by exact ones."""
        rows = [np.asarray(rows_of(metric, system, self.references), np.float64) for _, system in self.named_systems]
        gaps = [abs(result.score - results[0].score) for result in results[1:]]
        pairs = [(0, number) for number in range(1, len(results))]
        found = randomized(scorer(metric), rows, pairs, gaps, self.n_samples, seed=0)
        for result, p_value in zip(results[1:], found.tolist(), strict=True):
            result.p_value = p_value
