"""The content of a report on one run: texts, scores, comparisons of systems, and notices."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..cli.common.comparisons import SystemComparisons
from ..cli.common.output import plain
from ..corpus import document_ranges
from ..errors import InputError
from ..judgements.measures.spans import Span
from ..models.estimator import ErrorSpan
from ..notices import notice
from ..run.wrappers import Gap
from ..scoring.comparison import Column
from ..scoring.context import Context
from ..scoring.results import error_spans, segment_details
from ..scoring.testing import Design
from ..scoring.token_matching import SegmentMatch, TokenMatchingMetric

LARGEST = 50_000  # outputs, over all systems, that a browser lists without delay
MATCHED = 1_200_000  # tokens whose matches are shown, about 3 bytes each


class SpanColumn(NamedTuple):
    """The error spans that a metric or people marked, by system and segment, two numbers from 0."""

    title: str
    spans: Mapping[tuple[int, int], Sequence[ErrorSpan | Span]]


@dataclass(frozen=True)
class Content:
    """The content of a report.

    design     how the systems are tested
    notices    issued while the run scored
    marked     error spans that no metric of the run has marked
    test_set   its name, if a page shows several
    autorank   the method by which AutoRank is computed from the columns; None: it is not shown
    """

    context: Context
    design: Design
    columns: Sequence[Column]
    notices: Sequence[str] = ()
    marked: "Sequence[SpanColumn]" = ()
    test_set: str = ""
    autorank: str | None = None

    @property
    def names(self) -> Sequence[str]:
        """The systems' names."""
        return self.context.names

    @property
    def compared(self) -> SystemComparisons:
        return SystemComparisons(self.names, self.columns, self.design)

    @property
    def documents(self) -> list[tuple[str, int, int]]:
        """Each document's id, its first segment, and the end of its segments (exclusive)."""
        ids = self.context.doc_ids
        return [] if ids is None else [(ids[start], start, end) for start, end in document_ranges(ids)]

    @property
    def gaps(self) -> Sequence[Gap]:
        """The omissions and additions of systems."""
        return self.context.read.gaps if self.context.read else ()


def check_size(systems: Sequence[Sequence[str]]) -> None:
    hypotheses = len(systems) * len(systems[0])
    if hypotheses > LARGEST:
        raise InputError(
            f"{len(systems):,} x {len(systems[0]):,} outputs, but a report's page holds at most {LARGEST:,}: give "
            "fewer systems, or "
            "the first lines of all files (head -n)"
        )


def as_data(content: Content) -> dict[str, Any]:
    """The data for the page's script, ready for JSON: numbers in full precision, None for a missing score."""
    context = content.context
    texts = [context.sources or [], *(context.references or []), *context.systems]
    key = hashlib.sha256("\n".join(text or "" for stream in texts for text in stream).encode(errors="replace"))
    return {
        "key": key.hexdigest()[:16],
        "systems": [*content.names],
        "source_lang": context.source_lang,
        "target_lang": context.target_lang,
        "source": None if context.sources is None else [*context.sources],
        "references": [[text or "" for text in stream] for stream in context.references or []],
        "outputs": [[text or "" for text in system] for system in context.systems],
        "documents": [{"id": name, "start": start, "end": end} for name, start, end in content.documents],
        "metrics": [
            {
                "name": each.title,
                "title": each.heading,
                "sign": each.sign,
                **{name: plain([getattr(of, name) for of in each.scores], None) for name in ("system", "segments")},
                "documents": plain([of.documents for of in each.scores], None) if content.documents else None,
            }
            for each in content.columns
        ],
        "gaps": [*content.gaps],
        "windows": [*_windows(content)],
        "parts": _parts(content),
        "marked": [
            {
                "title": each.title,
                "spans": {
                    f"{s} {i}": [[own.start, own.end, own.severity] for own in spans]
                    for (s, i), spans in each.spans.items()
                },
            }
            for each in all_marked(content)
        ],
        "matches": [*_matches(content)],
    }


