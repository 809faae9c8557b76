"""BERTR: recall over contextual embeddings (Mathur, Baldwin and Cohn 2019, section 3.1)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..engine_options import Layers
from ..scoring.token_matching import (
    EncoderSettings,
    PairMatch,
    Side,
    TextSettings,
    TokenMatchingMetric,
    layers_setting,
    paper_model_setting,
)

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack

    from ..engine.pairs import EncodedText
    from .keywords import References, Systems, TokenMatching


@dataclass(frozen=True)
class BERTRSettings(TextSettings, EncoderSettings):
    model: str | None = paper_model_setting("what the paper used")
    layers: Layers | None = layers_setting()


class BERTR(TokenMatchingMetric):
    """The mean, over the reference's tokens, of the largest cosine with any hypothesis token; averaged over segments, x100.

    Scores are in [-100, 100], and identical texts score 100. Special tokens are left out. A segment whose hypothesis or
    reference has no tokens scores 0 and is counted.
    """

    NAME = "BERTR"
    Settings = BERTRSettings
    # the paper's model for each target language (sections 4.1 and 4.2)
    PAPER_MODELS: ClassVar = {
        "en": ("google-bert/bert-base-uncased", None),
        "zh": ("google-bert/bert-base-chinese", None),
        "": ("google-bert/bert-base-multilingual-cased", None),
    }

    if TYPE_CHECKING:

        def __init__(self, references: References = None, systems: Systems = (), **given: Unpack[TokenMatching]): ...

    def match(self, hypothesis: "EncodedText", reference: "EncodedText") -> PairMatch:
        return greedy_recall(hypothesis.tokens[1:-1], reference.tokens[1:-1])


def greedy_recall(hypothesis: "torch.Tensor", reference: "torch.Tensor") -> PairMatch:
    """Return the mean over reference tokens of the largest cosine with a hypothesis token (paper, equations 1 and 2).

    hypothesis    fp32 tensor [tokens, width];  reference    fp32 tensor [tokens, width]; at least one token each

    The value is a float in [-1, 1]. The reference side of the match has each token's largest cosine.

    >>> import torch
    >>> hypothesis, reference = torch.tensor([[1., 0.]]), torch.tensor([[2., 0.], [3., 4.]])
    >>> round(greedy_recall(hypothesis, reference).value, 4)    # (1 + 3/5) / 2
    0.8
    """
    import torch.nn.functional as F

    cosines = F.normalize(reference, dim=1) @ F.normalize(hypothesis, dim=1).T
    largest = cosines.max(dim=1).values
    weights = np.full(len(largest), 1 / len(largest), np.float32)
    return PairMatch(largest.mean().item(), None, Side(largest.numpy(), weights))
