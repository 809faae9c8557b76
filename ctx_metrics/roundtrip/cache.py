"""Translations that are kept: a sqlite file for each back-translator, by the sha256 of the line."""

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from ..errors import InputError
from .backtranslator import Translation

WAIT = 60.0  # seconds for another process to finish writing
_TABLE = (
    "CREATE TABLE IF NOT EXISTS translations (line BLOB PRIMARY KEY, translation TEXT NOT NULL, "
    "input_cut INTEGER NOT NULL, output_cut INTEGER NOT NULL)"
)


class TranslationCache:
    """A back-translator's translations on disk; each `put` is there whole or not at all, also after a power cut.

    folder    made if it is not there; None keeps all in memory
    key       the back-translator's cache_key

    Several processes may use one at a time. All methods raise InputError for a file that cannot be used.
    """

    def __init__(self, folder: Optional[Path], key: str):
        self.path = None if folder is None else folder / f"{file_stem(key)}.sqlite3"
        with self._errors():
            if folder is not None:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._database = sqlite3.connect(":memory:" if self.path is None else str(self.path), timeout=WAIT)
            try:
                with self._database:
                    self._database.execute(_TABLE)
            except BaseException:
                self.close()
                raise

    def get(self, lines: Iterable[str]) -> dict[str, Translation]:
        """Those of the lines that are kept, with their translations."""
        found = {}
        with self._errors():
            for line in lines:
                row = self._database.execute(
                    "SELECT translation, input_cut, output_cut FROM translations WHERE line = ?", (_digest(line),)
                ).fetchone()
                if row is not None:
                    found[line] = Translation(row[0], bool(row[1]), bool(row[2]))
        return found

    def put(self, translations: Mapping[str, Translation]) -> None:
        """Keep the translations of some lines. Of two that were made at once the first stays."""
        with self._errors(), self._database:
            self._database.executemany(
                "INSERT INTO translations VALUES (?, ?, ?, ?) ON CONFLICT (line) DO NOTHING",
                [(_digest(line), each.text, each.input_cut, each.output_cut) for line, each in translations.items()],
            )

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(
                f"the kept round trips in {self.path} cannot be used: {why}; try again if another process is at it, delete "
                "the file if it is broken, or name another folder, or none, with --rtt-cache"
            ) from error


def file_stem(key: str) -> str:
    """A file name that shows a key and tells it from all others.

    >>> file_stem("hf-me/de-en@main")
    'hf-me_de-en_main-0ef342cd'
    """
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '_', key)[:100]}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _digest(line: str) -> bytes:
    return hashlib.sha256(line.encode()).digest()
