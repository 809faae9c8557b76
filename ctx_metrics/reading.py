"""Reads text files: plain or compressed, decoded, in lines or in rows of a table. Errors name the file and the line."""

import csv
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any, NamedTuple, cast

from .errors import InputError
from .notices import counted, notice
from .wording import worded
from .writing import os_errors

BOM = "\ufeff"
PACKED = (".gz", ".xz")  # the endings of compressed files
LONGEST = 16 * 2**20  # most bytes in a line
# compressed bytes unpacked at a time, and read at a time; zstd expands four bytes to up to 128 KiB
_STEP, _BLOCK = 2**10, 2**16
Record = tuple[int, str, list[str]]  # the number of a row's last line, its text without the line end, and its cells
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_lines(path: str, encoding: str | None = None) -> list[str]:
    """Return the lines of a text file (plain, .gz or .xz), split as sacrebleu splits them.

    Only "\\n" ends a line: a lone carriage return, U+2028, U+0085 and form feed stay inside their line.
    Trailing white space is removed, as in sacrebleu. A byte-order mark at the start is removed, with a notice.

    Raises InputError if the file cannot be read, or if the text is not in `encoding`; the message then names the file,
    line and byte.
    """
    return split_lines(without_mark(read_text(path, encoding), path), path)


def read_text(path: str, encoding: str | None = None) -> str:
    """Return the unchanged text of a file (plain, .gz or .xz); raise InputError as read_lines does.

    A compressed file can unpack to far more than its size, and a device or a pipe has no end that is known, so their lines
    are limited to LONGEST bytes.
    """
    with os_errors(f"cannot read {path}"), open(path, "rb") as file:
        endless = path.endswith(PACKED) or not os.path.isfile(path)
        content = b"".join(byte_lines(file, path)) if endless else file.read()
    return decode(content, path, encoding)


def read_stream(buffer: IO[bytes], name: str, encoding: str | None = None) -> str:
    """Return the text of an open stream, such as the standard input, with lines of at most LONGEST bytes."""
    return decode(b"".join(_bounded(buffer.readline, name)), name, encoding)


def decode(content: bytes, name: str, encoding: str | None = None, first: int = 1) -> str:
    """Decode bytes to text; raise InputError if they are not valid, naming `name` and the line and byte where it can.

    encoding    None means UTF-8, for commands whose user cannot choose an encoding
    first       the number of the content's first line
    """
    try:
        return content.decode(encoding or "utf-8")
    except (UnicodeError, LookupError) as error:
        name_it = worded("-e", "encoding")
        if isinstance(error, LookupError):
            raise InputError(
                f"cannot read {name}: unknown encoding {encoding!r}", fix=f"{name_it} accepts one such as utf-8"
            ) from error
        fix = "save it as UTF-8" + (f" or name its encoding with {name_it}" if encoding else "")
        encoding = encoding or "utf-8"
        if not isinstance(error, UnicodeDecodeError):  # encodings such as punycode do not say where
            raise InputError(f"{name} is not {encoding}", fix=fix) from error
        line = first + content.count(b"\n", 0, error.start)
        column, byte = error.start - content.rfind(b"\n", 0, error.start), content[error.start]
        raise InputError(f"{name}, line {line}: byte {column} (0x{byte:02x}) is not {encoding}", fix=fix) from error


def without_mark(text: str, name: str) -> str:
    if not text.startswith(BOM):
        return text
    notice(f"{name}: dropped the byte-order mark at its start")
    return text[1:]


def split_lines(text: str, name: str = "") -> list[str]:
    """Return the lines of a text, without trailing white space; only "\\n" ends a line.

    If `name` is given, such as a file's, and the text is a single line that contains carriage returns, a notice says so.

    >>> split_lines("one \\ntwo\\r\\n")
    ['one', 'two']
    """
    lines = [line.rstrip() for line in text.removesuffix("\n").split("\n")] if text else []
    if name and len(lines) == 1 and (returns := lines[0].count("\r")):
        inside = counted(returns, "carriage return", "carriage returns")
        notice(f"{name}: one line with {inside} inside; only a line feed ends a line: save the file with line feeds")
    return lines


def tsv_records(lines: Iterable[str]) -> Iterator[Record]:
    """Yield the records of tab-separated lines. There are no quotes: a tab always ends a cell."""
    for number, line in enumerate(lines, 1):
        line = line.removesuffix("\n").removesuffix("\r")
        yield number, line, line.split("\t")


