"""Contextual vectors of texts' tokens, and where in its text each token begins."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from itertools import accumulate, islice

import numpy as np
import torch

from ..engine.device import token_batches
from ..engine.encoder import TextEncoder
from .path import Span
from .stream import pieces

TOKENS_AT_ONCE = 8192  # encoded together, longest pieces first, so that little is padding
CENTRED_AT_ONCE = 1024  # tokens; more would leave holes in memory


class Tokens:
    """The tokens of a side's texts, one text after another.

    ends       where each text's tokens end, int64 [texts]

    The rest is computed when it is first read: by the thread that aligns, which has more time than the one that encodes.
    """

    def __init__(
        self, states: torch.Tensor, texts: Sequence[str], parts: Sequence[Sequence[Span]], offsets: Sequence[np.ndarray]
    ):
        """
        states     the encoder's output, fp16 [tokens, width]; the vectors take their memory
        parts      the pieces of each text
        offsets    for each piece, its characters with which its tokens begin
        """
        self._states, self._texts, self._parts, self._offsets = states, texts, parts, offsets
        sizes = [0, *accumulate(map(len, offsets))]
        self.ends = np.array([sizes[end] for end in accumulate(map(len, parts))], np.int64)

    @cached_property
    def vectors(self) -> torch.Tensor:
        """Unit vectors without the part that all tokens of the side share, such as their language; fp16 [tokens, width], on
        the CPU. A single token keeps all of its own."""
        if len(self._states):
            _centre(self._states)
        return self._states

    @cached_property
    def begins(self) -> np.ndarray:
        """The character of its text with which each token begins, int64 [tokens]; blanks before it are not part of it."""
        found, of_pieces = [np.zeros(0, np.int64)], iter(self._offsets)
        for text, parts in zip(self._texts, self._parts, strict=True):
            after_blanks = _after_blanks(text)
            found += [after_blanks[next(of_pieces) + begin] for begin, _ in parts]
        return np.concatenate(found)

    def only(self, kept: np.ndarray) -> "Tokens":
        """The tokens of a single text without those that are not kept, bool [tokens]."""
        some = copy(self)
        vars(some).update(vectors=self.vectors[torch.from_numpy(kept)], begins=self.begins[kept])
        some.ends = np.array([np.count_nonzero(kept)], np.int64)
        return some


def token_vectors(encoder: TextEncoder, layer: int, sides: Sequence[Sequence[str]]) -> list[Tokens]:
    """The tokens of each side of an alignment, at a layer; a side is one text or several. The pieces of all sides are
    encoded together, which is fast."""
    texts = [text for side in sides for text in side]
    parts = [list(pieces(text)) for text in texts]
    flat = [text[begin:end] for text, of_text in zip(texts, parts, strict=True) for begin, end in of_text]
    tokens, offsets = encoder.tokenizer.located(flat)
    rows = [0, *accumulate(each.content for each in tokens)]
    # of all pieces, since the memory of single ones would have holes when they are freed
    vectors = torch.empty(rows[-1], encoder.width, dtype=torch.float16)
    for batch in token_batches([len(each.ids) for each in tokens], TOKENS_AT_ONCE):
        encoded = encoder.encode([tokens[number] for number in batch], [(layer,)], alone=True)
        for number, states in zip(batch, encoded, strict=True):
            vectors[rows[number] : rows[number + 1]] = states[layer,][1:-1]
    found, of_texts, first = [], iter(parts), 0
    for side in sides:
        own = [*islice(of_texts, len(side))]
        last = first + sum(map(len, own))
        found.append(Tokens(vectors[rows[first] : rows[last]], side, own, offsets[first:last]))
        first = last
    return found


def _centre(vectors: torch.Tensor) -> None:
    """Take the mean from vectors, fp16 [tokens, width], and make them unit vectors, in place."""
    common = torch.zeros(vectors.shape[1], dtype=torch.float64)
    for block in vectors.split(CENTRED_AT_ONCE):
        common += block.float().sum(0, dtype=torch.float64)
    common /= len(vectors) if len(vectors) > 1 else np.inf  # nothing would be left of one
    for block in vectors.split(CENTRED_AT_ONCE):
        moved = block.float() - common.float()
        block.copy_(moved / moved.norm(dim=1, keepdim=True).clamp(min=1e-9))


def _after_blanks(text: str) -> np.ndarray:
    """For each position in a text, the first one from there on that is no blank, or the last one."""
    blank = np.fromiter(map(str.isspace, text), bool, len(text))
    place = np.where(blank, len(text), np.arange(len(text)))
    return np.minimum.accumulate(place[::-1])[::-1]
