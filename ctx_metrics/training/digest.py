"""Digests that show whether texts, numbers and files are the same as before."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..engine.opening import file_sha256
from ..errors import InputError, ModelError


def digest(texts: Iterable[str | None], before: bytes = b"", after: bytes = b"") -> str:
    """Return 64 hex digits that are equal only for equal texts, `before` and `after`; None is a missing text."""
    sha256 = hashlib.sha256(before)
    for text in texts:
        data = b"" if text is None else text.encode("utf-8", "surrogatepass")
        sha256.update((-1 if text is None else len(data)).to_bytes(8, "little", signed=True) + data)
    sha256.update(after)
    return sha256.hexdigest()


def data_sha256(path: str) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal, or that of all files below a folder.

    A folder's hash is that of the lines "HASH  NAME" that sha256sum prints for its files, with names relative to the
    folder, separated by "/" and sorted as bytes.

    Raises InputError if the path cannot be read.
    """
    root = Path(path)
    try:
        if not root.is_dir():
            return file_sha256(root)
        whole = hashlib.sha256()
        names = [each.relative_to(root).as_posix() for each in root.rglob("*") if each.is_file()]
        for name in sorted(map(os.fsencode, names)):
            whole.update(file_sha256(root / os.fsdecode(name)).encode() + b"  " + name + b"\n")
        return whole.hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path}: {error.strerror or error}") from error
    except ModelError as error:  # file_sha256 raises it, as it mostly reads models
        raise InputError(str(error)) from error