def csv_records(lines: Iterable[str], name: str, strict: bool = False, delimiter: str = ",") -> Iterator[Record]:
    """Yield the records of comma-separated lines, quoted as in RFC 4180; a quoted cell may contain line ends.

    strict       whether bad quotes raise InputError, as whatever else the csv module cannot read does
    delimiter    a tab for tables with quotes, as pandas writes them
    """
    taken: list[str] = []

    def noted() -> Iterator[str]:
        length = 0
        for number, line in enumerate(lines, 1):
            length = length + len(line) if taken else len(line)
            if length > LONGEST:
                raise InputError(
                    f"{name}, line {number}: its row is longer than {LONGEST // 2**20} MiB",
                    fix="close each quote, and end each row with a line feed",
                )
            taken.append(line)
            yield line

    reader = csv.reader(noted(), strict=strict, delimiter=delimiter)
    try:
        for cells in reader:
            line = "".join(taken).removesuffix("\n").removesuffix("\r")
            taken.clear()
            yield reader.line_num, line, cells or [""]
    except csv.Error as error:
        raise InputError(f"{name}, line {reader.line_num}: {error}") from error


def json_object(line: str, where: str, such_as: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise InputError(f"{where}: not JSON ({why})", fix="write one object per line") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: not {such_as}")
    return value


def holds_surrogate(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, which JSON can write as an escape but which is not text."""
    return not text.isascii() and _SURROGATE.search(text) is not None


class Packing(NamedTuple):
    """A format of compressed files.

    new       makes a decompressor for one member of a file
    broken    the exception for damage
    """

    name: str
    new: Callable[[], Any]
    broken: type[Exception]


def packing_of(path: str) -> Packing | None:
    """The packing of a .gz or .xz file; None for another file."""
    if path.endswith(".gz"):
        return Packing("gzip", partial(zlib.decompressobj, 16 + zlib.MAX_WBITS), zlib.error)
    if not path.endswith(".xz"):
        return None
    try:
        import lzma
    except ImportError as error:  # an optional part of Python
        raise InputError(f"cannot read {path}: this Python has no lzma module", fix="unpack the file first") from error
    return Packing("xz", lzma.LZMADecompressor, lzma.LZMAError)


def unpacked(file: IO[bytes], packing: Packing | None, path: str) -> IO[bytes]:
    """Return a stream of the uncompressed content of a file, which may consist of several members, one after another."""
    return file if packing is None else io.BufferedReader(_Stream(_pieces(file, packing, path)), 2**20)


def lines_of(file: IO[bytes], path: str) -> Iterator[bytes]:
    """Yield the lines of a file with their line ends; raise InputError, naming the line, for more than LONGEST bytes."""
    yield from _bounded(io.BufferedReader(cast(io.RawIOBase, file), 2**20).readline, path)


def _bounded(readline: Callable[[int], bytes], path: str) -> Iterator[bytes]:
    for number, line in enumerate(iter(partial(readline, LONGEST + 1), b""), 1):
        if len(line) > LONGEST:
            raise InputError(
                f"{path}, line {number}: it is longer than {LONGEST // 2**20} MiB", fix="a line feed must end each line"
            )
        yield line


def byte_lines(file: IO[bytes], path: str) -> Iterator[bytes]:
    return lines_of(unpacked(file, packing_of(path), path), path)


def _pieces(file: IO[bytes], packing: Packing, path: str) -> Iterator[bytes]:
    member, begun = None, False
    for block in iter(partial(file.read, _BLOCK), b""):
        for start in range(0, len(block), _STEP):
            left = block[start : start + _STEP]
            while left:
                if member is None:
                    if begun and not (left := left.lstrip(b"\0")):  # members may be padded with zeros
                        break
                    member, begun = packing.new(), True
                try:
                    piece = member.decompress(left)
                except packing.broken as error:
                    raise InputError(
                        f"cannot read {path}: it is damaged, or not in {packing.name} format ({error})",
                        fix="copy or fetch it again",
                    ) from error
                left = b""
                if member.eof:
                    left, member = member.unused_data, None
                if piece:
                    yield piece
    if member is not None or not begun:
        raise InputError(f"cannot read {path}: it is cut short", fix="copy or fetch it again")


class _Stream(io.RawIOBase):
    """A raw binary stream over an iterator of bytes."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size