def _windows(content: Content) -> Sequence[Mapping[str, Any]]:
    """The windows of metrics that read several segments at once: first segment, end (exclusive), score."""
    found = []
    for number, each in enumerate(content.columns):
        results = [of_system.result for of_system in each.scores]
        windows = [[] if result is None else result.windows for result in results]
        if any(scored.window.end - scored.window.start > 1 for of_system in windows for scored in of_system):
            rows = [
                [
                    [scored.window.start, scored.window.end, None if scored.value is None else 100 * scored.value]
                    for scored in of_system
                ]
                for of_system in windows
            ]
            found.append({"metric": number, "rows": rows})
    return found


def all_marked(content: Content) -> list[SpanColumn]:
    """The error spans of people, then those of each metric that marks any."""
    found = [*content.marked]
    for each in content.columns:
        spans = {
            (s, segment): own
            for s, of_system in enumerate(each.scores)
            for segment, own in error_spans(of_system.result).items()
            if own
        }
        if spans:
            found.append(SpanColumn(each.title, spans))
    return found


def _parts(content: Content) -> dict[str, dict[str, float]]:
    """Score parts of single segments, by "SYSTEM SEGMENT", two numbers."""
    found: dict[str, dict[str, float]] = {}
    for each in content.columns:
        for system, of_system in enumerate(each.scores):
            details = segment_details(of_system.result, 100) if of_system.result else {}
            for segment, detail in details.items():
                if parts := detail.get("parts"):
                    found[f"{system} {segment}"] = found.get(f"{system} {segment}", {}) | parts
    return found


def _matches(content: Content) -> Iterator[dict[str, Any]]:
    """Token matches, from metrics that kept them: the tokens' positions in their texts, and their cosines in millionths.

    In large runs, matches are limited to MATCHED tokens; the segments with the worst scores come first.
    """
    context, left = content.context, MATCHED
    for number, column in enumerate(content.columns):
        matches = [of_system.result.matches if of_system.result else [] for of_system in column.scores]
        if not isinstance(column.metric, TokenMatchingMetric) or not any(matches):
            continue
        scores = column.sign * np.nan_to_num([of_system.segments for of_system in column.scores]).mean(axis=0)
        chosen: list[int] = []
        for i in np.argsort(scores, kind="stable").tolist():
            left -= sum(_tokens(of_system[i]) for of_system in matches)
            if left < 0:
                break
            chosen.append(i)
        if left < 0:
            notice(
                f"{column.title}: matches of tokens are shown for the {len(chosen):,} segments with the lowest scores"
            )
        streams = [[stream[i] or "" for i in chosen] for stream in (*(context.references or []), *context.systems)]
        offsets = [column.metric.tokens(stream) for stream in streams]
        references = len(context.references or [])
        yield {
            "metric": number,
            "segments": chosen,
            "references": [[*map(_flat, stream)] for stream in offsets[:references]],
            "outputs": [[*map(_flat, stream)] for stream in offsets[references:]],
            "pairs": [[_pair(of_system[i]) for i in chosen] for of_system in matches],
        }


def _tokens(match: SegmentMatch | None) -> int:
    sides = () if match is None else (match.pair.hypothesis, match.pair.reference)
    return sum(len(side.cosines) for side in sides if side is not None)


def _flat(spans: Sequence[tuple[int, int]]) -> list[int]:
    return [place for span in spans for place in span]


def _pair(match: SegmentMatch | None) -> list[Any] | None:
    """[reference number, cosines and weights of hypothesis, the same of reference]; weights are None if all are equal."""
    if match is None:
        return None
    found: list[Any] = [match.number]
    for side in (match.pair.hypothesis, match.pair.reference):
        if side is None:
            found += [None, None]
            continue
        alike = bool((side.weights == side.weights[0]).all())
        found.append(np.round(1e6 * side.cosines.astype(np.float64)).astype(int).tolist())
        found.append(None if alike else np.round(1e6 * side.weights.astype(np.float64)).astype(int).tolist())
    return found
