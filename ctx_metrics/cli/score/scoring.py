"""Makes the metrics of one run and collects what they say as records."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sacrebleu.metrics.base import Metric

from ...corpus import document_ranges
from ...scoring.base import SystemResult
from ...scoring.scores import Scores


class Place(NamedTuple):
    """The segment, document or system that a score belongs to.

    document    the document id; None if it is unknown, and for systems
    segment     1-based; None for documents and systems
    """

    level: str
    system: str
    document: str | None = None
    segment: int | None = None


class MetricReport(NamedTuple):
    """All results of one metric in a run, in the order of the places.

    scores     on the printed scale; NaN where nothing was scored
    details    for JSON: parts and error_spans of segments, signature and counts of systems
    """

    title: str
    signature: str
    scores: list[float]
    details: list[dict[str, Any]]


def places(systems: Sequence[str], segments: int, doc_ids: Sequence[str] | None, levels: Sequence[str]) -> list[Place]:
    """Return the places that are scored on the requested levels: first segments, then documents, then systems."""
    documents = [doc_ids[start] for start, _ in document_ranges(doc_ids)] if doc_ids else []
    of_level: dict[str, list[tuple]] = {
        "segment": [(doc_ids[i] if doc_ids else None, i + 1) for i in range(segments)],
        "document": [(document,) for document in documents],
        "system": [()],
    }
    return [
        Place(level, system, *place)
        for level in of_level
        if level in levels
        for system in systems
        for place in of_level[level]
    ]


def report(metric: Metric, scores: Sequence[Scores], levels: Collection[str], scale: int) -> MetricReport:
    signature = printed_signature(metric, scale)
    values: list[float] = []
    details: list[dict[str, Any]] = []
    for level in ("segment", "document", "system"):
        for each in scores if level in levels else ():
            of_level = {"segment": each.segments, "document": each.documents, "system": [each.system]}[level]
            values += [value * scale / 100 for value in of_level]
            if level == "system":
                details.append({"signature": signature, **({"counts": each.result.counts} if each.result else {})})
            else:
                parts = _details(each.result, scale) if each.result and level == "segment" else {}
                details += [parts.get(i, {}) for i in range(len(of_level))]
    return MetricReport(scores[0].title, signature, values, details)


def printed_signature(metric: Metric, scale: int) -> str:
    """Return the metric's signature; with --scale 1, it records the scale for any metric."""
    signature = metric.get_signature()
    if scale != 100:
        signature.info["scale"] = scale
    return str(signature.format())


def _details(result: SystemResult, scale: int) -> dict[int, dict[str, Any]]:
    """Return the parts and error spans, by 0-based segment, of segments that the model read alone and in no other window."""
    reads = Counter(i for scored in result.windows for i in range(scored.window.start, scored.window.end))
    details: dict[int, dict[str, Any]] = {}
    for scored in result.windows:
        (start, end, _), estimate = scored.window, scored.estimate
        if estimate is None or end - start > 1 or reads[start] > 1:
            continue
        of_segment = details.setdefault(start, {})
        if estimate.parts:
            of_segment["parts"] = {part: value * scale for part, value in estimate.parts.items()}
        if estimate.spans is not None:
            of_segment["error_spans"] = [span._asdict() for span in estimate.spans]
    return details
