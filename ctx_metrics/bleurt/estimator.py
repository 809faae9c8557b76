"""BLEURT models as estimators: each pair of a reference and a hypothesis is one sequence of the engine."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..corpus import is_blank
from ..engine.memory import LoadedModels
from ..engine_options import EngineOptions
from ..models.estimator import Estimate, Estimator, Example
from .checkpoint import BleurtCheckpoint
from .encoder import BleurtEncoder
from .tokenizer import SPECIAL

EXAMPLES_A_BLOCK = 4096  # tokenised and encoded together

_encoders: LoadedModels[BleurtEncoder] = LoadedModels()


class BleurtEstimator(Estimator):
    """BLEURT: about 0 to 1, without bounds; higher is better.

    activation    gelu or gelu_tanh; None: the folder's own
    """

    inputs = "mt+ref"
    english_only = False
    empty_value = None
    shares_texts = False
    title = "BLEURT"
    encoder: BleurtEncoder

    def __init__(self, name: str, options: EngineOptions, activation: str | None = None):
        checkpoint = BleurtCheckpoint(name, activation)
        key = (Path(os.path.realpath(checkpoint.folder)), checkpoint.activation, options)
        self.encoder = _encoders.get(key, lambda: BleurtEncoder(checkpoint, options))
        self.model, self.dtype, self.activation = checkpoint.model, options.dtype, checkpoint.activation
        self.max_length = checkpoint.config["max_position_embeddings"]
        self.limit = f"{self.max_length} tokens in total"

    @property
    def special_tokens(self) -> int:
        return SPECIAL

    @staticmethod
    def _pairs(examples: Sequence[Example]) -> list[tuple[str, str]]:
        pairs = []
        for example in examples:
            hypothesis, reference = example.texts("mt+ref")
            pairs.append((reference, hypothesis))
        return pairs

    def is_cut(self, examples: Sequence[Example]) -> list[bool]:
        return [pair.cut > 0 for pair in self.encoder.pairs(self._pairs(examples), self.max_length)]

    def token_counts(self, examples: Sequence[Example]) -> list[int]:
        pairs = self._pairs(examples)
        content = self.encoder.pairs.content([text for pair in pairs for text in pair])
        return [sum(len(content[text]) for text in pair) for pair in pairs]

    def estimate(self, examples: Sequence[Example], label: str, unit: str = "segment") -> list[Estimate]:
        pairs = self._pairs(examples)
        distinct = list(dict.fromkeys(pairs))
        estimates: dict[tuple[str, str], Estimate] = {}
        with self.encoder.progress(label, len(distinct)):
            for begin in range(0, len(distinct), EXAMPLES_A_BLOCK):
                block = distinct[begin : begin + EXAMPLES_A_BLOCK]
                tokens = self.encoder.pairs(block, self.max_length)
                read = self.encoder.encode(tokens, [self.encoder.score], unit)
                for pair, ids, states in zip(block, tokens, read, strict=True):
                    value = float(states[self.encoder.score])
                    estimates[pair] = Estimate(value, ids.cut > 0, any(map(is_blank, pair)))
        return [estimates[pair] for pair in pairs]

    def signature(self) -> dict:
        return {**super().signature(), "activation": self.activation}
