"""Changes of model files, as functions of a folder that a table can hold, and the one line that a damaged folder gives."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ctx_metrics.errors import CtxMetricsError
from ctx_metrics.opening import file_sha256

Damage = Callable[[Path], object]
CKPT = "checkpoints/model.ckpt"


def line(function: Callable[[], object], folder: Path) -> str:
    """What a call says of a folder, which it has to name."""
    with pytest.raises(CtxMetricsError) as caught:
        function()
    text = str(caught.value)
    assert "\n" not in text and len(text) < 800 and str(folder) in text, text
    return text.replace(str(folder), "FOLDER")


def change_json(path: Path, without: Collection[str] = (), **changes) -> None:
    content = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps({name: value for name, value in content.items() if name not in without}))


def change(folder: Path, without: Collection[str] = (), **fields) -> Path:
    """Change fields of config.json, or leave some out."""
    change_json(folder / "config.json", without, **fields)
    return folder


def rehash(folder: Path) -> Path:
    """Make the config.json of a trained model vouch for the weights as they are now."""
    return change(folder, weights_sha256=file_sha256(folder / "model.safetensors"))


def write_ckpt(folder: Path, content) -> Path:
    (folder / CKPT).unlink(missing_ok=True)  # it may be mapped into memory
    torch.save(content, folder / CKPT)
    return folder


def change_ckpt(folder: Path, **changes) -> Path:
    """Change entries of the dictionaries in a .ckpt; a function gets what is there."""
    content = torch.load(folder / CKPT, weights_only=True)
    for name, changed in changes.items():
        for key, value in changed.items():
            content[name][key] = value(content[name][key]) if callable(value) else value
    return write_ckpt(folder, content)


def compress(path: Path) -> None:
    """Pack the entries of a file of torch.save."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    path.unlink()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


# functions of a folder


def in_turn(*damages: Damage) -> Damage:
    def damage(folder):
        for each in damages:
            each(folder)

    return damage


def text(name: str, content: str | bytes) -> Damage:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def cut(name: str, part: float) -> Damage:
    return lambda folder: os.truncate(folder / name, int((folder / name).stat().st_size * part))


def without(*names: str) -> Damage:
    return lambda folder: [(folder / name).unlink() for name in names]


def other(name: str, **changes) -> Damage:
    return lambda folder: change_json(folder / name, **changes)


def weights(name: str, change: Callable[[torch.Tensor | None], torch.Tensor | None], below: str = ".") -> Damage:
    """Change a tensor of model.safetensors in the folder or one below; None is one that is not there."""

    def damage(folder):
        path = folder / below / "model.safetensors"
        tensors = {key: tensor.clone() for key, tensor in load_file(path).items()}
        path.unlink()
        changed = {**tensors, name: change(tensors.get(name))}
        save_file({key: tensor for key, tensor in changed.items() if tensor is not None}, path, {"format": "pt"})

    return damage


def as_pytorch(folder: Path) -> None:
    """Write the tensors as pytorch_model.bin in place of model.safetensors."""
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def in_form(folder: Path, target: Path, form: str) -> Path:
    """A copy of a checkpoint with its weights in another form: "bin" or "safetensors", with " shards" after it or without."""
    kind, _, shards = form.partition(" ")
    write, stem = (torch.save, "pytorch_model.bin") if kind == "bin" else (save_file, "model.safetensors")
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("model.safetensors"))
    tensors = load_file(folder / "model.safetensors")
    if not shards:
        write(tensors, target / stem)
        return target
    name, _, ending = stem.partition(".")
    owner = {each: f"{name}-0000{number % 2 + 1}-of-00002.{ending}" for number, each in enumerate(sorted(tensors))}
    for file in set(owner.values()):
        write({each: tensor for each, tensor in tensors.items() if owner[each] == file}, target / file)
    (target / f"{stem}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": owner}))
    return target
