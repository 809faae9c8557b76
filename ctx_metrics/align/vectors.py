"""Contextual vectors of texts' tokens, and where in its text each token begins."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch

from ..engine.device import token_batches
from ..engine.encoder import TextEncoder
from ..engine.tokenizer import TokenIds
from .stream import pieces

PIECES_AT_ONCE = 1024  # cut into tokens together
TOKENS_AT_ONCE = 8192  # encoded together, longest pieces first, so that little is padding
CENTRED_AT_ONCE = 1024  # tokens; more would leave holes in memory


class Tokens(NamedTuple):
    """The tokens of texts, one text after another.

    vectors    fp16 [tokens, width], after `centre`, on the CPU
    begins     the character of its text with which each token begins, int64 [tokens]; blanks before it are not part of it
    ends       where each text's tokens end, int64 [texts]
    """

    vectors: torch.Tensor
    begins: np.ndarray
    ends: np.ndarray


def token_vectors(encoder: TextEncoder, layers: Sequence[int], sides: Sequence[Sequence[str]]) -> list[list[Tokens]]:
    """For each layer, the tokens of each side of an alignment; a side is one text or several. The pieces of all sides are
    encoded together, which is fast."""
    texts = [text for side in sides for text in side]
    parts = [list(pieces(text)) for text in texts]
    flat = [text[begin:end] for text, of_text in zip(texts, parts, strict=True) for begin, end in of_text]
    tokens: list[TokenIds] = []
    offsets: list[np.ndarray] = []
    for first in range(0, len(flat), PIECES_AT_ONCE):
        ids, begins = encoder.tokenizer.located(flat[first : first + PIECES_AT_ONCE])
        tokens += ids
        offsets += begins
    rows = [0, *accumulate(each.content for each in tokens)]
    # of all pieces, since those of single ones would leave holes in memory when they are freed
    vectors = [torch.empty(rows[-1], encoder.width, dtype=torch.float16) for _ in layers]
    mixes = [(layer,) for layer in layers]
    for batch in token_batches([len(each.ids) for each in tokens], TOKENS_AT_ONCE):
        encoded = encoder.encode([tokens[number] for number in batch], mixes, alone=True)
        for number, states in zip(batch, encoded, strict=True):
            for mix, of_layer in zip(mixes, vectors, strict=True):
                of_layer[rows[number] : rows[number + 1]] = states[mix][1:-1]
    result: list[list[Tokens]] = [[] for _ in layers]
    done, of_texts = 0, iter(parts)
    for side in sides:
        first = done
        of_side: list[np.ndarray] = []
        for text, of_text in zip(side, of_texts, strict=False):
            own = slice(done, done := done + len(of_text))
            of_pieces = [of_piece + begin for of_piece, (begin, _) in zip(offsets[own], of_text, strict=True)]
            of_side.append(_after_blanks(text)[np.concatenate([*of_pieces, np.zeros(0, np.int64)])])
        begins_of_side = np.concatenate([*of_side, np.zeros(0, np.int64)])
        ends = np.cumsum([len(each) for each in of_side], dtype=np.int64)
        for tokens_of_layer, of_layer in zip(result, vectors, strict=True):
            vectors_of_side = of_layer[rows[first] : rows[done]]
            centre(vectors_of_side)
            tokens_of_layer.append(Tokens(vectors_of_side, begins_of_side, ends))
    return result


def centre(vectors: torch.Tensor) -> None:
    """Make unit vectors of a side's tokens, in place, without what they all have in common, such as their language."""
    if not len(vectors):
        return
    common = torch.zeros(vectors.shape[1], dtype=torch.float64)
    for block in vectors.split(CENTRED_AT_ONCE):
        common += block.sum(0, dtype=torch.float64)
    common /= len(vectors)
    for block in vectors.split(CENTRED_AT_ONCE):
        moved = block.float() - common.float()
        block.copy_(moved / moved.norm(dim=1, keepdim=True).clamp(min=1e-9))


def _after_blanks(text: str) -> np.ndarray:
    """For each position in a text, the first one from there on that is no blank, or the last one."""
    blank = np.fromiter(map(str.isspace, text), bool, len(text))
    place = np.where(blank, len(text), np.arange(len(text)))
    return np.minimum.accumulate(place[::-1])[::-1]
