"""Readers of compressed files, and of lines whose length is limited."""

import io
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, cast

from .errors import InputError

LONGEST = 16 * 2**20  # most bytes in a line
EXTRA = "pip install 'ctx-metrics[tables]'"
# compressed bytes unpacked at a time, and read at a time; zstd expands four bytes to up to 128 KiB
_STEP, _BLOCK = 2**10, 2**16


def unpacked(file: IO[bytes], kind: str, path: str) -> IO[bytes]:
    """Return a stream of the uncompressed content of a file.

    kind    gz, xz or zst; "" for a file that is not compressed, which is returned as it is
    path    what messages call the file

    The file may consist of several members, one after another. Reading raises InputError if the file is truncated, damaged
    or of another kind. This function raises InputError if Python has no module for the kind.
    """
    if not kind:
        return file
    new, name, broken = _reader_of(kind, path)
    return io.BufferedReader(_Stream(_pieces(file, new, name, broken, path)), 2**20)


def lines_of(file: IO[bytes], path: str) -> Iterator[bytes]:
    """Yield the lines of a file with their line ends; raises InputError, naming the line, for more than LONGEST bytes."""
    read = partial(io.BufferedReader(cast(io.RawIOBase, file), 2**20).readline, LONGEST + 1)
    for number, line in enumerate(iter(read, b""), 1):
        if len(line) > LONGEST:
            raise InputError(
                f"{path}, line {number}: it is longer than {LONGEST // 2**20} MiB; a line feed must end each line"
            )
        yield line


def zstandard(path: str) -> Any:
    """Return the module that reads .zst files; raises InputError if it is not installed."""
    try:
        import zstandard as package
    except ImportError as error:
        raise InputError(f"cannot read {path}: .zst needs the package zstandard; install it with: {EXTRA}") from error
    return package


def _reader_of(kind: str, path: str) -> tuple[Callable[[], Any], str, type[Exception]]:
    """Return a function that makes a decompressor for one member, the name of the kind, and the exception for damage."""
    if kind == "gz":
        return partial(zlib.decompressobj, 16 + zlib.MAX_WBITS), "gzip", zlib.error
    if kind == "zst":
        package = zstandard(path)
        return package.ZstdDecompressor().decompressobj, "zstd", package.ZstdError
    try:
        import lzma
    except ImportError as error:  # an optional part of Python
        raise InputError(f"cannot read {path}: this Python has no lzma module; unpack the file first") from error
    return lzma.LZMADecompressor, "xz", lzma.LZMAError


def _pieces(file: IO[bytes], new: Callable[[], Any], name: str, broken: type[Exception], path: str) -> Iterator[bytes]:
    """Yield the content of all members in small pieces."""
    member, begun = None, False
    for block in iter(partial(file.read, _BLOCK), b""):
        for start in range(0, len(block), _STEP):
            left = block[start : start + _STEP]
            while left:
                if member is None:
                    if begun and not (left := left.lstrip(b"\0")):  # members may be padded with zeros
                        break
                    member, begun = new(), True
                try:
                    piece = member.decompress(left)
                except broken as error:
                    raise InputError(
                        f"cannot read {path}: it is damaged, or no {name} file ({error}); copy or fetch it again"
                    ) from error
                left = b""
                if member.eof:
                    left, member = member.unused_data, None
                if piece:
                    yield piece
    if member is not None or not begun:
        raise InputError(f"cannot read {path}: it is cut short; copy or fetch it again")


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
