"""BLEURT's network on the engine: the encoder, and the score as the readout of its last layer."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
import torch.nn.functional as F

from ..engine.encoder import TextEncoder
from ..engine.memory import memory_for
from ..engine.readout import Accumulator, Readout, Rows
from .checkpoint import BleurtCheckpoint
from .tokenizer import PairTokenizer


class _Score(Accumulator):
    value: torch.Tensor

    def add(self, number: int, hidden: torch.Tensor, first_only: bool) -> None:
        if number == self.readout.last:
            first = hidden[: len(self.packed.lengths)] if first_only else hidden[self.packed.starts]
            self.value = self.readout.score(first.float())

    def result(self) -> Rows:
        return Rows(self.value, None)


class Score(Readout):
    """BLEURT's score, one fp32 number for each sequence: a linear function of tanh(dense(first token)).

    head    the tensors of the pooler and the classifier, on the encoder's device
    """

    reads: ClassVar = _Score

    def __init__(self, last: int, head: Mapping[str, torch.Tensor]):
        self._last, self._head = last, head

    @property
    def last(self) -> int:
        return self._last

    @property
    def first_only(self) -> bool:
        return True

    def score(self, first: torch.Tensor) -> torch.Tensor:
        """first [sequences, width] -> [sequences]."""
        pooled, classifier = (
            [self._head[f"{layer}.{kind}"] for kind in ("weight", "bias")] for layer in ("pooler.dense", "classifier")
        )
        return F.linear(torch.tanh(F.linear(first, *pooled)), *classifier)[:, 0]


class BleurtEncoder(TextEncoder):
    """The encoder of a checkpoint, which metrics of a process share."""

    checkpoint: BleurtCheckpoint

    @cached_property
    def pairs(self) -> PairTokenizer:
        tokenizer = PairTokenizer(self.checkpoint.vocabulary)
        self._check_current()
        return tokenizer

    @cached_property
    def score(self) -> Score:
        with memory_for(f"the weights of {self.checkpoint.folder}", self.device):
            head = {name: tensor.to(self.device, torch.float32) for name, tensor in self.checkpoint.head().items()}
        self._check_current()
        return Score(self.layers, head)
