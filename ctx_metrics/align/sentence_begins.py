"""Finds the beginnings of sentences with a small network that reads the vectors of two neighbouring tokens.

It tells sentences apart where no punctuation does: in Chinese and Japanese, and in texts without marks.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from ..models.embedded import FOLDER
from ..models.folder import WEIGHTS, checked_weights, read_config

MODEL = FOLDER / "sentence_begins"
TOKENS_AT_ONCE = 8192


@dataclass(frozen=True)
class SentenceBegins:
    """The chance that a sentence begins with a token: 1 / (1 + exp(-(v tanh(A x_before + B x_own + b) + c))).

    before, own    A and B, fp32 [hidden, width], for the token before it and its own
    bias, value    b and v, fp32 [hidden]
    offset         c
    """

    before: torch.Tensor
    own: torch.Tensor
    bias: torch.Tensor
    value: torch.Tensor
    offset: float

    def chances(self, vectors: torch.Tensor) -> np.ndarray:
        """The chance of each token of a text, from 0 to 1, fp64 [tokens]; the first one has no token before it.

        vectors    the text's Tokens.vectors, [tokens, width]
        """
        hidden = self.bias.repeat(len(vectors), 1)
        for first in range(0, len(vectors), TOKENS_AT_ONCE):
            some = vectors[first : first + TOKENS_AT_ONCE].float()
            hidden[first : first + len(some)] += some @ self.own.T
            following = hidden[first + 1 : first + 1 + len(some)]
            following += (some @ self.before.T)[: len(following)]
        return (hidden.tanh() @ self.value + self.offset).double().sigmoid().numpy()


@cache
def sentence_begins(network: str) -> SentenceBegins:
    """The network for the `english` or the `multilingual` encoder, at the layer that alignment reads; raises ModelError if
    the weights were changed."""
    from safetensors.torch import load_file

    checked_weights(MODEL, read_config(MODEL))
    read = load_file(MODEL / WEIGHTS)
    parts = {part: read[f"{network}.{part}"].float() for part in ("before", "own", "bias", "value")}
    return SentenceBegins(**parts, offset=float(read[f"{network}.offset"][0]))
