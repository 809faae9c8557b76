"""Read a model's files. Whatever they hold, an error is one line that names the file. Hashes identify the content read."""

import hashlib
import json
import os
import pickle
import re
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from .errors import CtxMetricsError, ModelError, ResourceError, lacks_memory, memory_fix

JSON_LIMIT = 16 * 2**20  # bytes; once parsed, a JSON file takes up to twenty times as much memory
_SETTLED_NS = 2 * 10**9  # file times are as coarse as 2 s: a younger file may change and keep its times
_BLOB = re.compile(r"/(?P<cache>models--[^/]+)/blobs/(?P<sha256>[0-9a-f]{64})$")
# Exceptions whose message says little without their name.
_TERSE = (LookupError, AssertionError)


@contextmanager
def opening(path: Path, says: str = "cannot be read: {why}; copy or fetch it again") -> Iterator[None]:
    """Turn any exception in the block, which reads a file or folder, into a one-line ModelError.

    path    the file that the line names
    says    the rest of the line, of which the part after "; " is the fix; "{why}" stands for the exception's message

    Damaged and malicious files make libraries raise anything: IndexError, RecursionError, a Rust panic. So only code that
    reads belongs in the block; errors in code that uses the model must stay visible. Our own errors pass unchanged. Raises
    ResourceError if memory runs out, since the file may be intact.
    """
    try:
        yield
    except CtxMetricsError:
        raise
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{path} is damaged or holds more than tensors, so it is not loaded (weights_only)", fix="fetch it again"
        ) from error
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # raised by Rust libraries
            raise
        if lacks_memory(error):
            raise ResourceError(f"{path} needs more memory than is available", fix=memory_fix(error)) from error
        fault, _, fix = says.partition("; ")
        fault = fault.replace("{why}", reason(error))
        raise ModelError(f"{path}{'' if fault.startswith(':') else ' '}{fault}", fix=fix) from error


def reason(error: BaseException) -> str:
    """The first line of an exception's message, at most 500 characters."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    lines = filter(None, map(str.strip, str(error).splitlines()))
    line, kind = next(lines, ""), type(error).__name__
    return (f"{kind}: {line}" if line and isinstance(error, _TERSE) else line or kind)[:500]


def shown(value: Any) -> str:
    """A value from a file as a message shows it: about 60 characters at most, however large it is.

    >>> shown("t5"), shown([["a"] * 9]), shown(10**61)
    ("'t5'", 'a list', 'over 1e60')
    """
    if isinstance(value, (str, bytes)):
        return repr(value[:60])
    if isinstance(value, int) and abs(value) > 10**60:
        return "over 1e60"
    return repr(value) if value is None or isinstance(value, (int, float)) else f"a {type(value).__name__}"


def read_json(path: Path) -> Any:
    """The content of a model's JSON file. Call it inside `opening`: it may raise anything."""
    with open(path, "rb") as file:
        data = file.read(JSON_LIMIT + 1)
    if len(data) > JSON_LIMIT:
        raise ValueError(f"{path.name} is larger than {JSON_LIMIT // 2**20} MiB")
    return json.loads(data.decode("utf-8"))


def file_sha256(path: Path) -> str:
    """Hex sha256 of a file, which is read once per process unless it changes.

    The hub's cache names large files by their hash, so these need not be read. Raises ModelError if the file cannot be read.
    """
    target = os.path.realpath(path)
    # only in the cache's layout, <cache>/snapshots/<commit>/...: elsewhere a link's target could have any name
    if (
        (blob := _BLOB.search(Path(target).as_posix()))
        and path.is_symlink()
        and f"/{blob['cache']}/snapshots/" in Path(os.path.abspath(path)).as_posix()
    ):
        return blob["sha256"]
    try:
        status = os.stat(target)
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        settled = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS
        return (_sha256 if settled else _sha256.__wrapped__)(target, identity)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}", fix="copy or fetch it again") from error


@lru_cache(maxsize=4096)
def _sha256(target: str, identity: tuple[int, ...]) -> str:
    digest = hashlib.sha256()
    with open(target, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_hashes(paths: Iterable[Path]) -> dict[str, str]:
    """The sha256 of each of these files that exists, by path: equal for equal content in the same places."""
    return {str(path): file_sha256(path) for path in paths if path.is_file()}


def identity(hashes: Mapping[str, str], folder: Path) -> str:
    """The identity of a model, made from the sha256 of all files that its scores depend on (see file_hashes).

    It is the first 12 hex digits of the sha256 of the sorted lines `HASH  NAME` that sha256sum prints in `folder`.
    """
    lines = (f"{sha256}  {Path(os.path.relpath(path, folder)).as_posix()}\n" for path, sha256 in hashes.items())
    return hashlib.sha256("".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def same_hashes(before: dict[str, str], now: Callable[[], dict[str, str]]) -> bool:
    """Whether files still have the hashes that they had before; False if they can no longer be read."""
    try:
        return now() == before
    except ModelError:
        return False


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", covariant=True)


class LazyMapping(Mapping[Key, Value]):
    """A mapping with the keys of `parts`; a subclass computes the values from it."""

    def __init__(self, parts: Mapping[Key, Any]):
        self._parts = parts

    def __iter__(self) -> Iterator[Key]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)
