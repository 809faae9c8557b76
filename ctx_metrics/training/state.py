"""The folder that a model goes to: while its training runs, the state in one file that is there whole or not at all."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open

from ..errors import InputError
from ..models.folder import read_config, write_model
from ..models.hub import EMBEDDED, MULTILINGUAL
from ..notices import notice
from ..writing import checksum, make_folder, remove_leftovers, write_tensors

# The file's name in the model's folder.
STATE = "training-state.safetensors"
PARTS = ("network", "best", "optimizer")
CPU = torch.device("cpu")


class TrainingState(NamedTuple):
    """What it takes to go on: the network's weights, the best ones so far, the optimizer's moments, and JSON of the rest."""

    network: dict[str, torch.Tensor]
    best: dict[str, torch.Tensor]
    optimizer: dict[str, torch.Tensor]
    progress: str


def claim(out: Path, fingerprint: dict[str, Any], device: torch.device = CPU) -> None:
    """Make the folder, if need be; raises InputError where it holds the state of another training, or cannot be made."""
    if (out / STATE).exists():
        read_state(out / STATE, fingerprint, device)
    make_folder(str(out))
    remove_leftovers(out)


def finish(out: Path, config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Write the model, whose state is needed no more, and give its config.json; raises InputError where that fails."""
    write_model(out, config, tensors)
    (out / STATE).unlink(missing_ok=True)
    return read_config(out)


def encoder_name(name: str) -> str:
    """The encoder as config.json names it: a local folder by its whole path."""
    folder = Path(name).expanduser()
    return str(folder.resolve()) if name not in (EMBEDDED, MULTILINGUAL) and folder.is_dir() else name


def write_state(path: Path, state: TrainingState, fingerprint: dict[str, Any], device: torch.device = CPU) -> None:
    """Write a state and what it is of; raises InputError where that fails."""
    tensors = {f"{part}/{name}": tensor for part in PARTS for name, tensor in getattr(state, part).items()}
    metadata = {
        "progress": state.progress,
        "fingerprint": json.dumps(fingerprint),
        "sums": json.dumps(_sums(device)),
        "checksum": _checksum(tensors, state.progress),
    }
    write_tensors(str(path), tensors, metadata)


def read_state(path: Path, fingerprint: dict[str, Any], device: torch.device = CPU) -> TrainingState:
    """The state that `path` holds, for a training on a device.

    Says so if it was written with another number of threads, another torch or another kind of device, whose sums can differ
    in the last bits.
    Raises InputError for a file that cannot be read, and for a state of another training, naming what differs.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        written, sums = json.loads(metadata["fingerprint"]), json.loads(metadata["sums"])
        progress, written_sum = metadata["progress"], metadata["checksum"]
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not the state of a training; delete it to train from the start") from error
    if written_sum != _checksum(tensors, progress):
        raise InputError(f"{path} is damaged; delete it to train from the start")
    wanted = json.loads(json.dumps(fingerprint))
    if differing := [name for name in {**written, **wanted} if written.get(name) != wanted.get(name)]:
        raise InputError(
            f"{path} holds a stopped training with other {', '.join(differing)}; give the settings it was started "
            "with, name another folder with --out, or start over with --restart"
        )
    if sums != (own := _sums(device)):
        notice(
            f"{path} was written with {sums}, and this run continues with {own}: the weights may differ in "
            "their last bits from those of an uninterrupted training"
        )
    parts = {
        part: {name.removeprefix(f"{part}/"): each for name, each in tensors.items() if name.startswith(f"{part}/")}
        for part in PARTS
    }
    return TrainingState(**parts, progress=progress)


def moments(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """What an optimizer remembers of each parameter, by the parameter's number and the kind."""
    of_parameters = optimizer.state_dict()["state"]
    return {f"{number}.{kind}": tensor for number, each in of_parameters.items() for kind, tensor in each.items()}


def load_moments(optimizer: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    """Give an optimizer what `moments` of one over the same parameters gave."""
    whole = optimizer.state_dict()
    for name, tensor in tensors.items():
        number, _, kind = name.partition(".")
        whole["state"].setdefault(int(number), {})[kind] = tensor
    optimizer.load_state_dict(whole)


def _checksum(tensors: dict[str, torch.Tensor], progress: str) -> str:
    """Of all that a state holds."""
    parts = [
        tensors[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data for name in sorted(tensors)
    ]
    return str(checksum(progress.encode(), *parts))


def _sums(device: torch.device) -> dict[str, Any]:
    """What decides the last bits of sums; on a GPU the order of the sums within a kernel does too."""
    of_cpu = {"torch": torch.__version__, "threads": torch.get_num_threads(), "cores": os.cpu_count()}
    return {**of_cpu, "device": device.type}
