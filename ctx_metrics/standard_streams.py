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
    """Open the standard streams that whoever started the command has closed, so that no file gets their numbers.

    The input is empty then, the error output takes all, and the output refuses what is written, as a closed one does.
    """
    for name, mode, access in STREAMS:
        if getattr(sys, name) is None:
            number = os.open(os.devnull, access)  # sacrebleu opens it a second time, and drops this file
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="surrogateescape", closefd=False))  # noqa: SIM115


def check_output() -> None:
    """Raise InputError where the standard output is closed. For before long work."""
    if os.name != "posix":
        return
    import fcntl

    try:
        number = sys.stdout.fileno()
    except OSError:  # it is no file, as in a notebook
        return
    if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise InputError("the standard output is closed; leave out `>&-`, or send it to a file")


@contextmanager
def printing() -> Iterator[None]:
    """A block that prints and does nothing else: raises InputError where the standard output does not take it."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        raise lost(error, sys.stdout.fileno()) from error


@contextmanager
def utf8_output() -> Iterator[None]:
    """A block whose standard output is UTF-8, in which names of files need not be text; raises InputError, then or at the
    end, where the output does not take what is printed."""
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
    """The bytes of the standard output. Closing it closes nothing."""

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
    """The error of an output that takes no more. What is left of it is thrown away, or Python would try again when it ends,
    and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return InputError(f"cannot write to the standard output: {error.strerror}")
