"""The unit of work: a block of whole documents, planned from the input alone, so that its scores are the same wherever and
beside whatever they are computed."""

from collections.abc import Iterable, Iterator

from ..errors import InputError
from .rows import Rows

ROWS = 10_000
FIRST = 100  # most rows of a run's first block; each block may have twice as many as the one before


def blocks(rows: Iterable[Rows], size: int, document: str | None, number: int = 0) -> Iterator[Rows]:
    """The rows of one table in blocks of whole documents.

    The first blocks of a run are small, so that it soon says what it has to say, and soon has something to keep.

    size        most rows of a block; a document that is longer makes a block of its own
    document    the column of document ids, a document being a run of equal ones; None: any row may begin a block
    number      how many blocks of the run come before these
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
    """The rows of one table as one block, of a table that is one document.

    too_long    the message of the InputError that is raised where there are more than `size` rows
    """
    held: Rows | None = None
    for more in rows:
        held = more if held is None else held.with_more(more)
        if len(held) > size:
            raise InputError(too_long)
    if held is not None:
        yield held


def _end(held: Rows, size: int, document: str | None) -> int:
    """Where the first block of some rows ends; 0 where more rows must be read to tell, or there are none."""
    if len(held) <= size:
        return 0
    if document is None:
        return size
    ids = held.texts(document)
    before = (i for i in range(size, 0, -1) if ids[i - 1] != ids[i])
    behind = (i for i in range(size + 1, len(held)) if ids[i - 1] != ids[i])
    return next(before, 0) or next(behind, 0)
