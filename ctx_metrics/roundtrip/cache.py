"""The cache of back-translations: a SQLite file for each back-translator, keyed by the sha256 of the line."""

import errno
import hashlib
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import InputError
from ..notices import counted, notice
from ..writing import checksum
from .back_translation import Translation

WAIT = 60.0  # seconds for another process to finish writing
_TABLE = (
    "CREATE TABLE IF NOT EXISTS translations (line BLOB PRIMARY KEY, translation TEXT NOT NULL, "
    "input_cut INTEGER NOT NULL, output_cut INTEGER NOT NULL, checksum INTEGER)"
)
_COLUMNS = "line, translation, input_cut, output_cut"


class TranslationCache:
    """A back-translator's translations on disk; each `put` is atomic, even in a power failure.

    folder    created if it does not exist; None keeps everything in memory
    key       the back-translator's name

    Several processes may use the cache at the same time.
    """

    def __init__(self, folder: Path | None, key: str):
        self.path = None if folder is None else folder / f"{file_stem(key)}.sqlite3"
        with self._errors():
            if self.path is not None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _make(self.path)
            self._database = sqlite3.connect(":memory:" if self.path is None else str(self.path), timeout=WAIT)
            self._database.text_factory = lambda text: text.decode(
                errors="surrogateescape"
            )  # damaged data may not be valid text
            try:
                with self._database:
                    self._database.execute(_TABLE)
            except BaseException:
                self.close()
                raise

    def get(self, lines: Iterable[str]) -> dict[str, Translation]:
        """Return the cached lines and their translations; damaged ones are dropped and counted in a notice."""
        kept, damaged = {}, []
        with self._errors():
            for line in lines:
                row = self._database.execute(
                    f"SELECT {_COLUMNS}, checksum FROM translations WHERE line = ?", (_digest(line),)
                ).fetchone()
                if row is None:
                    continue
                if row[-1] == _checksum(row[:-1]):
                    kept[line] = Translation(row[1], bool(row[2]), bool(row[3]))
                else:
                    damaged.append(row[:1])
            if damaged:
                with self._database:
                    self._database.executemany("DELETE FROM translations WHERE line = ?", damaged)
                number = counted(len(damaged), "kept line is", "kept lines are")
                notice(f"{self.path}: {number} damaged and translated again")
        return kept

    def put(self, translations: Mapping[str, Translation]) -> None:
        """Store translations. If two processes translate the same line, the first translation is kept."""
        with self._errors(), self._database:
            self._database.executemany(
                "INSERT INTO translations VALUES (?, ?, ?, ?, ?) ON CONFLICT (line) DO NOTHING",
                [
                    (*row, _checksum(row))
                    for line, each in translations.items()
                    for row in [(_digest(line), each.text, int(each.input_cut), int(each.output_cut))]
                ],
            )

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(
                f"the kept round trips in {self.path} cannot be used: {why}",
                fix="try again if another process uses it, "
                "delete the file if it is damaged, or name another folder, or none, with --rtt-cache",
            ) from error


def file_stem(key: str) -> str:
    """Return a readable file name that is unique to a key.

    >>> file_stem("hf-me/de-en@main")
    'hf-me_de-en_main-0ef342cd'
    """
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '_', key)[:100]}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def _digest(line: str) -> bytes:
    return hashlib.sha256(line.encode()).digest()


def _checksum(row: tuple) -> int:
    return checksum(repr(row).encode("utf-8", "surrogatepass"))


def _make(path: Path) -> None:
    """Create a file if it does not exist, with the umask's permissions, which SQLite keeps; do not follow links."""
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
