"""Low-rank changes of an encoder, W + B A in place of a linear layer's W, and the small folders of what was learned so.

model.safetensors    the changes, vectors and head, by the names that `learned` gives; matrices in fp16
config.json          what they belong to: the encoder and its hash, the rank, the hash of the weights
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ...engine.checkpoint import checked_tensor, load_file
from ...errors import InputError, ModelError
from ..folder import CONFIG, WEIGHTS, cannot_be, check_fields, checked_weights, encoder_of, read_config, write_model
from .pair import PairClassifier, new_pair_classifier

KIND = "ctx-metrics-paraphrase"
# Fields of config.json that loading reads, and their types.
FIELDS: dict[str, Any] = {"encoder": str, "encoder_ckpt": str, "rank": int, "weights_sha256": str}


class LowRankLinear(nn.Module):
    """A frozen linear layer W with a learned change of rank r: x (W + B A)^T + bias.

    Hu et al. (2022), "LoRA: Low-Rank Adaptation of Large Language Models", without their factor alpha / r. B begins as zero,
    so that the network begins as it was.

    linear    the layer, of m inputs and n outputs;  down    A [r, m];  up    B [n, r]
    """

    def __init__(self, linear: nn.Linear, rank: int):
        super().__init__()
        self.linear = linear
        self.down = nn.Parameter(torch.randn(rank, linear.in_features) / linear.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.linear(states) + nn.functional.linear(nn.functional.linear(states, self.down), self.up)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The linear layer with the change added to its own weights."""
        self.linear.weight += self.up @ self.down
        return self.linear


def adapt(encoder: nn.Module, rank: int) -> int:
    """Give each linear layer of an encoder a change of this rank, and freeze the rest but for vectors: biases, layer norms.

    Its pooler is left as it is. Returns the number of layers changed, 0 for an encoder without linear layers.
    """
    found = getattr(encoder, "pooler", None)
    pooler = set() if found is None else set(found.parameters())
    for parameter in encoder.parameters():
        parameter.requires_grad = parameter.dim() == 1 and parameter not in pooler
    changed = 0
    for parent in list(encoder.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear) and child.weight not in pooler:
                setattr(parent, name, LowRankLinear(child, rank))
                changed += 1
    return changed


def learned(network: nn.Module) -> dict[str, torch.Tensor]:
    """What an adapted network has learned, by name: all trainable parameters."""
    return {name: parameter.detach() for name, parameter in network.named_parameters() if parameter.requires_grad}


def merge(network: nn.Module) -> None:
    """Put every change into the weights of its layer, so that the network is as fast as before."""
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LowRankLinear):
                setattr(parent, name, child.merged())


def is_adapted(folder: Path) -> bool:
    """Whether a folder's config.json says that it holds an adapted classifier."""
    try:
        return read_config(folder).get("model_type") == KIND
    except ModelError:
        return False  # transformers says what is wrong with it


def new_classifier(encoder: Path, rank: int) -> PairClassifier:
    """An encoder with low-rank changes of its linear layers and a new head; raises InputError for what cannot be adapted."""
    model = new_pair_classifier(encoder)
    if rank > model.config.hidden_size:
        raise InputError(
            f"rank {rank} is more than the encoder's width, {model.config.hidden_size}; choose a lower one"
        )
    if not adapt(model.encoder, rank):
        raise InputError(f"{encoder} has no linear layers that could be adapted; train it whole with --rank 0")
    return model


def read_adapted_config(folder: Path) -> dict[str, Any]:
    """config.json of an adapted classifier; raises ModelError for fields that are missing or cannot be."""
    config = read_config(folder)
    check_fields(folder, config, FIELDS, "paraphrase train")
    if config["rank"] < 1:
        raise cannot_be(folder, "rank", str(config["rank"]))
    return config


def load_adapted(folder: Path) -> tuple[PairClassifier, Path]:
    """The classifier, its changes merged into the encoder's weights, in fp32; and the folder of its encoder.

    Raises ModelError where config.json, the weights and the encoder do not belong together.
    """
    config = read_adapted_config(folder)
    encoder = encoder_of(folder, config)
    checked_weights(folder, config)
    try:
        model = new_classifier(encoder.folder, config["rank"])
    except InputError as error:
        raise ModelError(f"{folder / CONFIG}: {error}") from error
    tensors = load_file(folder / WEIGHTS)
    wanted = {name: tensor.shape for name, tensor in learned(model).items()}
    for name in sorted({*wanted, *tensors}):
        shape = tensors[name].shape if name in tensors else None
        if shape != wanted.get(name):
            shapes = " and ".join(
                "not there" if each is None else str(list(each)) for each in (shape, wanted.get(name))
            )
            raise ModelError(
                f"{folder / WEIGHTS} does not fit its config.json ({name}: {shapes}); copy the folder again"
            )
        checked_tensor(tensors[name], name, path=folder / WEIGHTS, mend="train the model again")
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, strict=False)
    merge(model)
    return model.eval(), encoder.folder


def write_adapted(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
    """Write what an adapted network has learned, matrices as fp16, and its config.json; raises InputError."""
    rounded = {name: tensor.half() if tensor.dim() > 1 else tensor for name, tensor in tensors.items()}
    write_model(folder, {"model_type": KIND, **config}, rounded)
