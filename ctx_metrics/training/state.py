"""The state of a training run, from which a stopped one resumes: a file in the model's folder, written atomically."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open

from ..errors import InputError
from ..models.folder import read_config, write_model
from ..models.hub import EMBEDDED, MULTILINGUAL
from ..notices import notice
from ..writing import checksum, make_folder, remove_leftovers, write_tensors
from .folder import STATE

PARTS = ("network", "best", "optimizer")
CPU = torch.device("cpu")


class TrainingState(NamedTuple):
    """All that is needed to resume: the network's weights, the best so far, the optimizer's moments, the rest as JSON."""

    network: dict[str, torch.Tensor]
    best: dict[str, torch.Tensor]
    optimizer: dict[str, torch.Tensor]
    progress: str


def claim(out: Path, fingerprint: dict[str, Any], device: torch.device = CPU) -> None:
    """Create the folder if needed; raise InputError if it holds the state of another run or cannot be created."""
    if (out / STATE).exists():
        read_state(out / STATE, fingerprint, device)
    make_folder(str(out))
    remove_leftovers(out)


def finish(out: Path, config: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Write the model, delete its state, and return its config.json."""
    write_model(out, config, tensors)
    (out / STATE).unlink(missing_ok=True)
    return read_config(out)


def encoder_name(name: str) -> str:
    """Return the encoder's name for config.json, which is the absolute path of a local folder."""
    folder = Path(name).expanduser()
    return str(folder.resolve()) if name not in (EMBEDDED, MULTILINGUAL) and folder.is_dir() else name


def write_state(path: Path, state: TrainingState, fingerprint: dict[str, Any], device: torch.device = CPU) -> None:
    tensors = {f"{part}/{name}": tensor for part in PARTS for name, tensor in getattr(state, part).items()}
    metadata = {
        "progress": state.progress,
        "fingerprint": json.dumps(fingerprint),
        "sums": json.dumps(_sums(device)),
        "checksum": _checksum(tensors, state.progress),
    }
    write_tensors(str(path), tensors, metadata)


def read_state(path: Path, fingerprint: dict[str, Any], device: torch.device = CPU) -> TrainingState:
    """Read the state in `path`, for a training run on a device.

    Prints a notice if the number of threads, the version of torch or the kind of device has changed, since sums may then
    differ in the last bits.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        written, sums = json.loads(metadata["fingerprint"]), json.loads(metadata["sums"])
        progress, written_sum = metadata["progress"], metadata["checksum"]
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not the state of a training run", fix="delete it to train from the start"
        ) from error
    if written_sum != _checksum(tensors, progress):
        raise InputError(f"{path} is damaged", fix="delete it to train from the start")
    wanted = json.loads(json.dumps(fingerprint))
    if differing := [name for name in {**written, **wanted} if written.get(name) != wanted.get(name)]:
        raise InputError(
            f"{path} holds a stopped training with other {', '.join(differing)}",
            fix="give the settings it was started with, name another folder with --out, or start over with --restart",
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


def digest(texts: Iterable[str | None], before: bytes = b"", after: bytes = b"") -> str:
    """Return 64 hex digits that are equal only for equal texts, `before` and `after`; None is a missing text."""
    sha256 = hashlib.sha256(before)
    for text in texts:
        data = b"" if text is None else text.encode("utf-8", "surrogatepass")
        sha256.update((-1 if text is None else len(data)).to_bytes(8, "little", signed=True) + data)
    sha256.update(after)
    return sha256.hexdigest()


def moments(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return an optimizer's state tensors by the parameter's number and the kind: {"0.exp_avg": tensor, ...}."""
    of_parameters = optimizer.state_dict()["state"]
    return {f"{number}.{kind}": tensor for number, each in of_parameters.items() for kind, tensor in each.items()}


def load_moments(optimizer: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    whole = optimizer.state_dict()
    for name, tensor in tensors.items():
        number, _, kind = name.partition(".")
        whole["state"].setdefault(int(number), {})[kind] = tensor
    optimizer.load_state_dict(whole)


def _checksum(tensors: dict[str, torch.Tensor], progress: str) -> str:
    parts = [
        tensors[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data for name in sorted(tensors)
    ]
    return str(checksum(progress.encode(), *parts))


def _sums(device: torch.device) -> dict[str, Any]:
    """Return the settings that determine the last bits of sums; on a GPU, so does the order of summation within a kernel."""
    of_cpu = {"torch": torch.__version__, "threads": torch.get_num_threads(), "cores": os.cpu_count()}
    return {**of_cpu, "device": device.type}
