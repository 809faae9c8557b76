"""An encoder that reads two sentences as one sequence, and a head that compares its states of the two."""

import copy
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from ...engine.checkpoint import load_with

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.modeling_outputs import SequenceClassifierOutput

LABELS = {0: "not_paraphrase", 1: "paraphrase"}
DROPOUT = 0.1


class PairClassifier(nn.Module):
    """Predicts two labels of a pair, [CLS] first [SEP] second [SEP], with a sentence encoder.

    Let h be the states of the last layer, and u and v their means over the first and the second sentence (including the
    special tokens with the sentence's token type), both scaled to norm sqrt(d). The head is

        logits = W2 tanh(W1 [h_CLS; |u - v|; u * v; u . v / (2 sqrt(d))] + b1) + b2

    The encoder was trained for such comparisons, so the head starts with more than an untrained h_CLS. The encoder only
    gets token type 0, as in the training of sentence encoders; the head uses the token types to separate the sentences.
    """

    def __init__(self, encoder: "PreTrainedModel"):
        super().__init__()
        self.encoder = encoder
        self.config = copy.deepcopy(encoder.config)
        self.config.id2label = LABELS
        width = encoder.config.hidden_size
        self.compare = nn.Linear(3 * width + 1, width)
        self.dropout = nn.Dropout(DROPOUT)
        self.classify = nn.Linear(width, len(LABELS))

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> "SequenceClassifierOutput":
        """Return logits [n, 2], in the head's dtype, for padded inputs, int64 [n, tokens]."""
        from transformers.modeling_outputs import SequenceClassifierOutput

        types = torch.zeros_like(token_type_ids)
        states = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=types
        ).last_hidden_state.float()
        root = states.shape[-1] ** 0.5
        u = root * mean_direction(states, attention_mask * (1 - token_type_ids))
        v = root * mean_direction(states, attention_mask * token_type_ids)
        alike = (u * v).sum(-1, keepdim=True) / (2 * root)
        features = torch.cat([states[:, 0], (u - v).abs(), u * v, alike], -1).to(self.compare.weight.dtype)
        return SequenceClassifierOutput(logits=self.classify(self.dropout(self.compare(features).tanh())))


def mean_direction(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean [n, d] of fp32 states [n, tokens, d] where the mask [n, tokens] is 1, scaled to length 1.

    >>> mean_direction(torch.tensor([[[3.0, 0.0], [3.0, 8.0], [9.0, 9.0]]]), torch.tensor([[1, 1, 0]]))
    tensor([[0.6000, 0.8000]])
    """
    return nn.functional.normalize((states * mask.unsqueeze(-1)).sum(1), dim=-1)


def new_pair_classifier(folder: Path) -> PairClassifier:
    """Return a classifier with an untrained head on a checkpoint's encoder; raises ModelError if that cannot be loaded."""
    from transformers import AutoModel

    encoder, _ = load_with(AutoModel, folder, "cannot be loaded as an encoder: {why}")
    return PairClassifier(encoder.float())
