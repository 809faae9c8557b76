"""How well the tokens of texts that are read in one sequence match: recall and precision by cosine, layer by layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F

from .readout import Accumulator, PackedTokens, Readout, Rows
from .transfer import send

OTHERS = 2  # texts that can follow the first one


def parts(ids: np.ndarray, separator: int, separators: int) -> list[tuple[int, int]]:
    """Where the texts of a sequence begin and end, with so many separators between two; the first token is none of them.

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
    """The tokens of each sequence's first text beside those of another one, where both have any, as rows of their states.

    first, other            int64 [pairs, most tokens], 0 where no token is
    has_first, has_other    bool, as many: whether one is
    slots                   OTHERS times the number of the sequence, and of the other text, int64 [pairs]
    """

    first: torch.Tensor
    has_first: torch.Tensor
    other: torch.Tensor
    has_other: torch.Tensor
    slots: torch.Tensor

    def match(self, states: torch.Tensor, sequences: int) -> torch.Tensor:
        """Recall and precision, fp32 [sequences, OTHERS, 2], of states fp32 [rows, width]; 0 where a text has no tokens.

        Recall is the mean over the other text's tokens of the highest cosine with one of the first text's, as Mathur et al.
        (2019) have it; precision is that of the first text's tokens.
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
    """The pairs of some sequences, whose first tokens have the rows `starts`.

    others    for each sequence the numbers that its other texts have; in their order if None
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
    """Rows of numbers with 0 behind them, and where numbers are."""
    lengths = np.array([len(each) for each in rows], np.int64)
    mask = np.arange(max(lengths, default=0)) < lengths[:, None]
    padded = np.zeros(mask.shape, np.int64)
    padded[mask] = np.concatenate([*rows, np.zeros(0, np.int64)])
    return torch.from_numpy(padded), torch.from_numpy(mask)


def _mean_of_best(cosines: torch.Tensor, has: torch.Tensor) -> torch.Tensor:
    """Mean over tokens that are there (bool [pairs, tokens]) of the highest of cosines [pairs, tokens, others]."""
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
    """Recall and precision of the texts of one sequence against its first one: [OTHERS, layers, 2] of each sequence.

    layers        ascending
    separator     id of the token that stands between texts, `separators` of them
    """

    layers: tuple[int, ...]
    separator: int
    separators: int
    reads: ClassVar = _Matching

    @property
    def last(self) -> int:
        return max(self.layers)
