"""Contextual vectors of texts' tokens, and where in its text each token begins."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ..engine.encoder import TextEncoder
from .stream import pieces

PIECES_AT_ONCE = 128  # encoded together, or centred together


class Tokens(NamedTuple):
    """The tokens of texts, one text after another.

    vectors    `centred`, [tokens, width], on the CPU
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
    vectors: dict[int, list[torch.Tensor]] = {layer: [torch.empty(0)] * len(flat) for layer in layers}
    mixes = [(layer,) for layer in vectors]
    offsets = [np.zeros(0, np.int64)] * len(flat)
    # those that are encoded together then need little padding
    by_length = sorted(range(len(flat)), key=lambda number: len(flat[number]))
    for first in range(0, len(flat), PIECES_AT_ONCE):
        some = by_length[first : first + PIECES_AT_ONCE]
        ids, begins = encoder.tokenizer.located([flat[number] for number in some])
        encoded = encoder.encode(ids, mixes, alone=True)
        for layer, of_layer in vectors.items():
            states = [of_piece[(layer,)][1:-1] for of_piece in encoded]
            # one block of memory, which the system gets back, where many small ones would leave holes
            block = torch.cat(states).half().split([len(each) for each in states])
            for number, of_piece in zip(some, block, strict=True):
                of_layer[number] = of_piece
        for number, of_piece in zip(some, begins, strict=True):
            offsets[number] = of_piece
    located: list[tuple[slice, np.ndarray, np.ndarray]] = []
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
        located.append((slice(first, done), begins_of_side, ends))
    no_vectors = torch.empty(0, encoder.width, dtype=torch.float16)
    result = []
    for layer in layers:
        of_layer = vectors.pop(layer)  # freed before the next layer's are centred
        result.append(
            [
                Tokens(centred(of_layer[own]) if len(begins_of_side) else no_vectors, begins_of_side, ends)
                for own, begins_of_side, ends in located
            ]
        )
    return result


def centred(pieces: Sequence[torch.Tensor]) -> torch.Tensor:
    """Unit vectors, fp16, without what all tokens of a side have in common, such as their language.

    pieces    vectors of consecutive tokens, [tokens, width] each
    """
    blocks = [tuple(pieces[first : first + PIECES_AT_ONCE]) for first in range(0, len(pieces), PIECES_AT_ONCE)]
    tokens = sum(map(len, pieces))
    common = torch.stack([torch.cat(block).sum(0, dtype=torch.float64) for block in blocks]).sum(0) / tokens
    result = torch.empty(tokens, pieces[0].shape[1], dtype=torch.float16)
    done = 0
    for block in blocks:
        moved = torch.cat(block).float() - common.float()
        moved /= moved.norm(dim=1, keepdim=True).clamp(min=1e-9)
        result[done : (done := done + len(moved))] = moved
    return result


def _after_blanks(text: str) -> np.ndarray:
    """For each position in a text, the first one from there on that is no blank, or the last one."""
    blank = np.fromiter(map(str.isspace, text), bool, len(text))
    place = np.where(blank, len(text), np.arange(len(text)))
    return np.minimum.accumulate(place[::-1])[::-1]
