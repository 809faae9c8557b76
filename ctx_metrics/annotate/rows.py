"""Rows of tables: streamed in, grouped into blocks, and written unchanged with columns of scores appended.

Blocks depend on the input alone, so that a block's scores are the same wherever it is scored, and whatever else is scored.
"""

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any

from ..errors import InputError
from ..notices import counted, notice
from ..opening import shown
from ..reading import csv_records, decode, json_object, lines_of, tsv_records, without_mark
from .addresses import readable
from .tables import EXTRA, Table, opened, packed

EXAMPLE = ("src", "mt", "ref")  # roles of a table's first columns
LONGEST, WORDS = 40, 3  # most characters and words of a column's name
AT_ONCE = 4096  # rows read at a time
HEADS = "src mt ref doc rtt source target hypothesis reference".split()  # names of columns, and hardly ever texts
DECIMALS = 4  # of scores in text formats; JSON lines and Parquet keep full precision
Text = str | None
Value = float | str | None  # in a new column


class Rows(ABC):
    """Some consecutive rows of one table."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def texts(self, column: str) -> list[Text]:
        """The texts of a column that was wanted when the table was opened, one per row; None where there is none."""

    @abstractmethod
    def part(self, start: int, end: int) -> "Rows":
        """The rows from `start` up to, but not including, `end`."""

    @abstractmethod
    def with_more(self, other: "Rows") -> "Rows":
        """These rows followed by other rows of the same table."""

    @abstractmethod
    def content(self, scores: Mapping[str, Sequence[Value]], kept: Sequence[bool]) -> bytes:
        """A file of the rows that are kept, with scores in columns of these names; None is written as a missing value."""


class TextRows(Rows):
    """Rows of TSV, CSV or JSON lines, each kept verbatim.

    lines    text of each row, without the line end
    cells    texts of each row in the wanted columns
    """

    def __init__(self, reader: "TextReader", lines: list[str], cells: list[tuple[Text, ...]]):
        self._reader, self._lines, self._cells = reader, lines, cells

    def __len__(self) -> int:
        return len(self._lines)

    def texts(self, column: str) -> list[Text]:
        place = self._reader.wanted.index(column)
        return [cells[place] for cells in self._cells]

    def part(self, start: int, end: int) -> "TextRows":
        return TextRows(self._reader, self._lines[start:end], self._cells[start:end])

    def with_more(self, other: Rows) -> "TextRows":
        assert isinstance(other, TextRows)
        return TextRows(self._reader, self._lines + other._lines, self._cells + other._cells)

    def content(self, scores: Mapping[str, Sequence[Value]], kept: Sequence[bool]) -> bytes:
        added = zip(*scores.values(), strict=True) if scores else [()] * len(self)
        rows = compress(zip(self._lines, added, strict=True), kept)
        lines = [
            *self._reader.header(list(scores)),
            *(self._reader.extended(line, own, [*scores]) for line, own in rows),
        ]
        return packed("".join(f"{line}\n" for line in lines).encode(), self._reader.table.packed)


class ArrowRows(Rows):
    def __init__(self, path: str, table: Any, first: int, ids: Collection[str] = ()):
        self._path, self._table, self._first, self._ids = path, table, first, ids

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def texts(self, column: str) -> list[Text]:
        texts = []
        for row, value in enumerate(self._table.column(column), self._first):
            try:
                found = value.as_py()
            except UnicodeDecodeError as error:
                where = f"{self._path}, row {row + 1}: byte {error.start + 1} of column {column}"
                raise InputError(f"{where} is not utf-8", fix="write the table with text as UTF-8") from error
            texts.append(_text(found, self._path, row, column, self._ids, self._text_columns))
        return texts

    def _text_columns(self) -> list[str]:
        return [field.name for field in self._table.schema if str(field.type) in ("string", "large_string")]

    def part(self, start: int, end: int) -> "ArrowRows":
        return ArrowRows(self._path, self._table.slice(start, end - start), self._first + start, self._ids)

    def with_more(self, other: Rows) -> "ArrowRows":
        import pyarrow

        assert isinstance(other, ArrowRows)
        return ArrowRows(self._path, pyarrow.concat_tables([self._table, other._table]), self._first, self._ids)

    def content(self, scores: Mapping[str, Sequence[Value]], kept: Sequence[bool]) -> bytes:
        import pyarrow
        from pyarrow import parquet

        table = self._table
        for name, values in scores.items():
            kind = pyarrow.string() if any(isinstance(value, str) for value in values) else pyarrow.float64()
            table = table.append_column(name, pyarrow.array(values, kind))
        if not all(kept):
            table = table.filter(pyarrow.array(kept))
        file = io.BytesIO()
        parquet.write_table(table, file)
        return file.getvalue()


def _text(
    value: Any, path: str, row: int, column: str, ids: Collection[str], text_columns: Callable[[], Sequence[str]]
) -> Text:
    """A cell's text. Raises InputError for anything else; columns of document ids, `ids`, may hold whole numbers."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and column in ids:
        return str(value)
    there = text_columns()
    fix = f"its text columns are {', '.join(there)} (choose with --columns)" if there else ""
    raise InputError(f"{path}, row {row + 1}: column {column} holds {shown(value)}, not text", fix=fix)


