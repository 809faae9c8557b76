"""Readouts of a text's hidden layers: token states, one pooled vector, or token labels.

Readouts are hashable: the encoder returns its results, and the store keeps them, by readout. A plain tuple of layer numbers
also serves as a readout: the token-wise mean of these layers.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F

from .device import send

LayerMix = tuple[int, ...]
# What a text is to a metric: a segment, or a window of several segments.
SEGMENT, WINDOW = "segment", "window"


class PackedTokens:
    """Token id sequences, each int [tokens], one after another without padding; equal lengths must be adjacent.

    ids       the ids of all sequences on the device, int64 [rows]; zeros beyond `total`
    rows      `total`, or more if the device needs a round number
    ends      0, then the end of each sequence, int64 [sequences + 1], on the CPU
    """

    def __init__(self, sequences: Sequence[np.ndarray], rows: int, device: torch.device):
        self.sequences, self.device, self.rows = sequences, device, rows
        self.lengths = list(map(len, sequences))
        self.ends = np.cumsum([0, *self.lengths])
        self.total = int(self.ends[-1])
        flat = np.zeros(rows, np.int64)
        flat[: self.total] = np.concatenate(sequences)
        self._flat = flat[: self.total]
        self.ids = send(flat, device)

    def has(self, word: int | None) -> bool:
        return word is not None and bool((self._flat == word).any())

    @property
    def places(self) -> np.ndarray:
        """Index of each token in its sequence, int64 [total]."""
        return np.arange(self.total) - np.repeat(self.ends[:-1], self.lengths)

    # These tensors are on the device; each is sent at most once per batch, on first use.

    @cached_property
    def starts(self) -> torch.Tensor:
        """Row of each sequence's first token, int64 [sequences]."""
        return send(self.ends[:-1], self.device)

    @cached_property
    def counts(self) -> torch.Tensor:
        """Number of tokens of each sequence, fp32 [sequences]."""
        return send(np.array(self.lengths, np.float32), self.device)

    @cached_property
    def owners(self) -> torch.Tensor:
        """Index of the sequence that each token belongs to, int64 [total]."""
        return send(np.repeat(np.arange(len(self.lengths)), self.lengths), self.device)

    @cached_property
    def offsets(self) -> torch.Tensor:
        """`ends` in the form that variable-length kernels take, int32 [sequences + 1]."""
        return send(self.ends.astype(np.int32), self.device)

    @cached_property
    def slots(self) -> torch.Tensor:
        """Row of each token when all sequences are padded to the longest, int64 [total]."""
        return send(
            np.repeat(np.arange(len(self.lengths)) * max(self.lengths), self.lengths) + self.places, self.device
        )

    @cached_property
    def mask(self) -> torch.Tensor:
        """The positions of tokens in the sequences, padded to the longest: bool [sequences, longest]."""
        return send(np.arange(max(self.lengths)) < np.array(self.lengths)[:, None], self.device)


