"""BLEURT's input: a reference and a hypothesis in one sequence, by the checkpoint's SentencePiece model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..engine.device import cores
from ..engine.tokenizer import TokenIds
from ..errors import ModelError
from ..opening import opening

START, END = "[CLS]", "[SEP]"
SPECIAL = 3  # tokens around and between the texts of a pair


class PairTokenizer:
    """[CLS] reference [SEP] hypothesis [SEP], the hypothesis and all that follows of type 1.

    Texts are SentencePiece's alone: special tokens that are written in a text are read as letters.
    """

    def __init__(self, path: Path):
        from sentencepiece import SentencePieceProcessor

        self.path, self._pieces = path, SentencePieceProcessor()
        with opening(path, "cannot be read as a SentencePiece model: {why}; copy or fetch it again"):
            self._pieces.LoadFromSerializedProto(path.read_bytes())
        self._start, self._end = map(self._special, (START, END))

    def _special(self, piece: str) -> int:
        number = self._pieces.PieceToId(piece)
        if self._pieces.IdToPiece(number) != piece:
            raise ModelError(f"{self.path} has no piece {piece}, so it is not BLEURT's", fix="fetch it again")
        return number

    def content(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The token ids of each text, int32, without special tokens."""
        distinct = list(dict.fromkeys(texts))
        ids = self._pieces.encode(distinct, num_threads=cores())
        return {text: np.array(each, np.int32) for text, each in zip(distinct, ids, strict=True)}

    def __call__(self, pairs: Sequence[tuple[str, str]], most: int) -> list[TokenIds]:
        """The sequence of each pair (reference, hypothesis), cut to `most` tokens in total."""
        content = self.content([text for pair in pairs for text in pair])
        return [self._joined(content[reference], content[hypothesis], most) for reference, hypothesis in pairs]

    def _joined(self, reference: np.ndarray, hypothesis: np.ndarray, most: int) -> TokenIds:
        of_reference, of_hypothesis = kept(len(reference), len(hypothesis), most - SPECIAL)
        start, end = np.array([self._start], np.int32), np.array([self._end], np.int32)
        ids = np.concatenate([start, reference[:of_reference], end, hypothesis[:of_hypothesis], end])
        return TokenIds(ids, len(reference) + len(hypothesis) + SPECIAL - len(ids), of_reference + 2)


def kept(reference: int, hypothesis: int, most: int) -> tuple[int, int]:
    """How many tokens of two texts are kept: the longer one loses its last token, the hypothesis if they are equal, and so
    on until both together have `most`.

    >>> kept(300, 100, 250), kept(300, 300, 505), kept(20, 10, 40)
    ((150, 100), (253, 252), (20, 10))
    """
    excess = reference + hypothesis - most
    if excess <= 0:
        return reference, hypothesis
    if excess <= abs(reference - hypothesis):
        return (reference - excess, hypothesis) if reference > hypothesis else (reference, hypothesis - excess)
    return most - most // 2, most // 2
