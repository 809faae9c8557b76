"""Score one block with every metric, in any process."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.base import Metric

from ..cli.common.spans import MARKS, marks, spans_of, unmarked
from ..errors import CtxMetricsError, InputError
from ..finite import check_finite
from ..models.estimator import ErrorSpan
from ..notices import Notice, collected, notice, tallied
from ..run.wrappers import Read, TextReader
from ..scoring.base import ContextMetric
from ..scoring.comparison import weighted_mean
from ..scoring.context import Context, MetricSettings, build_all, capabilities
from ..scoring.inputs import FileInput, installed_inputs
from ..scoring.names import name_in_files
from ..scoring.results import without_reference
from ..scoring.scores import of_parts
from .faults import Texts, faults_of_rows, say_faults

Row = list[float]


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


class Scored(NamedTuple):
    """All metrics' results for a block, by name, the faults of each row if they were looked for (see faults_of_rows), the
    outputs if they were read anew, and the columns of error spans if those are wanted."""

    metrics: dict[str, OfMetric]
    faults: np.ndarray | None = None
    outputs: Sequence[str] | None = None
    spans: Mapping[str, Sequence[str]] = {}


@dataclass(frozen=True)
class Scorer:
    """Scores blocks with metrics, in a context without texts.

    It can be pickled. A process loads the models on the first call, and keeps them.

    columns    the names of each role's columns in the tables
    checks     whether to print notices about faults in the first block's texts
    reader     what reads the outputs anew, or None
    spans      whether to return the error spans of the first metric that marks any
    """

    metrics: Sequence[MetricSettings]
    context: Context
    columns: Mapping[str, Sequence[str]]
    checks: bool = False
    faults: bool = False
    reader: TextReader | None = None
    spans: bool = False

    @property
    def reads_documents(self) -> str:
        """The name of the first metric that reads documents, or ""."""
        return next((each.name for each in self.metrics if "doc_ids" in capabilities(each.cls).reads), "")

    def __call__(self, texts: Texts, first: bool) -> Scored:
        """The scores of a block's texts; in the first block, languages are checked."""
        read = self.reader(self._context(texts)) if self.reader else None
        if read:
            texts = {**texts, "mt": [read.systems[0]]}
        hypotheses = [text or "" for text in texts["mt"][0]]
        there = [i for i, text in enumerate(texts["mt"][0]) if text is not None]
        found = (
            self._found(texts, read, first) if len(there) == len(hypotheses) else self._found_at(there, texts, first)
        )
        if first and self.checks:
            say_faults(texts, self.columns, self.languages)
        if read:
            next(iter(found.values())).notices.extend(read.notices)
        outputs = hypotheses if read else None
        spans = _columns_of_spans(found, len(hypotheses), first) if self.spans else {}
        return Scored(found, faults_of_rows(texts, self.languages) if self.faults else None, outputs, spans)

    def _found(self, texts: Texts, read: Read | None, first: bool) -> dict[str, OfMetric]:
        made, [hypotheses] = self._built(texts, read, first), texts["mt"]
        return {
            name: self._of_metric(metric, [text or "" for text in hypotheses], texts.get("ref", ()), first)
            for name, metric in made.items()
        }

    def _found_at(self, there: Sequence[int], texts: Texts, first: bool) -> dict[str, OfMetric]:
        """The results of a block in which only the rows at these positions have an output; the others have no score."""
        rows = len(texts["mt"][0])
        missing = sorted({*range(rows)}.difference(there))
        counts, notices = tallied([without_output(missing)])
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
                for name, metric in self._built(texts).items()
            }
        picked = {role: [[stream[i] for i in there] for stream in streams] for role, streams in texts.items()}
        try:
            with collected() as said:
                found = self._found(picked, None, first)
        except CtxMetricsError as error:
            raise error.at(there) from error
        for each in said:
            notice(each.of_segments(there))
        return {name: _spread(each, there, rows, counts, notices) for name, each in found.items()}

    def signatures(self, texts: Texts) -> dict[str, str]:
        """The metrics' signatures for a block's texts, found without scoring; outputs that are read anew are aligned."""
        return {name: str(metric.get_signature()) for name, metric in self._unscored(texts).items()}

    def names_in_files(self, texts: Texts) -> list[str]:
        """The names of the metrics' scores, found without scoring."""
        made = self._unscored(texts).items()
        return [name_in_files(name, metric, str(metric.get_signature())) for name, metric in made]

    def _unscored(self, texts: Texts) -> dict[str, Metric]:
        with collected():
            read = self.reader(self._context(texts)) if self.reader else None
            return self._built({**texts, "mt": [read.systems[0]]} if read else texts, read)

    @property
    def languages(self) -> tuple[str | None, str | None]:
        return self.context.source_lang, self.context.target_lang

    def whole(self, sums: Mapping[str, Sequence[Row]]) -> dict[str, float]:
        """The scores of a whole corpus, from the sums of its parts' statistics.

        A metric is left out if its statistics may not be sums.
        """
        with collected():
            made = self._built({role: [[role]] * len(names) for role, names in self.columns.items()})
        return {
            name: float(
                metric._aggregate_and_compute([[math.fsum(each) for each in zip(*sums[name], strict=True)]]).score
            )
            for name, metric in made.items()
            if type(metric).__module__.startswith("sacrebleu.") or isinstance(metric, ContextMetric)
        }

    def _context(self, texts: Texts) -> Context:
        return replace(
            self.context,
            systems=[[text or "" for text in texts["mt"][0]]],
            references=texts.get("ref", []),
            sources=[text or "" for text in texts["src"][0]] if "src" in texts else None,
            doc_ids=[text or "" for text in texts["doc"][0]] if "doc" in texts else None,
            inputs={**self.context.inputs, **_inputs(texts)},
        )

    def _built(self, texts: Texts, read: Read | None = None, first: bool = False) -> dict[str, Metric]:
        context = replace(self._context(texts), read=read)
        for name, cls, _ in self.metrics:
            for each in capabilities(cls).inputs:
                if isinstance(each, FileInput) and each.required and each.column not in texts:
                    column = f"name their column (--columns {each.column}=NAME)"
                    raise InputError(
                        f"{name}: needs {each.words}: {column if each.column else 'use `ctx-metrics score`'}"
                    )
        made = build_all(self.metrics, context, reference="name its column (--columns ref=NAME)", documents=first)
        for name, metric in made.items():
            can = capabilities(metric)
            if can.whole_corpus or can.compares_systems:
                why = can.whole_corpus or "its score depends on other systems"
                raise InputError(f"{name}: a line's score depends on all other lines ({why}); use `ctx-metrics score`")
        return made

    def _of_metric(
        self, metric: Metric, hypotheses: list[str], references: Sequence[Sequence], first: bool
    ) -> OfMetric:
        counts: dict[str, int] = {}
        notices: list[Notice] = []
        spans: dict[int, list[ErrorSpan]] = {}
        failed = False
        if isinstance(metric, ContextMetric):
            [result] = metric.part_results(guard=first)
            spans = spans_of(result) if self.spans else {}
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


