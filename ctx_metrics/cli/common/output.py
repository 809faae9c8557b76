"""The scores of a run as records, and how they are written: tables, TSV, CSV, JSON lines, JSON."""

import json
import math
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sacrebleu.metrics.base import Metric
from tabulate import tabulate

from ...corpus import document_ranges
from ...errors import InputError
from ...scoring.comparison import heading
from ...scoring.context import Context, capabilities
from ...scoring.names import written_name
from ...scoring.results import segment_details
from ...scoring.scores import Scores
from ...separated import SEPARATED, separated
from ...system_names import short_names
from ...writing import write_whole

DECIMALS = {"table": 1, "tsv": 4, "csv": 4}
WIDTH = 120  # characters of a table in the terminal, and of the notes below it
NAME = 8  # most characters in a line of a column header of a matrix


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
    heading: str
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


def texts_of(context: Context, places: Sequence[Place]) -> list[dict[str, str | None]]:
    """Return the source, the references and the hypothesis of each place that is a segment; None for all others."""
    references = context.references or []
    streams: dict[str, Sequence[str | None]] = {} if context.sources is None else {"source": context.sources}
    streams |= {"reference" if k == 0 else f"reference {k + 1}": each for k, each in enumerate(references)}
    hypotheses = dict(zip(context.names, context.systems, strict=True))
    return [
        dict.fromkeys([*streams, "hypothesis"])
        if place.segment is None
        else {name: stream[place.segment - 1] for name, stream in streams.items()}
        | {"hypothesis": hypotheses[place.system][place.segment - 1]}
        for place in places
    ]


def report(metric: Metric, scores: Sequence[Scores], levels: Collection[str], scale: int) -> MetricReport:
    signature = printed_signature(metric, scale)
    own_scale = metric.get_signature().info.get("scale") == 1  # which --scale leaves as it is
    values: list[float] = []
    details: list[dict[str, Any]] = []
    for level in ("segment", "document", "system"):
        for each in scores if level in levels else ():
            of_level = {"segment": each.segments, "document": each.documents, "system": [each.system]}[level]
            values += of_level if own_scale else [value * scale / 100 for value in of_level]
            if level == "system":
                details.append({"signature": signature, **({"counts": each.result.counts} if each.result else {})})
            else:
                parts = segment_details(each.result, scale) if each.result and level == "segment" else {}
                details += [parts.get(i, {}) for i in range(len(of_level))]
    sign = 1 if capabilities(metric).higher_is_better else -1
    return MetricReport(scores[0].title, heading(scores[0].title, sign), signature, values, details)


def printed_signature(metric: Metric, scale: int) -> str:
    """Return the metric's signature; with --scale 1, it records the scale for any metric."""
    signature = metric.get_signature()
    if scale != 100:
        signature.info["scale"] = scale
    return str(signature.format())


def render(
    reports: Mapping[str, MetricReport],
    places: Sequence[Place],
    form: str,
    decimals: int | None,
    scale: int,
    texts: Sequence[Mapping[str, str | None]] = (),
) -> str:
    """Return the scores of places as a table, or in a format with one row for each score.

    texts    of each place, for the columns behind the scores; () for none
    """
    if form == "table":
        return _tables([*reports.values()], places, decimals_of("table", decimals, scale))
    rows = [
        (
            {
                **place._asdict(),
                "metric": written_name(name, report.signature),
                "score": report.scores[k],
                **(texts[k] if texts else {}),
            },
            report.details[k],
        )
        for k, place in enumerate(places)
        for name, report in reports.items()
    ]
    if form in SEPARATED:
        return cells(form, [*rows[0][0]], [[*row.values()] for row, _ in rows], decimals_of(form, decimals, scale))
    return as_json([{**row, **details} for row, details in rows], form, decimals)


def decimals_of(form: str, decimals: int | None, scale: int = 100) -> int:
    """Return the number of decimals: as requested, or the format's default, plus 2 on the scale 0-1 (3 in a table)."""
    return decimals if decimals is not None else DECIMALS[form] + (scale == 1) * (3 if form == "table" else 2)


