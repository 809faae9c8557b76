"""BERTR: recall over contextual embeddings (Mathur, Baldwin and Cohn 2019, section 3.1)."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..run.context import Stream
from ..scoring.base import ContextScore, ContextSignature
from ..scoring.token_matching import (
    Layers,
    Matching,
    TokenMatchingMetric,
    add_encoder_arguments,
    add_text_arguments,
    paper_language,
)

if TYPE_CHECKING:
    import torch

# The layer with the best segment Pearson on WMT15/16 DA into English: docs/bertr.md shows the choice.
EMBEDDED_LAYER = "4"
# What the paper used for each target language (sections 4.1 and 4.2).
PAPER_MODELS = {"en": "google-bert/bert-base-uncased", "zh": "google-bert/bert-base-chinese"}
PAPER_MODEL_ELSE = "google-bert/bert-base-multilingual-cased"


class BERTRScore(ContextScore):
    """100 times the mean recall over segments, in [-100, 100]; identical texts score 100."""


class BERTRSignature(ContextSignature):
    """nrefs, model, rev, ckpt, inputs, layers, multiref, dtype, maxlen, long, scale and versions."""


class BERTR(TokenMatchingMetric):
    """Mean over the reference's tokens of the largest cosine with any hypothesis token.

    references    streams of references for scoring with references=None
    model         "embedded" (the default), "paper" (what the paper used for target_lang), a folder or a hub name[@revision]
    layers        a layer's number (0 is the embedding layer), a list of numbers to average, "mean" of the transformer
                  layers, or "concat_last4". Default: layer 4 of the embedded encoder, "mean" of any other
    max_length    tokens kept of each text, specials not counted; default and most: what the encoder can read
    multiref      "max" takes the best of several references' scores, "mean" their average
    context       systems, target_lang and engine, as run.context.Context describes them

    A segment whose hypothesis or reference has no tokens scores 0 and is counted. Special tokens are left out.
    Raises InputError for settings or texts that cannot be scored, ModelError for a model that cannot be used,
    ResourceError for a device that is missing or too small.
    """

    NAME = "BERTR"
    flag = "--bertr"
    _SIGNATURE_TYPE = BERTRSignature
    _SCORE_TYPE = BERTRScore

    def __init__(
        self,
        references: Sequence[Stream] | None = None,
        systems: Sequence[Sequence[str]] = (),
        *,
        model: str | None = None,
        layers: Layers | None = None,
        max_length: int | None = None,
        multiref: str = "max",
        **context: Any,
    ):
        model = paper_model(context.get("target_lang")) if model == "paper" else model
        super().__init__(references, model, layers, EMBEDDED_LAYER, max_length, multiref, systems=systems, **context)

    @classmethod
    def add_arguments(cls, group: argparse._ArgumentGroup) -> None:
        """The flags --bertr-* of the sacrebleu command."""
        add_encoder_arguments(group, "bertr", "--bertr", "what the paper used", f"{EMBEDDED_LAYER} for embedded")
        add_text_arguments(group, "bertr")

    def _matching(self, references: Sequence[Stream]) -> Matching:
        return lambda hypothesis, reference: greedy_recall(
            self._states(hypothesis)[1:-1], self._states(reference)[1:-1]
        )


def greedy_recall(hypothesis: "torch.Tensor", reference: "torch.Tensor") -> float:
    """Mean over reference tokens of the largest cosine to a hypothesis token (paper, equations 1 and 2).

    hypothesis    fp32 tensor [tokens, width];  reference    fp32 tensor [tokens, width]; at least one token each
    Returns a float in [-1, 1].

    >>> import torch
    >>> hypothesis, reference = torch.tensor([[1., 0.]]), torch.tensor([[2., 0.], [3., 4.]])
    >>> round(greedy_recall(hypothesis, reference), 4)    # (1 + 3/5) / 2
    0.8
    """
    import torch.nn.functional as F

    cosines = F.normalize(reference, dim=1) @ F.normalize(hypothesis, dim=1).T
    return cosines.max(dim=1).values.mean().item()


def paper_model(target_lang: str | None) -> str:
    """The hub name of the encoder that the paper used for a target language."""
    return PAPER_MODELS.get(paper_language(target_lang, "bertr", "--bertr"), PAPER_MODEL_ELSE)
