"""The folder that a model goes to, before its training and after it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ..models.folder import read_config, write_model
from ..models.hub import EMBEDDED
from ..writing import make_folder, remove_leftovers
from .state import STATE, read_state


def claim(out: Path, fingerprint: dict[str, Any]) -> None:
    """Make the folder, if need be; raises InputError where it holds the state of another training, or cannot be made."""
    if (out / STATE).exists():
        read_state(out / STATE, fingerprint)
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
    return str(folder.resolve()) if name != EMBEDDED and folder.is_dir() else name
