"""Scores rows, which come in blocks and have scores of their own, in any process."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric

from ..corpus import Segments, named
from ..errors import CtxMetricsError, InputError
from ..models.estimator import ErrorSpan
from ..notices import Notice, collected, counted, notice, tallied
from ..scoring.base import ContextMetric
from ..scoring.comparison import weighted_mean
from ..scoring.context import capabilities
from ..scoring.inputs import FileInput, installed_inputs
from ..scoring.names import name_in_files
from ..scoring.results import error_spans, without_reference
from ..scoring.scores import aggregate, of_parts, rows_of, score_of_sums
from .run import Run
from .wrappers import row_reader_of

CHECKED = ("mt", "ref", "src")  # the roles of texts that are checked, and so named in notices
Row = list[float]
Streams = Mapping[str, Sequence[list[str | None]]]  # the columns of each role: src, mt, ref, doc and those of inputs


class OfMetric(NamedTuple):
    """One metric's results for a block.

    higher_is_better    whether higher scores are better, which a metric's model may decide
    scores       float64 [rows], on sacrebleu's scale; NaN if a row was not scored
    sums         sums of the rows' statistics, column by column, from which the metric computes the corpus score
    counts       numbers of texts that were cut, dropped or empty
    spans        error spans by row, as far as they were looked for
    failed       whether a later run may score rows that this one could not
    """

    signature: str
    higher_is_better: bool
    scores: np.ndarray
    sums: Row
    counts: dict[str, int]
    notices: list[Notice]
    spans: Mapping[int, list[ErrorSpan]] = {}
    failed: bool = False

    @property
    def oriented(self) -> np.ndarray:
        """The scores, negated if lower ones are better."""
        return self.scores if self.higher_is_better else -self.scores


class ScoredRows(NamedTuple):
    """The results of a block by metric, and the hypotheses if they were read anew."""

    metrics: dict[str, OfMetric]
    hypotheses: Sequence[str] | None = None


@dataclass(frozen=True)
class RowScorer:
    """Scores blocks of rows, with the metrics and settings of a run whose texts have nothing but their languages.

    It can be pickled. A process loads the models on the first call, and keeps them.

    columns    the names of each role's columns in the tables
    spans      whether to look for error spans
    """

    run: Run
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spans: bool = False

    @property
    def reads_documents(self) -> str:
        """The name of the first metric that reads documents, or ""."""
        return next((each.name for each in self.run.metrics if "doc_ids" in capabilities(each.cls).reads), "")

    @property
    def reads_anew(self) -> bool:
        """Whether the hypotheses are read anew."""
        return row_reader_of(self.run.wrappers) is not None

    def __call__(self, streams: Streams, first: bool) -> ScoredRows:
        """Score a block; in the first one, texts and languages are checked."""
        [hypotheses] = streams["mt"]
        there = [i for i, text in enumerate(hypotheses) if text is not None]
        if len(there) == len(hypotheses) or self.reads_anew:
            return self._scored(streams, first)
        return ScoredRows(self._scored_at(there, streams, first))

    def _scored(self, streams: Streams, first: bool) -> ScoredRows:
        run = self._run(streams, first)
        metrics, context = _built(run, first), run.context
        [hypotheses], references = context.systems, context.references or ()
        found = {name: self._of_metric(metric, hypotheses, references, first) for name, metric in metrics.items()}
        if context.read is None:
            return ScoredRows(found)
        next(iter(found.values())).notices.extend(context.read.notices)
        return ScoredRows(found, hypotheses)

    def _scored_at(self, there: Sequence[int], streams: Streams, first: bool) -> dict[str, OfMetric]:
        """The results of a block in which only the rows at these positions have an output; the others have no score."""
        rows = len(streams["mt"][0])
        missing = sorted({*range(rows)}.difference(there))
        counts, notices = tallied([without_hypothesis(missing)])
        if not there:
            return {
                name: OfMetric(
                    str(metric.get_signature()),
                    capabilities(metric).higher_is_better,
                    np.full(rows, math.nan),
                    [],
                    dict(counts),
                    list(notices),
                )
                for name, metric in _built(self._run(streams, False)).items()
            }
        picked = {role: [[column[i] for i in there] for column in columns] for role, columns in streams.items()}
        try:
            with collected() as said:
                found = self._scored(picked, first).metrics
        except CtxMetricsError as error:
            raise error.at(there) from error
        for each in said:
            notice(each.of_segments(there))
        return {name: _spread(each, there, rows, counts, notices) for name, each in found.items()}

    def signatures(self, streams: Streams) -> dict[str, str]:
        """The metrics' signatures for a block, found without scoring; outputs that are read anew are aligned."""
        return {name: str(metric.get_signature()) for name, metric in self._unscored(streams).items()}

    def names_in_files(self, streams: Streams) -> list[str]:
        """The names of the metrics' scores, found without scoring."""
        made = self._unscored(streams).items()
        return [name_in_files(name, metric, str(metric.get_signature())) for name, metric in made]

    def _unscored(self, streams: Streams) -> dict[str, Metric]:
        with collected():
            return _built(self._run(streams, False))

    def whole(self, sums: Mapping[str, Sequence[Row]]) -> dict[str, float]:
        """The scores of a whole corpus, from the sums of its parts' statistics.

        A metric is left out if its statistics may not be sums.
        """
        texts: Streams = {role: [[role]] * len(names) for role, names in self.columns.items()}
        unread = replace(self.run, wrappers={each: own for each, own in self.run.wrappers.items() if not each.reads})
        with collected():
            made = _built(replace(self, run=unread)._run(texts, False))
        return {
            name: float(score_of_sums(metric, [math.fsum(each) for each in zip(*sums[name], strict=True)]).score)
            for name, metric in made.items()
            if type(metric).__module__.startswith("sacrebleu.") or isinstance(metric, ContextMetric)
        }

    def _run(self, streams: Streams, first: bool) -> Run:
        """The run of a block."""
        for name, cls, _ in self.run.metrics:
            for each in capabilities(cls).inputs:
                if isinstance(each, FileInput) and each.required and each.column not in streams:
                    column = f"name their column (--columns {each.column}=NAME)"
                    raise InputError(
                        f"{name}: needs {each.words}: {column if each.column else 'use `ctx-metrics score`'}"
                    )
        of = {role: self._named(role, columns, first) for role, columns in streams.items()}
        sources, doc_ids = (_filled(of[role][0]) if role in of else None for role in ("src", "doc"))
        texts = replace(
            self.run.texts,
            names=["system"],
            systems=[_filled(of["mt"][0])],
            references=of.get("ref", []),
            sources=sources,
            doc_ids=doc_ids,
            rows=True,
        )
        keywords = {**self.run.keywords, **_inputs(of)}
        return replace(self.run, texts=texts, keywords=keywords, text_checks=self.run.text_checks and first)

    def _named(self, role: str, columns: Sequence[Sequence[str | None]], first: bool) -> list[Segments]:
        where = f" (the first {counted(len(columns[0]), 'row', 'rows')})" if first else ""
        names = self.columns.get(role, ()) if role in CHECKED else ()
        titles = [f"column {name}{where}" for name in names] or [""] * len(columns)
        return [named(column, title) for column, title in zip(columns, titles, strict=True)]

    def _of_metric(
        self, metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence], first: bool
    ) -> OfMetric:
        counts: dict[str, int] = {}
        notices: list[Notice] = []
        spans: dict[int, list[ErrorSpan]] = {}
        failed = False
        if isinstance(metric, ContextMetric):
            [result] = metric.part_results(guard=first)
            spans = error_spans(result) if self.spans else {}
            rows, failed = result.rows, result.failed
            counts = {name: count for name, count in result.counts.items() if isinstance(count, int)}
            for each in (*result.notices, *result.of_texts):
                if each.number is None:
                    notice(replace(each, metric=metric.NAME.lower()))
                else:
                    notices.append(each)
        else:
            missing = [i for i, own in enumerate(zip(*references, strict=True)) if all(text is None for text in own)]
            rows = _stock_rows(metric, hypotheses, references, missing)
            if missing:
                counts, notices = tallied([without_reference(missing)])
        scored = [row for row in rows if row]
        sums = [math.fsum(column) for column in zip(*scored, strict=True)]
        signature = str(metric.get_signature())
        higher = capabilities(metric).higher_is_better
        return OfMetric(signature, higher, _segments(metric, rows), sums, counts, notices, spans, failed)


