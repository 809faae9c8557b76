"""A BLEURT-20 checkpoint in the form of its PyTorch port: a RemBERT encoder, a head, and a SentencePiece model."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.checkpoint import (
    EncoderTensors,
    check_size,
    checked_config,
    checked_tensor,
    load_file,
    tensor_shapes,
    weight_files,
)
from ..errors import ModelError
from ..models.hub import HubKind, is_whole, located, weights_to_fetch
from ..opening import file_hashes, file_sha256, identity, opening, read_json, same_hashes, shown
from ..wording import setting_named

if TYPE_CHECKING:
    import torch

KIND = "bleurt"  # model_type in config.json
CONVERTED = "ctx_metrics"  # the entry of config.json that `ctx-metrics convert` adds: ckpt and files
VOCABULARY = "spm.model"
# --bleurt-activation: the name in a configuration that the engine reads
ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh"}
_HIDDEN_ACTS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
# the only name of the port that is not RemBERT's
_RENAMED = "encoder.embedding_projection.", "encoder.embedding_hidden_mapping_in."
_NAMED = re.compile(r"bleurt[-_]20", re.IGNORECASE)


def is_named(name: str) -> bool:
    """Whether a name is that of a BLEURT-20 model.

    >>> [is_named(each) for each in ("lucadiliello/BLEURT-20-D12", "lucadiliello/bleurt-base-128")]
    [True, False]
    """
    return _NAMED.search(name) is not None


def _among(files: set[str], label: str) -> list[str]:
    if lacking := {"config.json", VOCABULARY} - files:
        raise ModelError(f"{label} is not a BLEURT-20 checkpoint: {' and '.join(sorted(lacking))} is missing")
    return ["config.json", VOCABULARY, *weights_to_fetch(files, label)]


def is_complete(folder: Path) -> bool:
    return is_whole(folder) and (folder / VOCABULARY).is_file()


BLEURT_20 = HubKind(_among, is_complete, f"BLEURT-20 checkpoint: config.json, {VOCABULARY} or the weights are missing")


class BleurtCheckpoint:
    """An opened checkpoint: its kind and sizes, and its weights on demand.

    activation    gelu or gelu_tanh; None: the folder's own
    config        of the encoder, as the engine reads it
    """

    def __init__(self, name: str, activation: str | None = None):
        if "/" not in name and not Path(name).expanduser().is_dir():
            perhaps = f" (perhaps lucadiliello/{name.upper().replace('_', '-')})" if is_named(name) else ""
            raise ModelError(f"no model folder {name!r}", fix=f"name a folder, or OWNER/NAME of the hub{perhaps}")
        if Path(name).expanduser().is_file():
            raise ModelError(f"{name} is a file", fix="name the folder that it is in")
        found = located(name, BLEURT_20, lambda folder: "")
        self.folder = found.folder
        self.stated = read_config(self.folder)
        self.activation = activation or self._activation()
        self.config = encoder_config(self.folder, self.stated, ACTIVATIONS[self.activation])
        check_size(self.config, self.folder, weight_files(self.folder))
        if not self.vocabulary.is_file():
            raise ModelError(
                f"{self.folder} has no {VOCABULARY}, its SentencePiece model", fix="copy or fetch it again"
            )
        self._hashes = self._hashed()
        self.model = replace(found, ckpt=self._identity())

    @property
    def vocabulary(self) -> Path:
        return self.folder / VOCABULARY

    def _activation(self) -> str:
        act = self.stated.get("hidden_act", "gelu")
        if act not in _HIDDEN_ACTS:
            choose = setting_named("--bleurt-activation", "activation", "gelu")
            raise ModelError(
                f"{self.folder}: config.json gives {shown(act)} for hidden_act, which is not one of "
                f"{', '.join(_HIDDEN_ACTS)}",
                fix=f"correct it, or give {choose} to the metric bleurt",
            )
        return _HIDDEN_ACTS[act]

    def _hashed(self) -> dict[str, str]:
        paths = [self.folder / "config.json", self.vocabulary, *weight_files(self.folder)]
        return {str(path): file_sha256(path) for path in paths}

    def _identity(self) -> str:
        converted = self.stated.get(CONVERTED)
        if converted is None:
            return identity(self._hashes, self.folder)
        if converted["files"] != files_identity(self.folder, self.stated):
            raise ModelError(
                f"{self.folder} was changed after ctx-metrics convert wrote it", fix="convert the checkpoint again"
            )
        return converted["ckpt"]

    def is_current(self) -> bool:
        return same_hashes(self._hashes, self._hashed)

    def weights(self) -> EncoderTensors:
        """The encoder's tensors, by RemBERT's names."""
        return EncoderTensors(self._places(tensor_shapes(self.config)), self.config)

    def head(self) -> "dict[str, torch.Tensor]":
        """The pooler and the classifier."""
        width = self.config["hidden_size"]
        shapes: dict[str, tuple[int, ...]] = {
            "pooler.dense.weight": (width, width),
            "pooler.dense.bias": (width,),
            "classifier.weight": (1, width),
            "classifier.bias": (1,),
        }
        return {
            name: checked_tensor(tensors[raw], raw, path=path, shape=shapes[name])
            for name, (tensors, raw, path) in self._places(shapes).items()
        }

    def stored(self) -> "dict[str, torch.Tensor]":
        """All tensors that are read, by their names in the files."""
        encoder, head = self.weights(), self.head()
        places = self._places([*encoder, *head])
        return {raw: head[name] if name in head else encoder[name] for name, (_, raw, _) in places.items()}

    def _places(self, names: Collection[str]) -> dict[str, tuple[Mapping, str, Path]]:
        """The places of tensors, by RemBERT's names: the tensors of a file, the name there, and the file."""
        places = {}
        for path in weight_files(self.folder):
            tensors = load_file(path)
            for raw in tensors:
                name = str(raw).removeprefix("bleurt.").replace(*_RENAMED)
                places[name] = tensors, raw, path
        if lacking := [name for name in names if name not in places]:
            raise ModelError(f"{self.folder}: its weights lack the tensor {lacking[0]!r}", fix="fetch it again")
        return {name: places[name] for name in names}


