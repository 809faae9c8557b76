"""What is wrong with the texts of a block's rows: copies of the source, other languages, repetitions."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..notices import counted
from ..run.fault_notices import Languages, check_faults
from ..run.faults import KINDS, faults
from ..run.streams import Segments, named

COLUMN = "faults"
Texts = Mapping[str, Sequence[list[str | None]]]  # the columns of each role


def faults_of_rows(texts: Texts, languages: Languages) -> np.ndarray:
    """What is wrong with each row's output, which depends on no other row: float64 [rows], a sum of 2^k over the places k in
    KINDS, so that it can be kept beside scores.

    >>> faults_of_rows({"mt": [["He said that he he he he he he he he he he he came.", None]]}, (None, "en")).tolist()
    [4.0, 0.0]
    """
    [outputs] = texts["mt"]
    [sources] = texts.get("src", [[None] * len(outputs)])
    found = [faults(text or "", source, *languages) for text, source in zip(outputs, sources, strict=True)]
    return np.array([sum(1 << KINDS.index(kind) for kind in own) for own in found], np.float64)


def words_of(codes: np.ndarray) -> list[str]:
    """The faults of rows in words, with commas between; "" where nothing is wrong.

    >>> words_of(np.array([0.0, 5.0]))
    ['', 'copies,repeats']
    """
    return [",".join(kind for kind in KINDS if has(np.array(code), [kind])) for code in codes]


def has(codes: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    """Which rows have one of some kinds of faults: bool [rows]."""
    return codes.astype(np.int64) & sum(1 << KINDS.index(kind) for kind in kinds) > 0


def say_faults(texts: Texts, columns: Mapping[str, Sequence[str]], languages: Languages) -> None:
    """Say what is wrong with many of the outputs, references or sources of a run's first block."""
    rows = counted(len(texts["mt"][0]), "row", "rows")

    def streams(role: str) -> list[Segments]:
        names = [f"column {name} (the first {rows})" for name in columns.get(role, ())]
        return [named(own, name) for own, name in zip(texts.get(role, ()), names, strict=True)]

    source = streams("src")
    check_faults(streams("mt"), streams("ref"), source[0] if source else None, languages)
