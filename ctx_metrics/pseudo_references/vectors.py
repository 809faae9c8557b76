"""Texts as the vectors of their words, from a file of word vectors."""

from collections.abc import Sequence

import numpy as np

from ..models.word_vectors import VectorFile
from ..notices import notice


class WordVectors:
    """Texts as the unit vectors of their words, from a GloVe or word2vec text file.

    Words are the tokens of sacrebleu's 13a tokenizer, looked up as they stand, then in lower case. Words without a
    vector are skipped, and a notice gives their number.
    """

    def __init__(self, path: str, quiet: bool = False):
        self._file = VectorFile(path, quiet)

    def is_current(self) -> bool:
        return self._file.is_current()

    def signature(self) -> dict:
        """vectors (the file's name) and fckpt (sha256 of the file, 12 hex digits)."""
        return self._file.signature()

    def __call__(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Unit vectors of each text's known words: fp32 [words, dimensions], [0, 0] where none is known."""
        result = list(self._file(texts))
        say_unknown(
            sum(vector is None for of_text in result for vector in of_text),
            sum(map(len, result)),
            f"words have no vector in {self._file.path}",
        )
        known = [[vector for vector in of_text if vector is not None] for of_text in result]
        return [np.stack(vectors) if vectors else np.zeros((0, 0), np.float32) for vectors in known]


def say_unknown(unknown: int, total: int, what: str) -> None:
    """Say how many words the alignment skips, if any."""
    if unknown:
        notice(f"pseudo-references: {unknown:,} of {total:,} {what}; the alignment skips them")