def number(value: Any, decimals: int, nothing: str = "") -> str:
    """Return the text of a cell: a float with its decimals, `nothing` for NaN and None, anything else without tabs.

    >>> number(81.6145, 1), number(float("nan"), 1, "-"), number("a\\tb", 1)
    ('81.6', '-', 'a b')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return nothing
    return f"{value:.{decimals}f}" if isinstance(value, float) else " ".join(str(value).split("\t"))


def cells(form: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], decimals: int) -> str:
    return separated(form, [columns, *([number(value, decimals) for value in row] for row in rows)])


def as_json(objects: list[dict], form: str, decimals: int | None) -> str:
    """Return JSON lines (jsonl) or one list (json); NaN becomes null, and invalid bytes in file names are escaped."""
    texts = [
        json.dumps(plain(each, decimals), ensure_ascii=False, allow_nan=False)
        .encode(errors="backslashreplace")
        .decode()
        for each in objects
    ]
    if form == "jsonl":
        return "".join(text + "\n" for text in texts)
    return "[\n" + ",\n".join(texts) + "\n]\n"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return tabulate(
        rows, headers, "fancy_grid", colalign=("right",), stralign="center", numalign="center", disable_numparse=True
    )


def matrix(corner: str, names: Sequence[str], order: Sequence[int], cell: Callable[[int, int], str]) -> str:
    """Return a table of all pairs (row, column) of things in an order, with "-" on the diagonal.

    If the names are too long for columns, the columns have numbers, and the rows have numbers and names.
    """
    headers, beside = short_names([names[j] for j in order], NAME), [names[i] for i in order]
    if max(len(word) for name in headers for word in name.split(" ")) > NAME:
        headers = [f"({place})" for place in range(1, len(order) + 1)]  # full names are too wide for a terminal
        beside = [f"{place} {name}" for place, name in zip(headers, beside, strict=True)]
    headers = ["\n".join(textwrap.wrap(name, NAME, break_on_hyphens=False)) or name for name in headers]
    rows = [[name, *("-" if i == j else cell(i, j) for j in order)] for name, i in zip(beside, order, strict=True)]
    return table([corner, *headers], rows)


def signatures(of_metrics: Iterable[tuple[str, str]]) -> str:
    title = "Metric signatures"
    line = "-" * len(title)
    return "\n".join([line, title, line, *(f" - {name:<10} {signature}" for name, signature in of_metrics)])


def write(text: str, path: str | None) -> None:
    """Write to a file atomically, or to the standard output if `path` is None.

    If the file cannot be written, writes to the standard output and raises InputError.
    """
    if path is not None:
        try:
            write_whole(path, text, "the output is on the standard output instead")
            return
        except InputError:
            sys.stdout.write(text)  # so that hours of scoring are not lost
            raise
    sys.stdout.write(text)


def _tables(reports: Sequence[MetricReport], places: Sequence[Place], decimals: int) -> str:
    tables = []
    for level in dict.fromkeys(place.level for place in places):
        chosen = [k for k, place in enumerate(places) if place.level == level]
        columns = [("System", "system"), *[("Segment", "segment")] * (level == "segment")]
        if any(places[k].document is not None for k in chosen):
            columns.insert(1, ("Document", "document"))
        rows = [
            [number(getattr(places[k], field), 0) for _, field in columns]
            + [number(report.scores[k], decimals, "-") for report in reports]
            for k in chosen
        ]
        tables.append(table([*(title for title, _ in columns), *(report.heading for report in reports)], rows))
    below = signatures((report.title, report.signature) for report in reports)
    return "\n\n".join([*tables, below]) + "\n"


def plain(value: Any, decimals: int | None) -> Any:
    """Return a value that JSON can write: not finite numbers become null, others are rounded if `decimals` is given."""
    if isinstance(value, dict):
        return {key: plain(each, decimals) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, decimals) for each in value]
    if hasattr(value, "tolist"):  # NumPy numbers, which some metrics return, and arrays
        return plain(value.tolist(), decimals)
    if isinstance(value, float):
        return None if not math.isfinite(value) else value if decimals is None else round(value, decimals)
    return value
