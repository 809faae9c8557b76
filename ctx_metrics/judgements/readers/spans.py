"""WMT25's tables of error spans: predictions.tsv, and the judgements in the same form."""

from collections.abc import Sequence
from typing import NamedTuple

from ...cli.common.spans import KEYS, MARKS, NO_ERROR
from ...errors import InputError
from ..measures.spans import SEVERITIES, Span
from .rows import Row, is_whole, read_csv

MISSING = "missing"  # in place of the numbers of an error that is not in the hypothesis
TEXT = "hypothesis_segment"


class SpanRow(NamedTuple):
    """One row: its key, the hypothesis ("" if the table has no texts), and its spans; `where` names its file and line."""

    where: str
    key: dict[str, str]
    hypothesis: str
    spans: list[Span]


def read_marked(path: str, texts: bool = False) -> list[SpanRow]:
    """Read a table with tabs, quoted as pandas writes it (also .gz and .xz).

    texts    whether it must hold the hypotheses
    """
    header, rows = read_csv(path, ["segment_id", *[TEXT] * texts, *MARKS], delimiter="\t")
    if not rows:
        raise InputError(f"{path}: no rows below the header")
    keys = [name for name in KEYS if name in header]
    return [
        SpanRow(row.where, {name: row.cells[name] for name in keys}, row.cells.get(TEXT, ""), _spans(row))
        for row in rows
    ]


def _spans(row: Row) -> list[Span]:
    starts, ends, severities = (row.cells[name].split() for name in MARKS)
    if severities == [NO_ERROR]:
        if places := {*starts, *ends} - {"-1"}:
            raise InputError(
                f"{row.where}: {NO_ERROR} at {', '.join(sorted(places))}", fix="write -1 and -1, or the error's type"
            )
        return []
    if not len(starts) == len(ends) == len(severities) > 0:
        numbers = f"{len(starts)} starts, {len(ends)} ends and {len(severities)} types"
        raise InputError(f"{row.where}: {numbers}", fix=f"give as many of each, or -1, -1 and {NO_ERROR}")
    return [_span(row.where, *each) for each in zip(starts, ends, severities, strict=True)]


def _span(where: str, start: str, end: str, severity: str) -> Span:
    if severity not in SEVERITIES:
        raise InputError(f"{where}: error type {severity!r} is not one of {', '.join(SEVERITIES)}, {NO_ERROR}")
    if start == MISSING:
        return Span(None, None, severity)
    if not (is_whole(start) and is_whole(end)):
        raise InputError(
            f"{where}: {start} to {end} are not positions of characters", fix=f"write numbers from 0, or {MISSING}"
        )
    if int(end) < int(start):
        raise InputError(
            f"{where}: the span ends before it starts ({start} to {end}); the end is the character after its last"
        )
    return Span(int(start), int(end), severity)


def described(rows: Sequence[SpanRow]) -> dict[str, int]:
    """The statement of a report about a set."""
    return {
        "systems": len({row.key.get("system_id") for row in rows}),
        "outputs": len(rows),
        "spans": sum(len(row.spans) for row in rows),
    }
