"""Folders that our training writes: model.safetensors, config.json and README.md. Loading one runs no code from it."""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load_file
from torch import nn

from ..engine.checkpoint import checked_tensor
from ..errors import ModelError
from ..opening import file_hashes, file_sha256, identity, opening, read_json
from ..writing import write_tensors, write_whole
from .hub import ResolvedModel, resolve

N = TypeVar("N", bound=nn.Module)
WEIGHTS, CONFIG = "model.safetensors", "config.json"
# Fields that all kinds of models have, and their types.
FIELDS: dict[str, Any] = {
    "model_type": str,
    "encoder": str,
    "encoder_ckpt": str,
    "languages": (list, type(None)),
    "layers": list,
    "network": dict,
    "weights_sha256": str,
}


def read_config(folder: Path) -> dict:
    with opening(
        folder, "holds no readable config.json, so it is not a trained model; name one that `ctx-metrics train` wrote"
    ):
        config = read_json(folder / CONFIG)
    if not isinstance(config, dict):
        raise ModelError(
            f"{folder / CONFIG} is not a JSON object, so this is not a trained model", fix="copy the folder again"
        )
    return config


def model_type(folder: Path) -> object:
    """The model's kind as config.json gives it; None for a folder without a readable config.json."""
    try:
        return read_config(folder).get("model_type")
    except ModelError:
        return None


def check_fields(folder: Path, config: Mapping, fields: Mapping[str, Any], command: str = "train") -> None:
    if missing := [name for name in fields if name not in config]:
        raise ModelError(f"{folder / CONFIG} lacks {', '.join(missing)}, which `ctx-metrics {command}` writes")
    for name, kinds in fields.items():
        if not isinstance(config[name], kinds) or isinstance(config[name], bool):
            raise cannot_be(folder, name, json.dumps(config[name])[:60])


def cannot_be(folder: Path, name: str, value: str) -> ModelError:
    """The error for a field of config.json with a value, shown as `value`, that no training writes."""
    return ModelError(f"{folder / CONFIG}: {name} is {value}, which is not valid", fix="copy the folder again")


def encoder_of(folder: Path, config: Mapping) -> ResolvedModel:
    """The encoder that the model was trained on; raises ModelError if it cannot be found or its hash is different."""
    try:
        encoder = resolve(config["encoder"])
    except ModelError as error:
        raise ModelError(f"{folder}: its encoder {config['encoder']!r} cannot be used: {error}") from error
    if encoder.ckpt != config["encoder_ckpt"]:
        raise ModelError(
            f"{folder} was trained on an encoder that hashes to {config['encoder_ckpt']}, but {config['encoder']!r} "
            f"hashes to {encoder.ckpt}",
            fix="get the original encoder, or train the model again",
        )
    return encoder


def checked_weights(folder: Path, config: Mapping) -> None:
    sha256 = file_sha256(folder / WEIGHTS)
    if sha256 != config["weights_sha256"]:
        raise ModelError(
            f"{folder / WEIGHTS} hashes to {sha256[:12]}, but config.json names {config['weights_sha256'][:12]}: the "
            "weights were changed, or belong to another model",
            fix="copy the folder again",
        )


@contextmanager
def described(folder: Path) -> Iterator[None]:
    """Within the block, networks are built without memory, since config.json's sizes may be wrong; see `load_weights`."""
    with opening(folder / CONFIG, ": its network is not valid: {why}; copy the folder again"), torch.device("meta"):
        yield


def load_weights(folder: Path, network: nn.Module) -> None:
    """Load a network's weights, as fp32, and put it in evaluation mode; raise ModelError if they do not fit."""
    path = folder / WEIGHTS
    if bad := [each.p for each in network.modules() if isinstance(each, nn.Dropout) and not 0 <= each.p <= 1]:
        raise cannot_be(folder, "its network's dropout", str(bad[0]))
    with opening(path, "does not fit its config.json ({why}); copy the folder again"):
        tensors = load_file(path)
        try:  # they replace the network's own, which may have no memory
            copies = {name: tensor.to(torch.float32, copy=True) for name, tensor in tensors.items()}
            network.load_state_dict(copies, assign=True)
        except RuntimeError as error:  # whose message has several lines
            raise ValueError(textwrap.shorten(str(error), 160, placeholder=" ...")) from error
    for name, tensor in tensors.items():
        checked_tensor(tensor, name, path=path, fix="train the model again")
    network.eval()


def load_network(folder: Path, config: Mapping, make: Callable[[], N]) -> tuple[N, str]:
    """The network that `make` builds, with the folder's weights, and the folder's identity; may raise ModelError."""
    with described(folder):
        network = make()
    checked_weights(folder, config)
    load_weights(folder, network)
    return network, folder_identity(folder)


def folder_identity(folder: Path) -> str:
    """The identity of a folder that `ctx-metrics train` wrote, from its configuration and weights: 12 hex digits."""
    return identity(file_hashes([folder / CONFIG, folder / WEIGHTS]), folder)


def write_model(folder: Path, config: Mapping, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write the weights and then config.json, each whole or not at all; `weights_sha256` is put into the config."""
    write_tensors(str(folder / WEIGHTS), tensors)
    written = {**config, "weights_sha256": file_sha256(folder / WEIGHTS)}
    text = json.dumps(written, indent=2, ensure_ascii=False) + "\n"
    write_whole(str(folder / CONFIG), text, errors="backslashreplace")