def equal_runs(lengths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lengths in packed sequences, each as (first token, number of sequences, their length).

    >>> list(equal_runs([5, 5, 2]))
    [(0, 2, 5), (10, 1, 2)]
    """
    offset = begin = 0
    for i in range(1, len(lengths) + 1):
        if i == len(lengths) or lengths[i] != lengths[begin]:
            yield offset, i - begin, lengths[begin]
            offset += (i - begin) * lengths[begin]
            begin = i


@dataclass(frozen=True)
class Rows:
    """The readouts of several texts, one after another.

    values    fp32 [rows, ...]
    counts    number of rows of each text; None: one row each, and a text's values have no dimension for rows
    """

    values: torch.Tensor
    counts: Sequence[int] | None

    @cached_property
    def ends(self) -> list[int]:
        """0, then the end of each text's rows."""
        return [0, *accumulate(self.counts or ())]

    def of_text(self, number: int) -> torch.Tensor:
        if self.counts is None:
            return self.values[number]
        return self.values[self.ends[number] : self.ends[number + 1]]

    def of_texts(self, begin: int, end: int) -> "Rows":
        if self.counts is None:
            return Rows(self.values[begin:end], None)
        return Rows(self.values[self.ends[begin] : self.ends[end]], self.counts[begin:end])


class Accumulator(ABC):
    """Reads the hidden layers of one batch as they are computed, so that no layer is kept longer than needed."""

    def __init__(self, readout: Any, packed: PackedTokens):
        self.readout, self.packed = readout, packed

    @abstractmethod
    def add(self, number: int, hidden: torch.Tensor, first_only: bool) -> None:
        """Read layer `number`: fp32 [rows, width] of all tokens, [>= sequences, width] of first tokens if `first_only`."""

    @abstractmethod
    def result(self) -> Rows:
        """The readouts of the sequences, on the device."""


class Readout(ABC):
    """The data to keep of a text's hidden layers. Subclasses are hashable."""

    reads: ClassVar[type[Accumulator]]

    @property
    @abstractmethod
    def last(self) -> int:
        """The last layer that is read: 0 is the embedding layer, k the k-th transformer layer's output."""

    @property
    def first_only(self) -> bool:
        """Whether only the first token is read from the last layer."""
        return False

    @property
    def unit(self) -> str | None:
        """The texts to read when another metric has them encoded: "segment", "window", or None for both."""
        return None

    def accumulator(self, packed: PackedTokens) -> Accumulator:
        return self.reads(self, packed)


def readout_of(key: LayerMix | Readout) -> Readout:
    """The readout that a key stands for: itself, or the mean of a tuple of layers."""
    return key if isinstance(key, Readout) else TokenStates(key)


class _TokenStates(Accumulator):
    sum: torch.Tensor  # set at the first of the layers

    def add(self, number: int, hidden: torch.Tensor, first_only: bool) -> None:
        if number in self.readout.layers:
            states = hidden[: self.packed.total].float()
            self.sum = states if number == min(self.readout.layers) else self.sum + states

    def result(self) -> Rows:
        mean = self.sum.div_(len(self.readout.layers)) if len(self.readout.layers) > 1 else self.sum
        return Rows(mean, self.packed.lengths)


@dataclass(frozen=True)
class TokenStates(Readout):
    """The token-wise mean of some layers: [tokens, width] for each text."""

    layers: LayerMix
    reads: ClassVar = _TokenStates

    @property
    def last(self) -> int:
        return max(self.layers)


class _PooledMix(Accumulator):
    mixed: torch.Tensor  # [sequences, width] if only first tokens are pooled, else [total, width]

    def add(self, number: int, hidden: torch.Tensor, first_only: bool) -> None:
        readout, packed = self.readout, self.packed
        weight = readout.weights[number] if number < len(readout.weights) else 0.0
        if not weight:
            return
        if first_only:
            states = hidden[: len(packed.lengths)].float()
        elif readout.first_only:
            states = hidden[packed.starts].float()
        else:
            states = hidden[: packed.total].float()
            if readout.layer_norm:
                states = self._normalised(states)
            if readout.pooling == "cls":
                states = states[packed.starts]
        self.mixed = self.mixed.add_(states, alpha=weight) if any(readout.weights[:number]) else states * weight

    def _normalised(self, states: torch.Tensor) -> torch.Tensor:
        """Standardise each sequence's states by their mean and standard deviation over all its tokens and dimensions."""
        numbers = self.packed.counts * states.shape[1]
        mean = self._summed(states.sum(1)) / numbers
        centred = states - mean[self.packed.owners, None]
        variance = self._summed(centred.square().sum(1)) / numbers
        return centred / torch.sqrt(variance + 1e-12)[self.packed.owners, None]

    def _summed(self, of_tokens: torch.Tensor) -> torch.Tensor:
        """Sum the tokens' values [total] within each sequence: [sequences]."""
        sums = torch.zeros(len(self.packed.lengths), device=of_tokens.device)
        return sums.index_add_(0, self.packed.owners, of_tokens)

    def result(self) -> Rows:
        if self.readout.pooling == "cls":
            pooled = self.mixed
        else:
            masks = self._masks()
            pooled = torch.cat(
                [
                    self._pooled(self.mixed[offset : offset + count * length].view(count, length, -1), masks, offset)
                    for offset, count, length in equal_runs(self.packed.lengths)
                ]
            )
        return Rows(pooled, None)

    def _masks(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Which tokens are pooled, and which count in the denominator of avg, both bool [total]; None if all do."""
        if self.readout.separator is None and not self.packed.has(self.readout.pad):
            return None
        kept = [self._kept(sequence) for sequence in self.packed.sequences]
        if all(counted.all() and pooled.all() for pooled, counted in kept):
            return None
        pooled, counted = map(np.concatenate, zip(*kept, strict=True))
        return send(pooled, self.packed.device), send(counted, self.packed.device)

    def _kept(self, sequence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of a sequence's tokens are pooled, and which are counted, bool [tokens] each."""
        counted = np.ones(len(sequence), bool)
        if self.readout.separator is not None:
            separators = np.flatnonzero(sequence == self.readout.separator)
            if len(separators) > 1:
                counted[1 : separators[-2] + 1] = False
        pooled = counted if self.readout.pad is None else counted & (sequence != self.readout.pad)
        return pooled, counted

    def _pooled(
        self, states: torch.Tensor, masks: tuple[torch.Tensor, torch.Tensor] | None, offset: int
    ) -> torch.Tensor:
        """Pool the states [count, length, width], whose first token is at row `offset`, into [count, width]."""
        count, length, _ = states.shape
        if masks is None:
            return states.mean(1) if self.readout.pooling == "avg" else states.amax(1)
        pooled, counted = (mask[offset : offset + count * length].view(count, length, 1) for mask in masks)
        if self.readout.pooling == "avg":
            return states.masked_fill(~pooled, 0).sum(1) / counted.sum(1)
        return states.masked_fill(~pooled, -torch.inf).amax(1)


@dataclass(frozen=True)
class PooledMix(Readout):
    """One vector per text: a weighted sum of layers, pooled over tokens, fp32 [width].

    weights       weight of each layer, from the embedding layer on; layers of weight 0 are not read
    pooling       "avg", "max", or "cls" (the first token)
    layer_norm    whether each layer is first normalised by the mean and variance of all its numbers in the text
    pad           id of the padding token. A text can contain it literally; avg's sum and max then ignore it
    separator     with "avg": only the first token and the tokens after the second-to-last separator, which has this id, are
                  pooled (document context, Vernikos et al. 2022)
    """

    weights: tuple[float, ...]
    pooling: str
    layer_norm: bool = False
    pad: int | None = None
    separator: int | None = None
    reads: ClassVar = _PooledMix

    @property
    def last(self) -> int:
        return max((k for k, weight in enumerate(self.weights) if weight), default=0)

    @property
    def first_only(self) -> bool:
        return self.pooling == "cls" and not self.layer_norm


@dataclass(frozen=True)
class SentenceVector(PooledMix):
    """One vector of a whole text, as in PooledMix; not read from windows, for which no metric needs it."""

    @property
    def unit(self) -> str | None:
        return SEGMENT


class _TokenLabels(Accumulator):
    def add(self, number: int, hidden: torch.Tensor, first_only: bool) -> None:
        if number == self.readout.layer:
            self.logits = F.linear(hidden[: self.packed.total].float(), self.readout.weight, self.readout.bias)

    def result(self) -> Rows:
        return Rows(self.logits, self.packed.lengths)


class TokenLabels(Readout):
    """Logits of each token's label, a linear function of one layer: [tokens, labels] for each text.

    weight [labels, width], bias [labels], fp32 on the encoder's device
    """

    reads = _TokenLabels

    def __init__(self, layer: int, weight: torch.Tensor, bias: torch.Tensor):
        self.layer, self.weight, self.bias = layer, weight, bias

    @property
    def last(self) -> int:
        return self.layer