class TextReader:
    """Reads TSV, CSV or JSON lines.

    wanted    names of the columns to take texts from; for a table without a header, their numbers, counted from 1
    added     names of the new columns
    ids       those of the wanted columns that hold document ids, which may be whole numbers

    TSV has no quotes: a tab ends a cell and a line feed ends a row. CSV is read as in Python's csv module; cells may contain
    line ends. Each row of JSON lines is an object; null means no text, and keys may be missing.
    """

    def __init__(self, table: Table, wanted: Sequence[str], added: Sequence[str], ids: Collection[str] = ()):
        self.table, self.wanted, self._added, self._ids = table, list(wanted), added, ids
        self.numbered = bool(wanted) and all(map(is_number, wanted))
        if table.form == "jsonl" and self.numbered:
            raise InputError(f"{table.path}: the columns of JSON lines have names, not numbers")
        self._names: list[str] | None = None
        self._first = ""

    def names(self) -> list[str]:
        """The column names from the table's first line; [] for an empty table."""
        with readable(self.table.path), opened(self.table) as file:
            lines = self._lines(file)
            if self.table.form == "jsonl":
                return next((list(found) for _, found in self._parsed(lines)), [])
            return next(([cell.strip() for cell in cells] for _, _, cells in self._split(lines)), [])

    def header(self, added: Sequence[str]) -> list[str]:
        return [] if self._names is None else [self._joined(self._first, list(added))]

    def extended(self, line: str, values: Sequence[Value], names: Sequence[str]) -> str:
        if self.table.form == "jsonl":
            pairs = zip(names, values, strict=True)
            more = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {json.dumps(value)}" for name, value in pairs)
            before = line.rstrip()[:-1].rstrip()
            return f"{before}{'' if before.endswith('{') or not more else ', '}{more}}}"
        cells = [f"{value:.{DECIMALS}f}" if isinstance(value, float) else value or "" for value in values]
        return self._joined(line, cells)

    def _joined(self, line: str, cells: list[str]) -> str:
        if self.table.form == "tsv":
            return "\t".join([line, *cells])
        more = io.StringIO()
        csv.writer(more, lineterminator="").writerow(["", *cells])  # a lone empty cell would be written as ""
        return line + more.getvalue()

    def rows(self) -> Iterator[TextRows]:
        lines: list[str] = []
        cells: list[tuple[Text, ...]] = []
        with readable(self.table.path), opened(self.table) as file:
            for line, own in self._records(self._lines(file)):
                lines.append(line)
                cells.append(own)
                if len(lines) == AT_ONCE:
                    yield TextRows(self, lines, cells)
                    lines, cells = [], []
        if lines:
            yield TextRows(self, lines, cells)

    def count(self) -> int:
        with readable(self.table.path), opened(self.table) as file:
            several = self.table.form == "csv"  # whose rows may span several lines
            rows = sum(1 for _ in (self._split(self._lines(file)) if several else lines_of(file, self.table.path)))
        return max(0, rows - (self.table.form != "jsonl" and not self.numbered))

    def _lines(self, file: Any) -> Iterator[str]:
        path = self.table.path
        for number, content in enumerate(lines_of(file, path), 1):
            line = decode(content, path, first=number)
            yield without_mark(line, path) if number == 1 else line

    def _records(self, lines: Iterator[str]) -> Iterator[tuple[str, tuple[Text, ...]]]:
        """Yield each row verbatim, with its texts in the wanted columns."""
        if self.table.form == "jsonl":
            yield from self._objects(lines)
            return
        places: list[int] | None = None
        width = 0
        for row, (_, line, cells) in enumerate(self._split(lines)):
            if places is None:
                width = len(cells)
                places = self._places(cells)
                if not self.numbered:
                    self._first = line
                    continue
                if heads := [cells[place] for place in places if cells[place].strip().lower() in HEADS]:
                    fix = "if it is a header, name columns (--columns mt=NAME), not their numbers"
                    notice(f"{self.table.path}: its first row holds {heads[0]!r} and is scored as text; {fix}")
            if len(cells) != width:
                there = counted(len(cells), "column", "columns")
                raise InputError(
                    f"{self.table.path}, row {row + self.numbered}: {there}, but the first line has {width}"
                )
            yield line, tuple([cells[place].rstrip() for place in places])

    def _split(self, lines: Iterator[str]) -> Iterator[tuple[int, str, list[str]]]:
        return tsv_records(lines) if self.table.form == "tsv" else csv_records(lines, self.table.path, strict=True)

    def _places(self, cells: list[str]) -> list[int]:
        """The positions of the wanted columns. Stores the header; raises InputError if a new column already exists."""
        if self.numbered:
            places = {str(place + 1): place for place in range(len(cells))}
            if beyond := [name for name in self.wanted if name.lstrip("0") not in places]:
                there = counted(len(cells), "column", "columns")
                raise InputError(f"{self.table.path} has {there}, and no column {beyond[0][:40]}")
            return [places[name.lstrip("0")] for name in self.wanted]
        self._names = [cell.strip() for cell in cells]
        check_columns(self.table.path, self._names, self.wanted, self._added)
        return [self._names.index(name) for name in self.wanted]

    def _objects(self, lines: Iterator[str]) -> Iterator[tuple[str, tuple[Text, ...]]]:
        for row, (line, found) in enumerate(self._parsed(lines)):
            if row == 0:
                check_columns(self.table.path, list(found), self.wanted, self._added)
            check_added(f"{self.table.path}, row {row + 1}", found, self._added)
            texts = partial(_texts_of, found)
            yield (
                line,
                tuple(_text(found.get(name), self.table.path, row, name, self._ids, texts) for name in self.wanted),
            )

    def _parsed(self, lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\r\n")
            where = f"{self.table.path}, line {number}"
            yield line, json_object(line, where, "a JSON object with the columns as its keys")


def _texts_of(row: Mapping[str, Any]) -> list[str]:
    return [name for name, value in row.items() if isinstance(value, str)]


def no_column(path: str, names: Sequence[str], name: str, fix: str) -> InputError:
    """The error that a table has no column of this name, or two.

    names    the names of its columns; the texts of the first row, if the table has no header
    fix      the end of the message
    """
    there = ", ".join(each if len(each) <= LONGEST else f"{each[:LONGEST]}..." for each in names)
    if any(len(each) > LONGEST or len(each.split()) > WORDS for each in names):
        numbers = " ".join(f"{role}={number}" for number, role in enumerate(EXAMPLE[: len(names)], 1))
        return InputError(
            f"{path} has no header, or no column {name}: its first line holds {there}",
            fix=f"without a header, give the columns' numbers, such as --columns {numbers}",
        )
    what = "two columns" if name in names else "no column"
    return InputError(f"{path} has {what} {name}{'; it has ' if names else ''}{there}{fix}")


def check_columns(path: str, names: Sequence[str], wanted: Sequence[str], added: Sequence[str]) -> None:
    for name in wanted:
        if names.count(name) != 1:
            raise no_column(path, names, name, " (choose with --columns)")
    check_added(path, names, added)


def check_added(where: str, names: Collection[str], added: Sequence[str]) -> None:
    if taken := [name for name in added if name in names]:
        raise InputError(f"{where} has a column {taken[0]} already", fix="give the new ones other names with --names")


def is_number(column: str) -> bool:
    """Whether a column is given by its number, as in a table without a header."""
    return column.isascii() and column.isdigit()


class ParquetReader:
    """Reads Parquet; takes the same arguments as TextReader."""

    def __init__(self, table: Table, wanted: Sequence[str], added: Sequence[str], ids: Collection[str] = ()):
        self.table, self.wanted, self._added, self._ids = table, list(wanted), added, ids
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise InputError(
                f"cannot read {table.path}: Parquet needs the package pyarrow ({error})",
                fix=f"install it with: {EXTRA}",
            ) from error

    def names(self) -> list[str]:
        from pyarrow import parquet

        with readable(self.table.path), opened(self.table) as bytes_:
            return list(parquet.read_schema(bytes_).names)

    def count(self) -> int:
        from pyarrow import parquet

        with readable(self.table.path), opened(self.table) as bytes_:
            return int(parquet.read_metadata(bytes_).num_rows)

    def rows(self) -> Iterator[ArrowRows]:
        import pyarrow
        from pyarrow import parquet

        with readable(self.table.path), opened(self.table) as bytes_, parquet.ParquetFile(bytes_) as file:
            check_columns(self.table.path, file.schema_arrow.names, self.wanted, self._added)
            first = 0
            for batch in file.iter_batches(AT_ONCE):
                table = pyarrow.Table.from_batches([batch])
                yield ArrowRows(self.table.path, table, first, self._ids)
                first += len(table)


Reader = TextReader | ParquetReader


def reader_of(table: Table, wanted: Sequence[str], added: Sequence[str], ids: Collection[str] = ()) -> Reader:
    """The reader for a table's wanted columns, see TextReader; the table must not contain the `added` ones yet."""
    kind: Callable[..., Reader] = ParquetReader if table.form == "parquet" else TextReader
    return kind(table, wanted, added, ids)


def blocks(rows: Iterable[Rows], size: int, document: str | None, first: int) -> Iterator[Rows]:
    """Divide the rows of one table into blocks of whole documents.

    size        most rows of a block; a longer document becomes a block of its own
    document    the column of document ids (a document is a run of equal ids); None: a block may begin at any row
    first       most rows of the first block; each later one may have twice as many as the one before
    """
    most = min(size, first)
    held: Rows | None = None
    for more in rows:
        held = more if held is None else held.with_more(more)
        while end := _end(held, most, document):
            yield held.part(0, end)
            held, most = held.part(end, len(held)), min(size, 2 * most)
    if held is not None:
        yield held


def _end(held: Rows, size: int, document: str | None) -> int:
    """The end of the first block of these rows; 0 if more rows must be read to tell."""
    if len(held) <= size:
        return 0
    if document is None:
        return size
    ids = held.texts(document)
    before = (i for i in range(size, 0, -1) if ids[i - 1] != ids[i])
    behind = (i for i in range(size + 1, len(held)) if ids[i - 1] != ids[i])
    return next(before, 0) or next(behind, 0)
