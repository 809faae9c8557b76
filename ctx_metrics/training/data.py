"""The data of any training run: their languages, and their record in config.json and on the card."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, ModelError
from ..judgements.readers.rows import language_pair
from ..language import guard_english, primary
from ..language import language_pair as checked_pair
from ..notices import counted
from ..opening import file_sha256
from ..settings import CommandLine
from .folder import name_of

Languages = dict[str, tuple[str | None, str | None]]


class Source(NamedTuple):
    """One path of the data.

    name      the last part of the path
    weight    weight of its rows; None for development data
    counts    {"rows": rows read, "kept": ..., "without a score": ..., ...}
    scores    which scores of the data were read, such as "esa" or "z(A) + z(B)"; "" where there was no choice
    """

    name: str
    sha256: str
    weight: float | None
    counts: Mapping[str, int]
    scores: str = ""

    @classmethod
    def of(cls, path: str, counts: Mapping[str, int], weight: float | None = None, scores: str = "") -> "Source":
        return cls(name_of(path), data_sha256(path), weight, counts, scores)

    def as_json(self) -> dict[str, Any]:
        weight = {} if self.weight is None else {"weight": self.weight}
        scores = {"scores": self.scores} if self.scores else {}
        return {"name": self.name, "sha256": self.sha256, **weight, **scores, **self.counts}


def as_json(sources: Mapping[str, Sequence[Source]]) -> dict[str, list[dict[str, Any]]]:
    return {side: [each.as_json() for each in paths] for side, paths in sources.items()}


def data_sha256(path: str) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal, or that of all files below a folder.

    A folder's hash is that of the lines "HASH  NAME" that sha256sum prints for its files, with names relative to the
    folder, separated by "/" and sorted as bytes.
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


def check_given_once(paths: Sequence[str]) -> None:
    for number, path in enumerate(paths):
        if any(os.path.realpath(path) == os.path.realpath(other) for other in paths[:number]):
            raise InputError(f"{path} is given twice", fix="give it once")


def left_out(counts: Mapping[str, int], one: str, several: str) -> str:
    """Return the counts of rows left out, in words; "" if there are none. "rows" and "kept" count the rows read and used.

    >>> left_out({"rows": 9, "kept": 5, "of human systems": 3, "without a score": 1, "without an output": 0}, "row", "rows")
    'left out 3 rows of human systems, 1 without a score'
    """
    left = [(number, why) for why, number in counts.items() if number and why not in ("rows", "kept")]
    reasons = [f"{f'{n:,}' if k else counted(n, one, several)} {why}" for k, (n, why) in enumerate(left)]
    return f"left out {', '.join(reasons)}" if reasons else ""


def check_pairs(line: CommandLine, pairs: Sequence[str] | None) -> None:
    for pair in pairs or ():
        try:
            checked_pair(pair)
        except InputError as error:
            line.error(f"-l {error}")


def known_languages(datasets: Sequence[str], pairs: Sequence[str] | None) -> Languages:
    """Return the source and target language of each data set, from its name or a single -l; None if unknown.

    >>> known_languages(["wmt20.en-de", "mine"], ["cs-en"])
    {'wmt20.en-de': ('en', 'de'), 'mine': ('cs', 'en')}
    """
    one = language_pair(pairs[0]) if pairs is not None and len(pairs) == 1 else (None, None)
    languages = {}
    for name in dict.fromkeys(datasets):
        # if two data sets have the same name, the second has its path appended
        of_name = language_pair(name.rpartition(" (")[0] or name)
        languages[name] = of_name if of_name[0] else one
    return languages


def target_languages(encoder: str | None, known: Languages) -> list[str] | None:
    """Return the model's default languages: the known target languages, or English for the embedded encoder."""
    if encoder in (None, "embedded"):
        return ["en"]
    return sorted({primary(target) for _, target in known.values() if target}) or None


def guard(command: str, asked: bool, languages: Iterable[str | None], texts: Iterable[Sequence[Any]]) -> None:
    """Stop or warn if the embedded encoder would read a language other than English."""
    for language in sorted({each for each in languages if each}):
        guard_english(command, "--encoder", asked, language=language, texts=())
    for each in texts:
        guard_english("", "", asked, language=None, texts=each)
