"""The standard input, output and error of a command, which may be closed or full."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import InputError

STREAMS = (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY))


def open_closed() -> None:
    """Open the standard streams that were closed when the command started, so that no other file gets their numbers.

    The input is then empty, stderr accepts and drops everything, and stdout refuses what is written, as a closed one does.
    """
    for name, mode, access in STREAMS:
        if getattr(sys, name) is None:
            number = os.open(os.devnull, access)  # sacrebleu opens the stream again and drops this file object
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="surrogateescape", closefd=False))  # noqa: SIM115


def check_output() -> None:
    """Raise InputError if the standard output is closed. Call it before long work."""
    if os.name != "posix":
        return
    import fcntl

    try:
        number = sys.stdout.fileno()
    except OSError:  # not a file, as in a notebook
        return
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise InputError("the standard output is closed; leave out `>&-`, or send it to a file")


@contextmanager
def printing() -> Iterator[None]:
    """Context for a block that only prints: raises InputError if the standard output cannot be written."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        raise lost(error, sys.stdout.fileno()) from error


@contextmanager
def utf8_output() -> Iterator[None]:
    """Context in which the standard output is UTF-8 and also accepts file names that are not valid text."""
    before = sys.stdout
    if not isinstance(before, io.TextIOWrapper):
        yield
        return
    before.flush()
    bytes_: Any = _Output(before.buffer)
    own = io.TextIOWrapper(
        bytes_, "utf-8", "surrogateescape", line_buffering=before.line_buffering, write_through=before.write_through
    )
    sys.stdout = own
    try:
        yield
    finally:
        sys.stdout = before
        own.flush()


class _Output(io.BufferedIOBase):
    """The binary standard output. Closing it does not close the underlying file."""

    def __init__(self, file: Any):
        self._file = file

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._file.fileno())

    def isatty(self) -> bool:
        return not self._file.closed and bool(self._file.isatty())

    def write(self, data: Any) -> int:
        try:
            return int(self._file.write(data))
        except OSError as error:
            raise lost(error, self.fileno()) from error

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise lost(error, self.fileno()) from error


def lost(error: OSError, number: int) -> InputError:
    """Return the InputError for an output that can no longer be written, and send the rest of it to os.devnull.

    Otherwise Python would try to write the rest again at exit, and complain.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return InputError(f"cannot write to the standard output: {error.strerror}")