def read_config(folder: Path) -> dict[str, Any]:
    with opening(folder, "holds no readable config.json, so it is not a BLEURT-20 checkpoint"):
        config = dict(read_json(folder / "config.json"))
    if config.get("model_type") != KIND:
        raise ModelError(
            f"{folder} is not a BLEURT-20 checkpoint: config.json gives {shown(config.get('model_type'))} for model_type, "
            f"not {KIND!r}"
        )
    if config.get("embedding_size") is None:
        raise ModelError(
            f"{folder} is an older BLEURT for English (config.json gives no embedding_size)",
            fix="use a BLEURT-20 checkpoint, such as lucadiliello/BLEURT-20-D12",
        )
    size = config["embedding_size"]
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ModelError(f"{folder}: config.json gives {shown(size)} for embedding_size", fix="fetch it again")
    if CONVERTED in config:
        added = config[CONVERTED]
        if not isinstance(added, dict) or not all(isinstance(added.get(name), str) for name in ("ckpt", "files")):
            raise ModelError(
                f"{folder}: config.json is not as ctx-metrics convert writes it", fix="convert the checkpoint again"
            )
    return config


def encoder_config(folder: Path, config: Mapping[str, Any], hidden_act: str) -> dict[str, Any]:
    """A checkpoint's configuration as that of its RemBERT encoder; raises ModelError for sizes that cannot be."""
    as_rembert = {**config, "model_type": "rembert", "input_embedding_size": config["embedding_size"]}
    checked = checked_config({**as_rembert, "hidden_act": "gelu"}, folder)
    if checked.get("type_vocab_size", 2) < 2:
        raise ModelError(f"{folder}: config.json gives type_vocab_size {checked['type_vocab_size']}, but 2 are needed")
    return {**checked, "hidden_act": hidden_act}


def files_identity(folder: Path, config: Mapping[str, Any]) -> str:
    """The identity of a converted folder: of its weights, its SentencePiece model and the rest of its config.json."""
    hashes = file_hashes([*weight_files(folder), folder / VOCABULARY])
    described = json.dumps({name: value for name, value in config.items() if name != CONVERTED}, sort_keys=True)
    return identity({**hashes, str(folder / "config.json"): sha256(described.encode()).hexdigest()}, folder)
