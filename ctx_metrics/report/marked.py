"""Error spans that people or other programs marked, from tables such as WMT25's predictions.tsv."""

from collections.abc import Sequence

from ..errors import InputError
from ..judgements.measures.spans import Span
from ..judgements.readers.spans import SpanRow as Row
from ..judgements.readers.spans import read_marked
from ..notices import counted, notice
from ..scoring.context import Context
from ..system_names import system_names
from .content import SpanColumn


def read_spans(paths: Sequence[str], context: Context) -> list[SpanColumn]:
    """Read the spans in each table. Its rows name a system of the run and the 1-based number of a segment."""
    titles = [name.removesuffix(".tsv") for name in system_names(paths)]
    return [_read(path, title, context) for path, title in zip(paths, titles, strict=True)]


def _read(path: str, title: str, context: Context) -> SpanColumn:
    rows, names = read_marked(path), context.names
    own = [row for row in rows if _system(row, names) in names]
    if not own:
        raise InputError(
            f"{path}: no row belongs to a system of this run ({', '.join(names)})", fix="--names gives their names"
        )
    if len(own) < len(rows):
        notice(f"{path}: {counted(len(rows) - len(own), 'row belongs', 'rows belong')} to other systems, left out")
    spans: dict[tuple[int, int], list[Span]] = {}
    for row in own:
        place = names.index(_system(row, names)), _segment(row, len(context.systems[0]))
        text = context.systems[place[0]][place[1]]
        if place in spans:
            raise InputError(f"{row.where}: a second row of this system's segment {place[1] + 1}", fix="leave one out")
        if row.hypothesis and row.hypothesis != text:
            raise InputError(f"{row.where}: its hypothesis is not the output of this run's segment {place[1] + 1}")
        if (last := max((span.end or 0 for span in row.spans), default=0)) > len(text):
            raise InputError(f"{row.where}: a span ends at character {last}, but the output has {len(text)}")
        spans[place] = row.spans
    return SpanColumn(title, {place: found for place, found in spans.items() if found})


def _system(row: Row, names: Sequence[str]) -> str:
    return row.key.get("system_id") or (names[0] if len(names) == 1 else "")


def _segment(row: Row, segments: int) -> int:
    number = row.key["segment_id"]
    if not number.isdecimal() or not 1 <= int(number) <= segments:
        raise InputError(f"{row.where}: segment_id {number} must be between 1 and {segments:,}, the number of segments")
    return int(number) - 1
