"""A network's inputs for the rows of a data set, assembled batch by batch."""

from collections.abc import Sequence

import torch

from ...engine.encoder import TextEncoder
from ...engine.pairs import map_pairs, one_by_one
from ...learned.regressor import PairFeatures, network_inputs
from ..kept.token_states import EmbeddingCache


class TokenInputs:
    """Inputs of the networks in learned.networks for n rows of hypothesis and partner: all tokens' hidden layers.

    They come from the embedding cache.

    lengths    number of tokens of each row's partner and hypothesis, by which rows are batched
    """

    def __init__(self, cache: EmbeddingCache, hypotheses: Sequence[str], partners: Sequence[str]):
        self.cache, self.hypotheses, self.partners = cache, hypotheses, partners
        self.lengths = list(zip(cache.lengths(partners), cache.lengths(hypotheses), strict=True))

    def batch(self, rows: Sequence[int]) -> tuple:
        """Return the network's arguments for some rows."""
        sides = []
        for texts in (self.hypotheses, self.partners):
            states = self.cache.states([texts[row] for row in rows])
            sides += [torch.cat(states).float(), [len(each) for each in states]]
        return tuple(sides)


class FeatureInputs:
    """Inputs of learned.regressor, computed once: alignment features and pooled vectors of whole pairs."""

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
        # no text is without tokens
        self.inputs = [result.value for result in results if isinstance(result.value, tuple)]
        sides = [
            side for pair, of_pair in zip(pairs, results, strict=True) for side in zip(pair, of_pair.cut, strict=True)
        ]
        self.cut = len({text for text, cut in sides if cut})
        self.lengths = [(0, 0)] * len(pairs)

    def features(self) -> torch.Tensor:
        """Return the alignment features of all rows: fp32 [n, features]."""
        return torch.tensor([each[0] for each in self.inputs])

    def batch(self, rows: Sequence[int]) -> tuple:
        """Return the network's arguments for some rows."""
        return network_inputs([self.inputs[row] for row in rows])


PairInputs = TokenInputs | FeatureInputs