def without_output(rows: Sequence[int]) -> Notice:
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


def _columns_of_spans(found: Mapping[str, OfMetric], rows: int, first: bool) -> dict[str, list[str]]:
    """Return the columns of the spans of the first metric that marks any; a row in which none were looked for is empty."""
    marked = next((each.spans for each in found.values() if each.spans), {})
    if first and not marked:
        raise unmarked([*found])
    cells = [marks(marked[i]) if i in marked else dict.fromkeys(MARKS, "") for i in range(rows)]
    return {name: [own[name] for own in cells] for name in MARKS}


def roles() -> tuple[str, ...]:
    return ("src", "mt", "ref", "doc", *(each.column for each in installed_inputs() if each.column))


def of_several_columns() -> tuple[str, ...]:
    return ("ref", *(each.column for each in installed_inputs() if each.column and not each.per_system))


def _inputs(texts: Texts) -> dict[str, Sequence[Sequence[str | None]]]:
    return {
        each.name: [[text or "" for text in stream] for stream in texts[each.column]]
        if each.per_system
        else texts[each.column]
        for each in installed_inputs()
        if each.column in texts
    }


def _stock_rows(metric: Metric, hypotheses: list[str], references: Sequence[Sequence], missing: list[int]) -> list[Row]:
    """The statistics of each segment from another package's metric; [] for segments without a reference."""
    left_out = set(missing)
    kept = [i for i in range(len(hypotheses)) if i not in left_out]
    rows: list[Row] = [[] for _ in hypotheses]
    if kept:
        streams = [[stream[i] for i in kept] for stream in references]
        metric._ref_cache = metric._cache_references(streams)
        found = metric._extract_corpus_statistics([hypotheses[i] for i in kept], None)
        check_finite(type(metric).__name__.lower(), found)
        for i, row in zip(kept, found, strict=True):
            rows[i] = row
    return rows


def _segments(metric: Metric, rows: list[Row]) -> np.ndarray:
    """The score of each row, float64 [rows]; NaN if a row has no statistics or no weight."""
    if isinstance(metric, ContextMetric) and metric.is_mean:
        return weighted_mean(np.array(rows, np.float64).reshape(-1, 2))
    part = of_parts(metric)
    return np.array([float(part._aggregate_and_compute([row]).score) if row else math.nan for row in rows])
