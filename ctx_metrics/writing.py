"""Files that appear whole or not at all."""

import codecs
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


def write_whole(path: str, text: str, comfort: str = "", encoding: str = "utf-8") -> None:
    """Write a text; raises InputError where that fails, with `comfort` at the end of its message.

    encoding    the user's choice, by -e; where it is not UTF-8 and lacks a character, that is an InputError too
    """
    try:
        content = text.encode(encoding)
    except UnicodeEncodeError as error:
        if codecs.lookup(encoding).name == "utf-8":  # a lone surrogate, which no reader lets through
            raise
        line, lacking = text.count("\n", 0, error.start) + 1, text[error.start]
        raise InputError(
            f"cannot write {path}: line {line}: {lacking!r} (U+{ord(lacking):04X}) is not in {encoding}; save the texts as "
            f"UTF-8 and leave out -e {encoding}{comfort}"
        ) from error
    try:
        with replacing(path) as beside, open(beside, "wb") as file:
            file.write(content)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}{comfort}") from error
