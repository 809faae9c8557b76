"""What tells whether texts, numbers and files are those of another time."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..engine.opening import file_sha256
from ..errors import InputError, ModelError


def digest(texts: Iterable[str | None], before: bytes = b"", after: bytes = b"") -> str:
    """64 hex digits, equal for equal lists of texts between equal bytes alone; None is a text that is missing."""
    sha256 = hashlib.sha256(before)
    for text in texts:
        data = b"" if text is None else text.encode("utf-8", "surrogatepass")
        sha256.update((-1 if text is None else len(data)).to_bytes(8, "little", signed=True) + data)
    sha256.update(after)
    return sha256.hexdigest()


def data_sha256(path: str) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; of a folder, that of all files below it.

    A folder's is the hash of the lines "HASH  NAME" that sha256sum writes for its files, whose names are relative to the
    folder, parted with "/" and sorted as bytes.

    Raises InputError for what cannot be read.
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
    except ModelError as error:  # so file_sha256 says it, which mostly reads models
        raise InputError(str(error)) from error
