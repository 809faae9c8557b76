"""Faults in the texts of a block's rows: copies of the source, other languages, repetitions."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..checks.texts import KINDS, Languages, check_faults, faults
from ..corpus import Segments, named
from ..notices import counted, notice

COLUMN = "faults"
_is_number = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)*\s*").fullmatch
Texts = Mapping[str, Sequence[list[str | None]]]  # for each role, its columns


def faults_of_rows(texts: Texts, languages: Languages) -> np.ndarray:
    """The faults of each row's output, which do not depend on other rows: float64 [rows], so that they can be kept with the
    scores. Each is the sum of 2^k over its faults' indices k in KINDS.

    >>> faults_of_rows({"mt": [["He said that he he he he he he he he he he he came.", None]]}, (None, "en")).tolist()
    [4.0, 0.0]
    """
    [outputs] = texts["mt"]
    [sources] = texts.get("src", [[None] * len(outputs)])
    found = [faults(text or "", source, *languages) for text, source in zip(outputs, sources, strict=True)]
    return np.array([sum(1 << KINDS.index(kind) for kind in own) for own in found], np.float64)


def words_of(codes: np.ndarray) -> list[str]:
    """The faults of each row in words, separated by commas; "" if there are none.

    >>> words_of(np.array([0.0, 5.0]))
    ['', 'copies,repeats']
    """
    return [",".join(kind for kind in KINDS if has(np.array(code), [kind])) for code in codes]


def has(codes: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    return codes.astype(np.int64) & sum(1 << KINDS.index(kind) for kind in kinds) > 0


def say_faults(texts: Texts, columns: Mapping[str, Sequence[str]], languages: Languages) -> None:
    """Print notices about faults that many outputs, references or sources of a run's first block have."""
    rows = counted(len(texts["mt"][0]), "row", "rows")

    def streams(role: str) -> list[Segments]:
        names = [f"column {name} (the first {rows})" for name in columns.get(role, ())]
        return [named(own, name) for own, name in zip(texts.get(role, ()), names, strict=True)]

    for each in (*streams("mt"), *streams("ref"), *streams("src")):
        given = [text for text in each if text]
        if len(given) > 2 and all(map(_is_number, given)):
            notice(f"{each.name}: holds only numbers; choose the columns with --columns")
    source = streams("src")
    check_faults(streams("mt"), streams("ref"), source[0] if source else None, languages)
