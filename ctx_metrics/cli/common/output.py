"""Writes scores: tables, TSV, JSON lines, JSON."""

import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from tabulate import tabulate

from ...errors import InputError
from ...writing import write_whole
from ..score.scoring import MetricReport, Record

COLUMNS = ("level", "system", "document", "segment", "metric", "score")
DECIMALS = {"table": 1, "tsv": 4}


def render(reports: dict[str, MetricReport], form: str, decimals: int | None, scale: int) -> str:
    """The text of all records in a format; segments come first, then documents, then systems."""
    records = [
        record
        for level in ("segment", "document", "system")
        for record in _by_place([report.records for report in reports.values()], level)
    ]
    if form == "table":
        return _tables(reports, records, scale, decimals)
    if form == "tsv":
        rows = [[getattr(record, column) for column in COLUMNS] for record in records]
        return tsv(COLUMNS, rows, decimals_of("tsv", decimals, scale))
    return as_json(
        [{**{column: getattr(record, column) for column in COLUMNS}, **record.details} for record in records],
        form,
        decimals,
    )


def decimals_of(form: str, decimals: int | None, scale: int = 100) -> int:
    """The decimals to print: those asked for, or a format's own, two more on the scale 0-1 (three in a table)."""
    return decimals if decimals is not None else DECIMALS[form] + (scale == 1) * (3 if form == "table" else 2)


def number(value: Any, decimals: int, nothing: str = "") -> str:
    """A cell: a float with its decimals, `nothing` for NaN and None, anything else without tabs and line ends.

    >>> number(81.6145, 1), number(float("nan"), 1, "-"), number("a\\tb", 1)
    ('81.6', '-', 'a b')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return nothing
    return f"{value:.{decimals}f}" if isinstance(value, float) else " ".join(str(value).split("\t"))


def tsv(columns: Sequence[str], rows: Iterable[Sequence[Any]], decimals: int) -> str:
    """Tab-separated values under a header; what is not there is empty."""
    lines = [columns, *([number(value, decimals) for value in row] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def as_json(objects: list[dict], form: str, decimals: int | None) -> str:
    """JSON lines (jsonl) or one list (json); NaN becomes null. Bytes of a file's name that are no text are escaped."""
    texts = [
        json.dumps(_plain(each, decimals), ensure_ascii=False, allow_nan=False)
        .encode(errors="backslashreplace")
        .decode()
        for each in objects
    ]
    if form == "jsonl":
        return "".join(text + "\n" for text in texts)
    return "[\n" + ",\n".join(texts) + "\n]\n"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as sacrebleu draws it."""
    return tabulate(
        rows, headers, "fancy_grid", colalign=("right",), stralign="center", numalign="center", disable_numparse=True
    )


def signatures(of_metrics: Iterable[tuple[str, str]]) -> str:
    """The signatures under a table, as sacrebleu prints them."""
    title = "Metric signatures"
    line = "-" * len(title)
    return "\n".join([line, title, line, *(f" - {name:<10} {signature}" for name, signature in of_metrics)])


def write(text: str, path: str | None) -> None:
    """Write to a file, whole or not at all, or to the standard output, which is also where it goes if the file fails.

    Raises InputError where the file cannot be written.
    """
    if path is not None:
        try:
            write_whole(path, text, "; the output is on the standard output instead")
            return
        except InputError:
            sys.stdout.write(text)  # hours of scoring are not lost with the file
            raise
    sys.stdout.write(text)


def _by_place(of_metrics: Sequence[list[Record]], level: str) -> list[Record]:
    """The records of a level, all metrics' scores of one segment, document or system side by side."""
    levels = [[record for record in records if record.level == level] for records in of_metrics]
    return [record for records in zip(*levels, strict=True) for record in records]


def _tables(reports: dict[str, MetricReport], records: list[Record], scale: int, decimals: int | None) -> str:
    titles = [report.title for report in reports.values()]
    decimals = decimals_of("table", decimals, scale)
    tables = []
    for level in dict.fromkeys(record.level for record in records):
        of_level = [record for record in records if record.level == level]
        headers = ["System"]
        with_document = any(record.document is not None for record in of_level)
        headers += ["Document"] * with_document + ["Segment"] * (level == "segment")
        rows = []
        for k in range(0, len(of_level), len(titles)):
            place = of_level[k]
            rows.append(
                [place.system]
                + [number(place.document, 0)] * with_document
                + [number(place.segment, 0)] * (level == "segment")
                + [number(record.score, decimals, "-") for record in of_level[k : k + len(titles)]]
            )
        tables.append(table([*headers, *titles], rows))
    below = signatures((report.title, report.signature) for report in reports.values())
    return "\n\n".join([*tables, below]) + "\n"


def _plain(value: Any, decimals: int | None) -> Any:
    """A value that JSON can write, rounded if decimals are asked for."""
    if isinstance(value, dict):
        return {key: _plain(each, decimals) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, decimals) for each in value]
    if hasattr(value, "item"):  # NumPy's numbers, which some metrics give
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else value if decimals is None else round(value, decimals)
    return value
