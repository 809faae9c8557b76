"""A network's inputs for the rows of a data set, made batch by batch."""

from collections.abc import Sequence

import torch

from ...engine.encoder import TextEncoder
from ...engine.pairs import map_pairs, one_by_one
from ...learned.regressor import PairFeatures, network_inputs
from ..kept.token_states import EmbeddingCache


class TokenInputs:
    """What a network of learned.networks reads of n rows of hypothesis and partner: hidden layers of all tokens, out
    of the embedding cache.

    lengths    tokens of the partner and of the hypothesis of each row: rows of a batch are of about the same
    """

    def __init__(self, cache: EmbeddingCache, hypotheses: Sequence[str], partners: Sequence[str]):
        self.cache, self.hypotheses, self.partners = cache, hypotheses, partners
        self.lengths = list(zip(cache.lengths(partners), cache.lengths(hypotheses), strict=True))

    def batch(self, rows: Sequence[int]) -> tuple:
        """The network's arguments for some rows."""
        sides = []
        for texts in (self.hypotheses, self.partners):
            states = self.cache.states([texts[row] for row in rows])
            sides += [torch.cat(states).float(), [len(each) for each in states]]
        return tuple(sides)


class FeatureInputs:
    """Alignment features and pooled vectors of whole pairs, computed once: what learned.regressor reads."""

    def __init__(
        self,
        encoder: TextEncoder,
        hypotheses: Sequence[str],
        *,
        partners: Sequence[str],
        layers: Sequence[int],
        max_content: int,
        label: str,
    ):
        mixes, features = [(layer,) for layer in layers], one_by_one(PairFeatures(layers))
        pairs = list(zip(hypotheses, partners, strict=True))
        results = map_pairs(encoder, pairs, mixes, features, max_content=max_content, label=label)
        # none is without tokens
        self.inputs = [result.value for result in results if isinstance(result.value, tuple)]
        sides = [
            side for pair, of_pair in zip(pairs, results, strict=True) for side in zip(pair, of_pair.cut, strict=True)
        ]
        self.cut = len({text for text, cut in sides if cut})
        self.lengths = [(0, 0)] * len(pairs)

    def features(self) -> torch.Tensor:
        """The alignment features of all rows: fp32 [n, features]."""
        return torch.tensor([each[0] for each in self.inputs])

    def batch(self, rows: Sequence[int]) -> tuple:
        """The network's arguments for some rows."""
        return network_inputs([self.inputs[row] for row in rows])


PairInputs = TokenInputs | FeatureInputs
