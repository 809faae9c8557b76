"""Matches of the tokens of texts in one sequence: recall and precision of cosines, layer by layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from .device import send
from .readout import Accumulator, PackedTokens, Readout, Rows

OTHERS = 2  # most texts that can follow the first one


def parts(ids: np.ndarray, separator: int, separators: int) -> list[tuple[int, int]]:
    """The (begin, end) of each text in a sequence, with `separators` separators between texts; the first token is in none.

    >>> parts(np.array([0, 7, 8, 2, 2, 9, 2]), separator=2, separators=2)
    [(1, 3), (5, 6)]
    """
    places: list[tuple[int, int]] = []
    begin, ends = 1, np.flatnonzero(ids == separator).tolist()
    while begin < len(ids) and len(places) <= OTHERS:
        end = next((end for end in ends if end >= begin), len(ids))
        places.append((begin, end))
        begin = end + separators
    return places


class TokenPairs(NamedTuple):
    """Pairs of a sequence's first text and another one, both with tokens; a token is the row number of its hidden state.

    first, other            the tokens of each side, int64 [pairs, most tokens], padded with 0
    has_first, has_other    bool, of the same shapes: False at padding
    slots                   OTHERS * number of the sequence + number of the other text, int64 [pairs]
    """

    first: torch.Tensor
    has_first: torch.Tensor
    other: torch.Tensor
    has_other: torch.Tensor
    slots: torch.Tensor

    def match(self, states: torch.Tensor, sequences: int) -> torch.Tensor:
        """Recall and precision, fp32 [sequences, OTHERS, 2], of states fp32 [rows, width]; 0 if a text has no tokens.

        Recall is the mean, over the other text's tokens, of the highest cosine with a token of the first text (Mathur et al.
        2019). Precision is the same mean over the first text's tokens.
        """
        matched = states.new_zeros(sequences * OTHERS, 2)
        if len(self.slots):
            unit = F.normalize(states, dim=1)
            cosines = unit[self.other] @ unit[self.first].transpose(1, 2)
            recall = _mean_of_best(cosines.masked_fill(~self.has_first[:, None], -2), self.has_other)
            precision = _mean_of_best(cosines.transpose(1, 2).masked_fill(~self.has_other[:, None], -2), self.has_first)
            matched = matched.index_copy(0, self.slots, torch.stack([recall, precision], 1))
        return matched.view(sequences, OTHERS, 2)


def token_pairs(
    sequences: Sequence[np.ndarray],
    starts: Sequence[int],
    separator: int,
    separators: int,
    others: Sequence[Sequence[int]] | None = None,
) -> TokenPairs:
    """The token pairs of sequences whose first tokens are at the rows `starts`.

    others    the numbers of each sequence's other texts; None: they are numbered in order
    """
    pairs = []
    for number, (ids, start) in enumerate(zip(sequences, starts, strict=True)):
        (begin, end), *further = parts(ids, separator, separators)
        for k, (b, e) in enumerate(further):
            if begin < end and b < e:
                slot = number * OTHERS + (k if others is None else others[number][k])
                pairs.append((np.arange(start + begin, start + end), np.arange(start + b, start + e), slot))
    first, other = _padded([pair[0] for pair in pairs]), _padded([pair[1] for pair in pairs])
    return TokenPairs(*first, *other, torch.tensor([pair[2] for pair in pairs], dtype=torch.int64))


def _padded(rows: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of numbers padded with 0 at the end, and a mask that is True at the numbers."""
    lengths = np.array([len(each) for each in rows], np.int64)
    mask = np.arange(max(lengths, default=0)) < lengths[:, None]
    padded = np.zeros(mask.shape, np.int64)
    padded[mask] = np.concatenate([*rows, np.zeros(0, np.int64)])
    return torch.from_numpy(padded), torch.from_numpy(mask)


def _mean_of_best(cosines: torch.Tensor, has: torch.Tensor) -> torch.Tensor:
    """The mean, over existing tokens (bool [pairs, tokens]), of the highest of their cosines [pairs, tokens, others]."""
    return (cosines.amax(2) * has).sum(1) / has.sum(1)


class _Matching(Accumulator):
    def __init__(self, readout: "Matching", packed: PackedTokens):
        super().__init__(readout, packed)
        starts = packed.ends[:-1].tolist()
        pairs = token_pairs(packed.sequences, starts, readout.separator, readout.separators)
        self.pairs = TokenPairs(*(send(tensor, packed.device) for tensor in pairs))
        self.matched: list[torch.Tensor] = []

    def add(self, number: int, hidden: torch.Tensor, first_only: bool) -> None:
        if number in self.readout.layers:
            self.matched.append(self.pairs.match(hidden[: self.packed.total].float(), len(self.packed.lengths)))

    def result(self) -> Rows:
        return Rows(torch.stack(self.matched, 2), None)


@dataclass(frozen=True)
class Matching(Readout):
    """Recall and precision of a sequence's other texts against its first one: [OTHERS, layers, 2] for each sequence.

    layers        layer numbers, ascending
    separator     id of the token that separates texts, `separators` times
    """

    layers: tuple[int, ...]
    separator: int
    separators: int
    reads: ClassVar = _Matching

    @property
    def last(self) -> int:
        return max(self.layers)
