"""A folder of parts: what is written of each block, whole or not at all, and what is known of finished blocks."""

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fsspec
import numpy as np

from ..errors import InputError
from ..writing import check_writable, make_folder, remove_leftovers, write_bytes
from .tables import Table, readable

# what is known of the run and of its blocks; readers of folders pass over such names, and over _NAME
KEPT = ".annotate"
SUMMARY = "_summary.json"
START = 1 << 16  # bytes of a table by which it is known again

# what a run's identity is made of, for people
WORDS = {
    "tables": "tables, or tables that have changed since",
    "columns": "--columns",
    "metrics": "metrics, or with other settings of them",
    "context": "languages or --ctx-dtype",
    "pseudo-filter": "settings of pseudo-references",
    "names": "--names",
    "keep": "--keep",
    "top": "--top or --by",
    "block": "--block",
}


class Parts:
    """The parts of one run in a folder, local or at an address that fsspec knows. A part is finished once its record is
    written, which is after the part.

    address     of the folder
    ending      of the parts' names, such as .tsv.gz
    identity    what makes the run this one: of another, nothing may be kept

    Raises InputError where the folder holds something else, or cannot be written.
    """

    def __init__(self, address: str, ending: str, identity: Mapping[str, Any]):
        self.address, self._ending = address.rstrip("/") or "/", ending
        self._local = "://" not in address
        if self._local:
            check_writable(address, folder=True, flag="-o")
        with readable(address):
            self._system, self._folder = fsspec.url_to_fs(self.address)
        given = json.loads(json.dumps(identity))
        self._identity: bytes | None = None  # written with what comes first
        if (before := self._read(f"{KEPT}/run.json")) is None:
            if self._names():
                raise InputError(f"{address} is not empty, but holds no parts of annotate; name a new folder")
            self._identity = _json(given)
            return
        if (other := json.loads(before)) != given:
            [key, *_] = [key for key in {**other, **given} if other.get(key) != given.get(key)]
            other_in = WORDS.get(key, key)
            raise InputError(
                f"{address} holds a run with other {other_in}; name a new folder, or run the earlier command again "
                "to continue it"
            )
        if self._local:
            for folder in (self._folder, f"{self._folder}/{KEPT}"):
                remove_leftovers(Path(folder))

    def records(self) -> list[dict[str, Any]]:
        """The records of finished blocks, from the first one to the one before the first that is not finished."""
        there = {name for name in self._names(KEPT) if name.endswith(".json")}
        numbers: Iterator[int] = iter(range(len(there)))
        found = []
        for number in numbers:
            content = self._read(_record(number)) if f"{number:06d}.json" in there else None
            if content is None:
                break
            found.append(json.loads(content))
        return found

    def has_part(self, number: int) -> bool:
        """Whether the part of a block is there."""
        return bool(self._system.exists(f"{self._folder}/{self._part(number)}"))

    def write_part(self, number: int, content: bytes) -> None:
        """Write the part of a block."""
        self._write(self._part(number), content)

    def write_record(self, number: int, record: Mapping[str, Any]) -> None:
        """Write what is known of a finished block."""
        self._write(_record(number), _json(record))

    def write_scores(self, number: int, scores: np.ndarray) -> None:
        """Keep the scores of a block, by which its rows are chosen when all blocks are scored."""
        file = io.BytesIO()
        np.save(file, scores, allow_pickle=False)
        self._write(f"{KEPT}/{number:06d}.npy", file.getvalue())

    def scores(self, number: int) -> np.ndarray:
        """The scores that were kept of a block."""
        content = self._read(f"{KEPT}/{number:06d}.npy")
        if content is None:
            raise InputError(f"{self.address}: {KEPT}/{number:06d}.npy is missing; name a new folder")
        found: np.ndarray = np.load(io.BytesIO(content), allow_pickle=False)
        return found

    def summary(self) -> dict[str, Any] | None:
        """The summary of a run that has ended, or None."""
        content = self._read(SUMMARY)
        return None if content is None else json.loads(content)

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the summary, by which a run has ended."""
        self._write(SUMMARY, _json(summary, indent=1))

    def _part(self, number: int) -> str:
        return f"part-{number:06d}{self._ending}"

    def _names(self, inside: str = "") -> list[str]:
        folder = f"{self._folder}/{inside}" if inside else self._folder
        with readable(self.address):
            if not self._system.isdir(folder):
                return []
            return [name.rstrip("/").rpartition("/")[2] for name in self._system.ls(folder, detail=False)]

    def _read(self, name: str) -> bytes | None:
        with readable(self.address):
            path = f"{self._folder}/{name}"
            return bytes(self._system.cat_file(path)) if self._system.exists(path) else None

    def _write(self, name: str, content: bytes) -> None:
        if self._identity is not None:
            identity, self._identity = self._identity, None
            self._write(f"{KEPT}/run.json", identity)
        if self._local:
            path = f"{self._folder}/{name}"
            make_folder(os.path.dirname(path))
            write_bytes(path, content, "; make room and run the same command again: finished parts are kept")
            return
        with readable(self.address):
            self._system.pipe_file(f"{self._folder}/{name}", content)  # stores of objects show it when it is whole


def _record(number: int) -> str:
    return f"{KEPT}/{number:06d}.json"


def _json(value: Mapping[str, Any], indent: int | None = None) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode("utf-8", "surrogateescape")


def known_again(tables: Sequence[Table]) -> list[list[Any]]:
    """What a table is known by: name, size, and a hash of its start."""
    found = []
    for table in tables:
        with readable(table.path):
            system, inside = fsspec.url_to_fs(table.path)
            start = system.cat_file(inside, 0, START)
            found.append([table.path, system.size(inside), hashlib.sha256(start).hexdigest()[:16]])
    return found
