"""Contextual vectors of a text's tokens, and where in the text each token begins."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ..engine.encoder import TextEncoder
from .stream import pieces

PIECES_AT_ONCE = 512  # as many are encoded together


class Tokens(NamedTuple):
    """vectors    fp16 [tokens, width], on the CPU, of each piece of the text, in order
    begins     the character with which each token begins, int64 [tokens]; blanks before it are not part of it
    """

    vectors: list[torch.Tensor]
    begins: np.ndarray


def token_vectors(encoder: TextEncoder, layer: int, texts: Sequence[str]) -> list[Tokens]:
    """The tokens of each text. Texts are encoded in pieces, those of all texts together, which is fast."""
    parts = [list(pieces(text)) for text in texts]
    flat = [text[begin:end] for text, of_text in zip(texts, parts, strict=True) for begin, end in of_text]
    vectors: list[torch.Tensor] = []
    offsets: list[np.ndarray] = []
    for first in range(0, len(flat), PIECES_AT_ONCE):
        some = flat[first : first + PIECES_AT_ONCE]
        ids, begins = encoder.tokenizer.located(some)
        states = encoder.encode(ids, [(layer,)], alone=True)
        vectors += [of_piece[(layer,)][1:-1].half() for of_piece in states]
        offsets += begins
    result, done = [], 0
    for text, of_text in zip(texts, parts, strict=True):
        own = slice(done, done := done + len(of_text))
        begins = [of_piece + begin for of_piece, (begin, _) in zip(offsets[own], of_text, strict=True)]
        flat_begins = np.concatenate([*begins, np.zeros(0, np.int64)])
        result.append(Tokens(vectors[own], _after_blanks(text)[flat_begins]))
    return result


def _after_blanks(text: str) -> np.ndarray:
    """For each position in a text, the first one from there on that is no blank, or the last one."""
    blank = np.fromiter(map(str.isspace, text), bool, len(text))
    place = np.where(blank, len(text), np.arange(len(text)))
    return np.minimum.accumulate(place[::-1])[::-1]
