"""Faults in the texts of a block's rows: copies of the source, other languages, repetitions."""

from collections.abc import Sequence

import numpy as np

from ..checks.texts import KINDS, Languages, faults
from ..run.rows import Streams

COLUMN = "faults"


def faults_of_rows(streams: Streams, languages: Languages) -> np.ndarray:
    """The faults of each row's hypothesis, which do not depend on other rows: float64 [rows], so that they can be kept with
    the scores. Each is the sum of 2^k over its faults' indices k in KINDS.

    >>> faults_of_rows({"mt": [["He said that he he he he he he he he he he he came.", None]]}, (None, "en")).tolist()
    [4.0, 0.0]
    """
    [hypotheses] = streams["mt"]
    [sources] = streams.get("src", [[None] * len(hypotheses)])
    found = [faults(text or "", source, *languages) for text, source in zip(hypotheses, sources, strict=True)]
    return np.array([sum(1 << KINDS.index(kind) for kind in own) for own in found], np.float64)


def words_of(codes: np.ndarray) -> list[str]:
    """The faults of each row in words, separated by commas; "" if there are none.

    >>> words_of(np.array([0.0, 5.0]))
    ['', 'copies,repeats']
    """
    return [",".join(kind for kind in KINDS if has(np.array(code), [kind])) for code in codes]


def has(codes: np.ndarray, kinds: Sequence[str]) -> np.ndarray:
    return codes.astype(np.int64) & sum(1 << KINDS.index(kind) for kind in kinds) > 0
