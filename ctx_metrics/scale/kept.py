"""Results of blocks on disk, by all that they depend on: a run that is repeated, or has a system or a metric more, scores
what is new."""

import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..models.estimator import ErrorSpan, Estimate
from ..notices import Odd, notice
from ..run.context import Stream
from ..scoring.base import ContextMetric
from ..scoring.results import ScoredWindow, SystemResult
from ..windows import Window
from ..writing import check_writable, make_folder, write_bytes

LIMIT = 2**30  # bytes that are kept
_ENDING = ".json.z"


class KeptResults:
    """Results in a folder, a file each, at most LIMIT bytes together: what was not read for longest goes first.

    A file that is not what was written is left out, with a notice, and its result is computed again. Raises InputError where
    the folder cannot be written.
    """

    def __init__(self, folder: str, limit: int = LIMIT):
        check_writable(folder, folder=True, flag="--ctx-cache")
        self._folder, self._limit = Path(folder), limit
        self._broken = False

    def get(self, key: str) -> tuple[SystemResult, list[str]] | None:
        """The result of a key, and what was said when it was computed; or None."""
        plain = self.get_plain(key)
        return None if plain is None else (_from_plain(plain), plain["said"])

    def get_plain(self, key: str) -> dict[str, Any] | None:
        """What put_plain kept under a key, or None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"--ctx-cache: cannot read {path}: {error.strerror or error}") from error
        head, _, packed = content.partition(b"\n")
        if head.decode("ascii", "replace") != hashlib.sha256(packed).hexdigest():
            if not self._broken:
                notice(f"--ctx-cache: {path} is not what was written; scored again")
            self._broken = True
            return None
        os.utime(path)
        found: dict[str, Any] = json.loads(zlib.decompress(packed))
        return found

    def put(self, key: str, result: SystemResult, said: Sequence[str]) -> None:
        """Keep a result; one that explains the matches of tokens is too large, and is not."""
        if result.matches:
            return
        self.put_plain(key, {**_plain(result), "said": list(said)})

    def put_plain(self, key: str, found: Mapping[str, Any]) -> None:
        """Keep what JSON can hold under a key."""
        packed = zlib.compress(json.dumps(found).encode(), 6)
        path = self._path(key)
        make_folder(str(path.parent))
        write_bytes(str(path), hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed)

    def trim(self) -> None:
        """Remove what exceeds the limit."""
        files = [(path.stat(), path) for path in self._folder.glob(f"*/*{_ENDING}")]
        left = sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
            if left <= self._limit:
                return
            path.unlink(missing_ok=True)
            left -= status.st_size

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}{_ENDING}"


def key_of(
    metric: ContextMetric, hypotheses: Sequence[str], references: Sequence[Stream], given: Mapping[str, Any]
) -> str:
    """A hash of all that a result depends on: the metric's class, signature and settings, and the texts."""
    context = {name: value for name, value in given.items() if name not in ("sources", "doc_ids", "engine")}
    cls = type(metric)
    what = [
        [f"{cls.__module__}.{cls.__qualname__}", str(metric.get_signature().format()), repr(sorted(context.items()))],
        [list(hypotheses), [list(stream) for stream in references]],
        [given.get("sources"), _runs(given.get("doc_ids"))],
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def _runs(ids: Sequence[str] | None) -> list[int] | None:
    """Where documents begin, which is all that their ids say."""
    return None if ids is None else [i for i in range(len(ids)) if i == 0 or ids[i] != ids[i - 1]]


def _plain(result: SystemResult) -> dict[str, Any]:
    return {
        "rows": result.rows,
        "counts": result.counts,
        "notices": [_plain_line(line) for line in result.notices],
        "of_texts": [_plain_line(line) for line in result.of_texts],
        "windows": [
            [*window.window, window.value, None if window.estimate is None else _plain_estimate(window.estimate)]
            for window in result.windows
        ],
    }


def _plain_line(line: str) -> str | list:
    return [line.words, line.number, line.first, line.where] if isinstance(line, Odd) else line


def _plain_estimate(estimate: Estimate) -> list:
    value, cut, empty, parts, spans = estimate
    return [value, cut, empty, dict(parts), None if spans is None else [list(span) for span in spans]]


def _from_plain(plain: Mapping[str, Any]) -> SystemResult:
    windows = [
        ScoredWindow(Window(start, end, weight), value, None if estimate is None else _estimate(estimate))
        for start, end, weight, value, estimate in plain["windows"]
    ]
    notices, of_texts = (
        [Odd(*line) if isinstance(line, list) else line for line in plain[name]] for name in ("notices", "of_texts")
    )
    return SystemResult(plain["rows"], plain["counts"], notices, windows, of_texts)


def _estimate(plain: Sequence[Any]) -> Estimate:
    value, cut, empty, parts, spans = plain
    return Estimate(value, cut, empty, parts, None if spans is None else [ErrorSpan(*span) for span in spans])
