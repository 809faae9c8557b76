"""Makes the metrics of one run and collects what they say as records."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sacrebleu.metrics.base import Metric

from ...corpus import document_ranges
from ...errors import InputError
from ...run.context import Context, MetricSettings, build_all, capabilities
from ...run.inputs import say_unread
from ...run.streams import file_segments, named
from ...run.text_checks import unescaped
from ...scoring.base import ContextMetric, SystemResult
from ...scoring.scores import Scores
from ..common.inputs import Inputs, Texts


class Place(NamedTuple):
    """The segment, document or system that a score belongs to.

    level       segment, document or system
    document    the document id; None if it is unknown, and for systems
    segment     1-based; None for documents and systems
    """

    level: str
    system: str
    document: str | None = None
    segment: int | None = None


class MetricReport(NamedTuple):
    """All results of one metric in a run, in the order of the places.

    title      the metric's name in a table
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


def build_metrics(inputs: Inputs, chosen: Sequence[MetricSettings], texts: Texts) -> dict[str, Metric]:
    """Build all metrics before the first one scores, so that shared inputs are computed once.

    Raises InputError if a metric needs a reference and none is given.
    """
    chosen = [_with_lines(each, texts) for each in chosen]
    context = _with_computed_inputs(inputs, chosen)
    for each in chosen:
        if not context.references and not issubclass(each.cls, ContextMetric):
            raise InputError(f"{each.name}: needs a reference: give -r FILE")
    built = build_all([(each.cls, each.own) for each in chosen], context)
    metrics = {each.name: metric for each, metric in zip(chosen, built, strict=True)}
    for name, metric in metrics.items():
        can = capabilities(metric)
        if not context.references and can.references and not can.estimator:  # estimators raise their own error
            raise InputError(f"{name}: needs a reference: give -r FILE")
    return metrics


def say_unread_inputs(metrics: Mapping[str, Metric], inputs: Inputs, texts: Texts, by_document: bool) -> None:
    """Give notice of inputs that none of the metrics reads.

    by_document    whether document ids have a use of their own
    """
    context, read = inputs.context, [capabilities(metric) for metric in metrics.values()]
    given = [
        ("sources", None if texts.dataset else context.sources, "the source"),
        ("doc_ids", None if by_document else texts.docids, "the document ids"),
        *((each.name, context.inputs.get(each.name), f"the {each.words}") for each in inputs.given),
    ]
    for key, value, what in given:
        if value is not None and not any(key in can.keywords for can in read):
            say_unread(what, metrics)


def report(metric: Metric, scores: Sequence[Scores], levels: Collection[str], scale: int) -> MetricReport:
    """Return one metric's scores of all systems, in the order of `places`."""
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


def _with_computed_inputs(inputs: Inputs, chosen: Sequence[MetricSettings]) -> Context:
    """Return the context with the computed inputs that any metric reads, such as round trips, computed once for all."""
    context, read = inputs.context, frozenset[str]().union(*(capabilities(each.cls).keywords for each in chosen))
    for each, given in inputs.given.items():
        if each.name in read and context.inputs.get(each.name) is None:
            context = replace(context, inputs={**context.inputs, **each.values(None, given.settings, context)})
    return context


def _with_lines(metric: MetricSettings, texts: Texts) -> MetricSettings:
    """Return the metric with the lines of the files that its flags name instead of their paths."""
    own = dict(metric.own)
    for key in capabilities(metric.cls).line_files:
        if own.get(key):
            own[key] = [file_segments(path, texts.encoding) for path in own[key]]
            if texts.unescape:
                own[key] = [named([unescaped(line) for line in stream], stream.name) for stream in own[key]]
    return metric._replace(own=own)


def printed_signature(metric: Metric, scale: int) -> str:
    """Return the metric's signature; with --scale 1, it records the scale for any metric."""
    signature = metric.get_signature()
    if scale != 100:
        signature.info["scale"] = scale
    return str(signature.format())


def _details(result: SystemResult, scale: int) -> dict[int, dict[str, Any]]:
    """Return a learned model's parts and error spans, by 0-based segment.

    Only segments that the model read alone, and in no other window, have any.
    """
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
