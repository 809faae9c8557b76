"""A classifier of sentence pairs on a frozen encoder that learns low-rank changes and a head, and its folder.

model.safetensors    the changes, vectors and head, under the names of `learned`; matrices in fp16
config.json          the encoder and its hash, the rank, and the hash of the weights
"""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ...engine.checkpoint import check_shapes, checked_tensor, load_file, load_with
from ...errors import InputError, ModelError
from ...models.folder import (
    CONFIG,
    WEIGHTS,
    cannot_be,
    check_fields,
    checked_weights,
    encoder_of,
    read_config,
    write_model,
)
from ...training.low_rank import adapt, learned, merge

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.modeling_outputs import SequenceClassifierOutput

LABELS = {0: "not_paraphrase", 1: "paraphrase"}
DROPOUT = 0.1
KIND = "ctx-metrics-paraphrase"
# Fields of config.json that loading reads, and their types.
FIELDS: dict[str, Any] = {"encoder": str, "encoder_ckpt": str, "rank": int, "weights_sha256": str}


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
    """Return a classifier with an untrained head on a checkpoint's encoder."""
    from transformers import AutoModel

    encoder, _ = load_with(AutoModel, folder, "cannot be loaded as an encoder: {why}")
    return PairClassifier(encoder.float())


def new_classifier(encoder: Path, rank: int) -> PairClassifier:
    """Return an encoder with low-rank changes of its linear layers and a new head."""
    model = new_pair_classifier(encoder)
    if rank > model.config.hidden_size:
        raise InputError(
            f"rank {rank} is more than the encoder's width, {model.config.hidden_size}", fix="choose a lower one"
        )
    if not adapt(model.encoder, rank):
        raise InputError(f"{encoder} has no linear layers that could be adapted", fix="train it whole with --rank 0")
    return model


def read_adapted_config(folder: Path) -> dict[str, Any]:
    config = read_config(folder)
    check_fields(folder, config, FIELDS, "paraphrase train")
    if config["rank"] < 1:
        raise cannot_be(folder, "rank", str(config["rank"]))
    return config


def load_adapted(folder: Path) -> tuple[PairClassifier, Path]:
    """Load a classifier in fp32, its changes merged into the encoder's weights; also return the folder of its encoder."""
    config = read_adapted_config(folder)
    encoder = encoder_of(folder, config)
    checked_weights(folder, config)
    try:
        model = new_classifier(encoder.folder, config["rank"])
    except InputError as error:
        raise ModelError(f"{folder / CONFIG}: {error}") from error
    tensors = load_file(folder / WEIGHTS)
    check_shapes(folder / WEIGHTS, tensors, {name: each.shape for name, each in learned(model).items()})
    for name, tensor in tensors.items():
        checked_tensor(tensor, name, path=folder / WEIGHTS, fix="train the model again")
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, strict=False)
    merge(model)
    return model.eval(), encoder.folder


def write_adapted(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
    """Write an adapted network's learned tensors, matrices as fp16, and its config.json."""
    rounded = {name: tensor.half() if tensor.dim() > 1 else tensor for name, tensor in tensors.items()}
    write_model(folder, {"model_type": KIND, **config}, rounded)
