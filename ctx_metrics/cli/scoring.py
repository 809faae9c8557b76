"""Makes the metrics of one run and collects what they say as records."""

import copy
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from sacrebleu.metrics.base import Metric

from ..engine.options import EngineOptions
from ..errors import InputError
from ..metrics.base import ContextMetric, SystemResult
from ..metrics.construct import constructor_parameters
from ..notices import notice
from ..pseudo_references.options import PseudoFilter
from ..roundtrip.options import BackTranslation
from .inputs import Inputs, named_lines


@dataclass(frozen=True)
class Record:
    """One score.

    level       segment, document or system
    document    the id, None where it is unknown or of a whole system
    segment     1-based, None for documents and systems
    score       on the scale that is printed; NaN where nothing was scored
    details     for JSON: parts and error_spans of segments, signature and counts of systems
    """

    level: str
    system: str
    document: Optional[str]
    segment: Optional[int]
    metric: str
    score: float
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class MetricReport:
    """All that one metric says of a run; `title` is its name in a table."""

    title: str
    signature: str
    records: list[Record]


def build_metrics(inputs: Inputs, args: Namespace) -> dict[str, Metric]:
    """Make all metrics before the first one scores, so that what they share is computed once.

    Raises InputError if one needs a reference and none is given; says which inputs none of them reads.
    """
    context = _context(inputs, args)
    metrics = {name: _build(name, inputs, args, context) for name in args.metrics}
    given = {
        "sources": None if args.dataset else inputs.sources,
        "doc_ids": inputs.doc_ids if args.docids and args.levels == ["system"] else None,
        "roundtrips": inputs.roundtrips,
        "pseudo_references": inputs.pseudo_references,
    }
    for key, words, pronoun in (
        ("sources", "the source is", "it"),
        ("doc_ids", "document ids are", "them"),
        ("roundtrips", "round trips are", "them"),
        ("pseudo_references", "pseudo-references are", "them"),
    ):
        read = [
            key in constructor_parameters(type(metric)) and key not in getattr(metric, "unused_context", ())
            for metric in metrics.values()
        ]
        if given[key] is not None and not any(read):
            notice(f"{words} given, and none of the metrics reads {pronoun} ({', '.join(metrics)})")
    return metrics


def score(name: str, metric: Metric, inputs: Inputs, args: Namespace) -> MetricReport:
    """Score all systems with one metric, on the levels that are asked for."""
    results: Sequence[Optional[SystemResult]] = [None] * len(inputs.systems)
    if isinstance(metric, ContextMetric):
        results = metric.system_results()
    records, title = [], name
    signature = printed_signature(metric, args.scale)
    for system, hypotheses, result in zip(inputs.names, inputs.systems, results):
        rows = result.rows if result else metric._extract_corpus_statistics(hypotheses, None)
        whole = metric._aggregate_and_compute(rows)
        title = whole.name
        if "segment" in args.levels:
            records += _segments(name, system, metric, rows, result, inputs, args.scale)
        if "document" in args.levels:
            for document, start, end in inputs.documents():
                value = metric._aggregate_and_compute(rows[start:end]).score * args.scale / 100
                records.append(Record("document", system, document, None, name, value))
        if "system" in args.levels:
            details = {"signature": signature, **({"counts": result.counts} if result else {})}
            records.append(Record("system", system, None, None, name, whole.score * args.scale / 100, details))
    return MetricReport(title, signature, records)


def _context(inputs: Inputs, args: Namespace) -> dict[str, Any]:
    """What a constructor may name. Round trips are made here, once, if --rtt-bt asks for them and a metric reads them."""
    engine = EngineOptions(args.ctx_device, args.ctx_dtype, args.ctx_batch_tokens, args.ctx_store_mb, args.quiet)
    roundtrips, backtranslator = inputs.roundtrips, args.rtt_bt_name
    if args.rtt_bt and any("roundtrips" in constructor_parameters(args.table[name.upper()]) for name in args.metrics):
        from ..roundtrip.translate import round_trips

        options = BackTranslation.from_args(args)
        roundtrips, backtranslator = round_trips(
            inputs.systems, inputs.source_lang, inputs.target_lang, options, engine
        )
    return {
        "systems": inputs.systems,
        "sources": inputs.sources,
        "doc_ids": inputs.doc_ids,
        "source_lang": inputs.source_lang,
        "target_lang": inputs.target_lang,
        "trg_lang": inputs.target_lang or "",  # BLEU's, which chooses its tokenizer by it
        "roundtrips": roundtrips,
        "backtranslator": backtranslator,
        "pseudo_references": inputs.pseudo_references,
        "pseudo_filter": PseudoFilter.from_args(args),
        "engine": engine,
    }


def _build(name: str, inputs: Inputs, args: Namespace, context: dict[str, Any]) -> Metric:
    """Make a metric with its own flags and what its constructor names of the context."""
    cls = args.table[name.upper()]
    mend = f"{name}: needs a reference: give -r FILE"
    if not inputs.references and not issubclass(cls, ContextMetric):
        raise InputError(mend)
    own = {dest.removeprefix(f"{name}_"): getattr(args, dest) for dest in args.own.get(name, ())}
    for key in getattr(cls, "LINE_FILES", ()):
        if own.get(key):
            own[key] = named_lines(own[key], args)
    takes = constructor_parameters(cls)
    metric = cls(references=inputs.references, **{key: value for key, value in context.items() if key in takes}, **own)
    if (
        not inputs.references and metric.reads_references and not hasattr(metric, "estimator")
    ):  # an estimator says so itself
        raise InputError(mend)
    return metric


def printed_signature(metric: Metric, scale: int) -> str:
    """The metric's signature; with --scale 1 it says so, whatever the metric."""
    signature = metric.get_signature()
    if scale != 100:
        signature.info["scale"] = scale
    return str(signature.format())


def _segments(
    name: str, system: str, metric: Metric, rows: Sequence, result: Optional[SystemResult], inputs: Inputs, scale: int
) -> Iterator[Record]:
    if getattr(metric, "effective_order", None) is False:  # BLEU of one sentence, as sacrebleu --sentence-level has it
        metric = copy.copy(metric)
        metric.effective_order = True
    said = _said_of_segments(result, scale) if result else {}
    for i, row in enumerate(rows):
        document = inputs.doc_ids[i] if inputs.doc_ids else None
        value = metric._aggregate_and_compute([row]).score * scale / 100
        yield Record("segment", system, document, i + 1, name, value, said.get(i, {}))


def _said_of_segments(result: SystemResult, scale: int) -> dict[int, dict[str, Any]]:
    """What a learned model says beside the score of each segment that it read by itself, and in no other window."""
    reads = Counter(i for scored in result.windows for i in range(scored.window.start, scored.window.end))
    said: dict[int, dict[str, Any]] = {}
    for scored in result.windows:
        (start, end, _), estimate = scored.window, scored.estimate
        if estimate is None or end - start > 1 or reads[start] > 1:
            continue
        details = said.setdefault(start, {})
        if estimate.parts:
            details["parts"] = {part: value * scale for part, value in estimate.parts.items()}
        if estimate.spans is not None:
            details["error_spans"] = [span._asdict() for span in estimate.spans]
    return said
