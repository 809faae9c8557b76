"""Writes scores: tables, TSV, CSV, JSON lines, JSON."""

import json
import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from ...errors import InputError
from ...run.streams import short_names
from ...separated import SEPARATED, separated
from ...writing import write_whole
from ..score.scoring import MetricReport, Place

DECIMALS = {"table": 1, "tsv": 4, "csv": 4}
WIDTH = 120  # of a table in the terminal, and of the notes below it
NAME = 8  # letters of a name at the head of a matrix's column


def render(
    reports: Mapping[str, MetricReport], places: Sequence[Place], form: str, decimals: int | None, scale: int
) -> str:
    """The text of all metrics' scores in a format, those of one place side by side."""
    if form == "table":
        return _tables([*reports.values()], places, decimals_of("table", decimals, scale))
    rows = [
        ({**place._asdict(), "metric": name, "score": report.scores[k]}, report.details[k])
        for k, place in enumerate(places)
        for name, report in reports.items()
    ]
    if form in SEPARATED:
        return cells(form, [*rows[0][0]], [[*row.values()] for row, _ in rows], decimals_of(form, decimals, scale))
    return as_json([{**row, **details} for row, details in rows], form, decimals)


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


def cells(form: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], decimals: int) -> str:
    """Values under a header as tsv or csv; what is not there is empty."""
    return separated(form, [columns, *([number(value, decimals) for value in row] for row in rows)])


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


def matrix(corner: str, names: Sequence[str], order: Sequence[int], cell: Callable[[int, int], str]) -> str:
    """A table of all pairs, (row, column), of things in an order, with "-" on the diagonal; long names stand beside rows
    alone, under numbers."""
    headers, beside = short_names([names[j] for j in order], NAME), [names[i] for i in order]
    if max(len(word) for name in headers for word in name.split(" ")) > NAME:
        headers = [f"({place})" for place in range(1, len(order) + 1)]  # the whole names are too wide for a terminal
        beside = [f"{place} {name}" for place, name in zip(headers, beside, strict=True)]
    headers = ["\n".join(textwrap.wrap(name, NAME, break_on_hyphens=False)) or name for name in headers]
    rows = [[name, *("-" if i == j else cell(i, j) for j in order)] for name, i in zip(beside, order, strict=True)]
    return table([corner, *headers], rows)


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
        tables.append(table([*(title for title, _ in columns), *(report.title for report in reports)], rows))
    below = signatures((report.title, report.signature) for report in reports)
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
