"""A folder of parts. Each part is written completely or not at all, and a record is kept of each finished block."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ..errors import InputError
from ..opening import file_sha256
from ..scale.folders import LocalFolder, Unusable
from ..scale.kept import MOST, KeptResults, Line, plain_json
from ..writing import remove_leftovers
from .addresses import folder_at, place_of, readable
from .summary import BlockOfMetric
from .tables import Table

# the state of the run and its blocks; programs that read folders ignore such names, and those like _NAME
KEPT = ".annotate"
SUMMARY = "_summary.json"
NUMBER = 30  # most bytes of a stored score
TEXTS = 2**30  # most bytes of a block's stored texts and scores

# names of the entries of a run's identity, for messages
WORDS = {
    "tables": "tables, or tables that have changed since",
    "columns": "--columns",
    "metrics": "metrics, or with other settings of them",
    "context": "languages or --ctx-dtype",
    "inputs": "settings of round trips or pseudo-references",
    "added": "new columns (--drop, --align, --spans)",
    "block": "--block",
}


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The record of a block that is scored: its number of rows, and the number of rows with each fault."""

    key: str
    rows: int
    faults: dict[Line, int]
    metrics: dict[str, BlockOfMetric]


class KeptScores(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new columns of a block: numbers, and after them texts, as [columns][rows]; None is a score that a row lacks."""

    numbers: list[list[float | None]]
    texts: list[list[str]]

    @classmethod
    def of(cls, numbers: Sequence[np.ndarray], texts: Sequence[Sequence[str]]) -> "KeptScores":
        plain = [[None if math.isnan(value) else value for value in column.tolist()] for column in numbers]
        return cls(plain, [list(column) for column in texts])

    def array(self) -> np.ndarray:
        """The numbers, float64 [columns, rows]."""
        return np.array(self.numbers, np.float64).reshape(len(self.numbers), -1)

    def fits(self, numbers: int, texts: int, rows: int) -> bool:
        shapes = [len(column) for column in self.numbers], [len(column) for column in self.texts]
        return shapes == ([rows] * numbers, [rows] * texts)


class Parts:
    """The parts of one run in a folder, which is local or at an address that fsspec supports, and the scores of all rows,
    from which parts are written. A block counts as scored once its record exists, which is written after the scores.

    changed     number of parts that were written, since they were missing or other
    ending      of the parts' names, such as .tsv.gz
    identity    the data that distinguish this run; nothing from a run with another identity may be reused
    """

    def __init__(self, address: str, ending: str, identity: Mapping[str, Any]):
        self.address, self._ending = address, ending
        self._folder = folder_at(address, "-o")
        self._state = KeptResults(self._folder.below(KEPT), "-o")
        given = json.loads(plain_json(identity))
        self._identity: dict[str, Any] | None = None  # written before anything else
        self.changed = 0
        before = self._state.get("run", dict[str, Any], lambda found: found.keys() == given.keys())
        if before is None:
            names = [name for name in self._folder.names() if not name.endswith(".tmp")]
            if [name for name in names if name != KEPT]:
                what = "it holds no parts of annotate"
                if KEPT in names:
                    what = f"its state ({KEPT}) cannot be used"
                elif any(name.startswith("part-") for name in names):
                    what = f"its state ({KEPT}) is gone"
                raise InputError(f"{address} is not empty, but {what}", fix="name a new folder")
            self._identity = given
        elif before != given:
            [key, *_] = [key for key in given if before[key] != given[key]]
            raise InputError(
                f"{address} holds a run with other {WORDS[key]}",
                fix="name a new folder, or run the earlier command again to continue it",
            )
        if isinstance(self._folder, LocalFolder):
            for folder in (self._folder.path, self._state.path):
                remove_leftovers(Path(folder))

    def record(self, number: int, fits: Callable[[Record], bool]) -> Record | None:
        """The record of a block; None if it is not scored."""
        return self._state.get(f"{number:06d}", Record, fits)

    def ignore(self, number: int) -> None:
        """Say that the record of a block does not fit those of the others."""
        self._state.report(f"{self.address}, part {number}", "its content does not fit")

    def has_records(self) -> bool:
        """Whether there may be records of blocks."""
        return self._identity is None

    def write_part(self, number: int, content: bytes) -> str:
        """Write the part of a block, if it is not there already; return the state by which later changes to it are detected.

        A summary, which marks a run as finished, is removed before a part changes.
        """
        before = self._folder.state(self._part(number))
        if before == hashlib.sha256(content).hexdigest():
            return before
        if self.has_summary():
            self._folder.remove(SUMMARY)
        self._folder.write(
            self._part(number), content, "make room and run the same command again: finished parts are kept"
        )
        self.changed += 1
        return self._folder.state(self._part(number)) or ""

    def write_record(self, number: int, record: Record) -> None:
        self._write_identity()
        self._state.put(f"{number:06d}", record)

    def write_scores(self, number: int, scores: KeptScores) -> None:
        self._write_identity()
        most = _most(len(scores.numbers), len(scores.texts), len(scores.numbers[0]))
        self._state.put(f"{number:06d}-scores", scores, most)

    def scores(self, number: int, numbers: int, texts: int, rows: int) -> KeptScores | None:
        """The scores of a block, with as many columns of numbers and of texts, and rows; None if there are none."""
        fits = partial(KeptScores.fits, numbers=numbers, texts=texts, rows=rows)
        return self._state.get(f"{number:06d}-scores", KeptScores, fits, _most(numbers, texts, rows))

    def has_summary(self) -> bool:
        """Whether a run has finished in this folder."""
        return SUMMARY in self._folder.names()

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write the summary, which marks the run as finished."""
        content = (json.dumps(summary, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogateescape")
        with suppress(Unusable):  # an unreadable summary is overwritten
            if self._folder.read(SUMMARY, len(content)) == content:
                return
        self._folder.write(SUMMARY, content)

    def _part(self, number: int) -> str:
        return f"part-{number:06d}{self._ending}"

    def _write_identity(self) -> None:
        if self._identity is not None:
            self._state.put("run", self._identity)
            self._identity = None


def known_again(tables: Sequence[Table]) -> list[list[str]]:
    """The identity of each table: its path and a hash of its content, or the version that its remote store reports."""
    found = []
    for table in tables:
        with readable(table.path):
            system, inside = place_of(table.path)
            known = str(system.checksum(inside)) if "://" in table.path else file_sha256(Path(inside))
            found.append([table.path, known])
    return found


def _most(numbers: int, texts: int, rows: int) -> int:
    """Most bytes of a block's scores; texts may be as long as a table's."""
    return TEXTS if texts else MOST + NUMBER * numbers * rows
