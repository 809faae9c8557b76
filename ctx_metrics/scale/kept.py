"""Results that stay on disk between runs of score, sacrebleu, mbr, rerank and annotate: in one layout, under keys made from
all that they depend on."""

import base64
import hashlib
import json
import math
import os
import re
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from ..engine_options import EngineOptions
from ..notices import Notice, notice
from ..wording import CONTROLS, worded
from .claims import claims_in
from .folders import Folder, LocalFolder, Unusable

LIMIT = 2**30  # most bytes of a cache
MOST = 2**24  # most bytes of one result, uncompressed
ENDING = ".json.z"
_HEAD = "ctx-metrics kept 1 "  # comes before the checksum; the number changes with the layout

# a line without control characters, which signatures and names never have: nobody can plant them
_LINE = rf"\A[^{CONTROLS}]*\Z"
Line = Annotated[str, msgspec.Meta(pattern=_LINE)]
T = TypeVar("T")


def notice_fits(kept: Notice, segments: int | None = None) -> bool:
    """Whether a notice can be about a corpus of so many segments, or of any number, and is a line for a terminal."""
    number = 1 if kept.number is None else kept.number
    return (
        re.match(_LINE, "".join((kept.what, kept.many, kept.unit, kept.metric, kept.about, kept.kind))) is not None
        and (segments is None or 0 < number <= segments)
        and all(0 <= position < (segments or math.inf) for position in kept.first)
    )


class KeptResults:
    """Results in a folder, one file each.

    A file counts as absent if it is damaged, is a link, is too large, belongs to another user, or has another layout or
    unexpected content; the first such file is reported.

    folder    the folder, which is private, since its content is trusted
    """

    def __init__(self, folder: Folder, flag: str):
        self._folder, self._flag = folder, flag
        self._reported = False

    @property
    def path(self) -> str:
        return self._folder.path

    def get(self, name: str, kind: type[T], fits: Callable[[T], bool], most: int = MOST) -> T | None:
        """The value that `put` kept under a name; None if there is nothing, or nothing usable.

        fits returns whether a value can be the stored one: right in number, shape and range
        most    most bytes of the value, uncompressed
        """
        try:
            content = self._folder.read(_file(name), most)
            if content is None:
                return None
            found = msgspec.json.decode(_unpacked(name, content, most), type=kind, dec_hook=_array)
            if not fits(found):
                raise Unusable("its content does not fit")
        except (Unusable, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            why = str(error) if isinstance(error, Unusable) else "its content does not fit"
            self.report(f"{self.path}: {_file(name)}", why)
            return None
        return found

    def put(self, name: str, value: Any, most: int = MOST) -> None:
        """Keep a value under a name, unless it takes more than `most` bytes."""
        plain = plain_json(value)
        if len(plain) <= most:
            packed = zlib.compress(plain, 6)
            self._folder.write(_file(name), _head(name, packed) + packed)

    def claimed(self, name: str, wait: Callable[[], None]) -> AbstractContextManager[None]:
        """Keep other processes and threads from making the same result; `wait` is called as long as one makes it."""
        place = int(hashlib.sha256(name.encode()).hexdigest()[:15], 16)
        return claims_in(os.path.realpath(self.path)).claimed(place, wait)

    def report(self, what: str, why: str) -> None:
        if not self._reported:
            notice(f"{self._flag} {what} is ignored, because {why}")
        self._reported = True


class ResultCache(KeptResults):
    """The results of many runs, by key, in a folder on this machine; `trim` limits them to `limit` bytes in total."""

    def __init__(self, folder: str, limit: int = LIMIT):
        flag = worded("--ctx-cache", "cache")
        super().__init__(LocalFolder(folder, flag, private=True), flag)
        self._limit = limit

    def get(self, name: str, kind: type[T], fits: Callable[[T], bool], most: int = MOST) -> T | None:
        """Like KeptResults.get; also marks the result as used, so that `trim` keeps it longer."""
        found = super().get(name, kind, fits, most)
        if found is not None:
            with suppress(FileNotFoundError):  # another process has removed it in the meantime
                os.utime(os.path.join(self.path, _file(name)), follow_symlinks=False)
        return found

    def trim(self) -> None:
        files = []
        for folder in Path(self.path).iterdir() if os.path.isdir(self.path) else ():
            if folder.is_dir() and not folder.is_symlink():
                for path in folder.glob(f"*{ENDING}"):
                    try:
                        files.append((path.lstat(), path))
                    except FileNotFoundError:  # as above
                        continue
        left = sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
            if left <= self._limit:
                return
            path.unlink(missing_ok=True)
            left -= status.st_size


def key_of(*what: Any) -> str:
    """The name of a result, made from all that it depends on: texts, numbers, collections, dataclasses and classes.

    Of EngineOptions only the dtype counts: how a result is computed does not change it otherwise. (Where fp32 is computed in
    TF32, signatures show it.)

    >>> key_of("a", ["b"]) == key_of("a", ["b"]), key_of("a", ["b"]) == key_of("a", "b")
    (True, False)
    """
    found = hashlib.sha256(json.dumps(what, sort_keys=True, default=_by_value).encode()).hexdigest()
    return f"{found[:2]}/{found[2:]}"


def _by_value(value: Any) -> Any:
    """The form in which JSON can hold a value that it does not support."""
    if isinstance(value, EngineOptions):
        return value.dtype
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if is_dataclass(value):
        return [_by_value(type(value)), [getattr(value, each.name) for each in fields(value)]]
    return repr(value)


def _file(name: str) -> str:
    return f"{name}{ENDING}"


def _head(name: str, packed: bytes) -> bytes:
    """The line before a result: a checksum of its name and content, so that no other result can take its place."""
    return f"{_HEAD}{hashlib.sha256(name.encode() + bytes(1) + packed).hexdigest()}\n".encode()


def _unpacked(name: str, content: bytes, most: int) -> bytes:
    head, end, packed = content.partition(b"\n")
    if not head.startswith(_HEAD.encode()):
        raise Unusable("it is damaged, or of another version")
    if head + end != _head(name, packed):
        raise Unusable("it is damaged")
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(packed, most)
    except zlib.error as error:
        raise Unusable("it is damaged") from error
    if not unpacking.eof or unpacking.unused_data:
        raise Unusable("it is too large, or incomplete")
    return found


def plain_json(value: Any) -> bytes:
    """A value as JSON; bytes that are not UTF-8, which file names may contain, become numeric references.

    >>> plain_json(["a\\udcff"])
    b'["a&#56575;"]'
    """
    plain = msgspec.to_builtins(value, enc_hook=_numbers)
    return json.dumps(plain, ensure_ascii=False).encode("utf-8", "xmlcharrefreplace")


def _numbers(array: Any) -> bytes:
    """The numbers of a float32 array as little-endian bytes, which JSON has in base64."""
    if not isinstance(array, np.ndarray):
        raise NotImplementedError
    return array.astype("<f4").tobytes()


def _array(kind: type, numbers: Any) -> np.ndarray:
    if kind is not np.ndarray:
        raise NotImplementedError
    return np.frombuffer(base64.b64decode(numbers, validate=True), "<f4").astype(np.float32)
