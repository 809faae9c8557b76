"""Divides tables into blocks of whole documents. Blocks depend on the input alone, so that a block's scores are the same
wherever it is scored, and whatever else is scored."""

from collections.abc import Iterable, Iterator

from ..errors import InputError
from .rows import Rows

ROWS = 10_000
FIRST = 100  # most rows of a run's first block; each later block may have twice as many as the one before


def blocks(rows: Iterable[Rows], size: int, document: str | None, number: int = 0) -> Iterator[Rows]:
    """Divide the rows of one table into blocks of whole documents.

    The first blocks of a run are small, so that problems show early and a stopped run can keep some results.

    size        most rows of a block; a longer document becomes a block of its own
    document    the column of document ids (a document is a run of equal ids); None: a block may begin at any row
    number      number of blocks in this run that precede these
    """
    most = min(size, FIRST << min(number, 32))
    held: Rows | None = None
    for more in rows:
        held = more if held is None else held.with_more(more)
        while end := _end(held, most, document):
            yield held.part(0, end)
            held, most = held.part(end, len(held)), min(size, 2 * most)
    if held is not None:
        yield held


def one_block(rows: Iterable[Rows], size: int, too_long: str) -> Iterator[Rows]:
    """Return all rows of a table as one block, for a table that is a single document.

    too_long    message of the InputError raised if there are more than `size` rows
    """
    held: Rows | None = None
    for more in rows:
        held = more if held is None else held.with_more(more)
        if len(held) > size:
            raise InputError(too_long)
    if held is not None:
        yield held


def _end(held: Rows, size: int, document: str | None) -> int:
    """Where the first block of these rows ends; 0 if more rows must be read to tell."""
    if len(held) <= size:
        return 0
    if document is None:
        return size
    ids = held.texts(document)
    before = (i for i in range(size, 0, -1) if ids[i - 1] != ids[i])
    behind = (i for i in range(size + 1, len(held)) if ids[i - 1] != ids[i])
    return next(before, 0) or next(behind, 0)
