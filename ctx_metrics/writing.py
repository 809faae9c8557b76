"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import InputError


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """The name of a file to write beside `path`, which takes its place when the block ends well and goes if it fails.

    A link stays a link. Raises what the block raises, and OSError where the file cannot take its place.
    """
    target = os.path.realpath(path)
    beside = f"{target}.{os.getpid()}.tmp"
    try:
        yield beside
        os.replace(beside, target)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def write_whole(path: str, text: str, comfort: str = "") -> None:
    """Write a text as UTF-8; raises InputError where that fails, with `comfort` at the end of its message."""
    try:
        with replacing(path) as beside, open(beside, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}{comfort}") from error