def _built(run: Run, first: bool = False) -> dict[str, Metric]:
    """The metrics of a block; raises InputError for one that needs all rows at once."""
    metrics = run.build(documents=first)
    for name, metric in metrics.items():
        can = capabilities(metric)
        if can.whole_corpus or can.compares_systems:
            why = can.whole_corpus or "its score depends on other systems"
            raise InputError(
                f"{name}: a line's score depends on all other lines ({why})", fix="use `ctx-metrics score`"
            )
    return metrics


def _filled(stream: Segments) -> Segments:
    return named([text or "" for text in stream], stream.name)


def _inputs(of: Mapping[str, Sequence[Segments]]) -> dict[str, Sequence[Segments]]:
    return {
        each.name: [*map(_filled, of[each.column])] if each.per_system else of[each.column]
        for each in installed_inputs()
        if each.column in of
    }


def without_hypothesis(rows: Sequence[int]) -> Notice:
    one, many = "segment has no output and is left out", "segments have no output and are left out"
    return Notice.at(rows, one, many, kind="missing")


def _spread(
    found: OfMetric, there: Sequence[int], rows: int, counts: Mapping[str, int], notices: Sequence[Notice]
) -> OfMetric:
    """The results of the rows at these positions as those of the block, with counts and notices of the other rows."""
    scores = np.full(rows, math.nan)
    scores[there] = found.scores
    return found._replace(
        scores=scores,
        counts={**found.counts, **counts},
        notices=[*(each.of_segments(there) for each in found.notices), *notices],
        spans={there[i]: own for i, own in found.spans.items()},
    )


def roles() -> tuple[str, ...]:
    return ("src", "mt", "ref", "doc", *(each.column for each in installed_inputs() if each.column))


def of_several_columns() -> tuple[str, ...]:
    return ("ref", *(each.column for each in installed_inputs() if each.column and not each.per_system))


def _stock_rows(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence], missing: list[int]
) -> list[Row]:
    """The statistics of each segment from another package's metric; [] for segments without a reference."""
    left_out = set(missing)
    kept = [i for i in range(len(hypotheses)) if i not in left_out]
    rows: list[Row] = [[] for _ in hypotheses]
    if kept:
        streams = [[stream[i] for i in kept] for stream in references]
        found = rows_of(metric, [hypotheses[i] for i in kept], streams)
        for i, row in zip(kept, found, strict=True):
            rows[i] = row
    return rows


def _segments(metric: Metric, rows: list[Row]) -> np.ndarray:
    """The score of each row, float64 [rows]; NaN if a row has no statistics or no weight."""
    if isinstance(metric, ContextMetric) and metric.is_mean:
        return weighted_mean(np.array(rows, np.float64).reshape(-1, 2))
    part = of_parts(metric)
    return np.array([float(aggregate(part, [row]).score) if row else math.nan for row in rows])
