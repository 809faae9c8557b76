"""The small folders of paraphrase classifiers that adapt an encoder by low-rank changes.

model.safetensors    the changes, vectors and head, under the names of `learned`; matrices in fp16
config.json          the encoder and its hash, the rank, and the hash of the weights
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ...engine.checkpoint import checked_tensor, load_file
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
from .pair import PairClassifier, new_pair_classifier

KIND = "ctx-metrics-paraphrase"
# Fields of config.json that loading reads, and their types.
FIELDS: dict[str, Any] = {"encoder": str, "encoder_ckpt": str, "rank": int, "weights_sha256": str}


def is_adapted(folder: Path) -> bool:
    """Whether a folder's config.json says that it holds an adapted classifier."""
    try:
        return read_config(folder).get("model_type") == KIND
    except ModelError:
        return False  # transformers will report what is wrong with it


def new_classifier(encoder: Path, rank: int) -> PairClassifier:
    """Return an encoder with low-rank changes of its linear layers and a new head.

    Raises InputError if the encoder cannot be adapted.
    """
    model = new_pair_classifier(encoder)
    if rank > model.config.hidden_size:
        raise InputError(
            f"rank {rank} is more than the encoder's width, {model.config.hidden_size}; choose a lower one"
        )
    if not adapt(model.encoder, rank):
        raise InputError(f"{encoder} has no linear layers that could be adapted; train it whole with --rank 0")
    return model


def read_adapted_config(folder: Path) -> dict[str, Any]:
    """Read config.json of an adapted classifier; raises ModelError if fields are missing or invalid."""
    config = read_config(folder)
    check_fields(folder, config, FIELDS, "paraphrase train")
    if config["rank"] < 1:
        raise cannot_be(folder, "rank", str(config["rank"]))
    return config


def load_adapted(folder: Path) -> tuple[PairClassifier, Path]:
    """Load a classifier in fp32, its changes merged into the encoder's weights; also return the folder of its encoder.

    Raises ModelError if config.json, the weights and the encoder do not match.
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
    """Write an adapted network's learned tensors, matrices as fp16, and its config.json; raises InputError on failure."""
    rounded = {name: tensor.half() if tensor.dim() > 1 else tensor for name, tensor in tensors.items()}
    write_model(folder, {"model_type": KIND, **config}, rounded)
