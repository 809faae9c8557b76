"""The hyper-parameters of COMET models: read from a checkpoint's files, completed as in unbabel-comet, and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_type_hints

import torch
import yaml

from ...engine.opening import opening, shown
from ...errors import ModelError

CLASSES = ("regression_metric", "referenceless_regression_metric", "unified_metric", "xcomet_metric")
# The encoders that unbabel-comet knows, with the number of separator tokens between two texts of a sequence.
SEPARATORS = {"XLM-RoBERTa": 2, "XLM-RoBERTa-XL": 2, "MiniLM": 2, "BERT": 1, "RemBERT": 1}
HPARAMS_FILE = "hparams.yaml"
HPARAMS_LIMIT = 2**18  # bytes; that of a released model takes two thousand


@dataclass(frozen=True)
class Hyperparameters:
    """The hyper-parameters of a COMET model that its scores depend on, under unbabel-comet's names.

    layer                   "mix", or the number of the one layer that is pooled
    layer_transformation    "softmax" or "sparsemax": turns the mix's parameters into weights
    word_layer              layer whose states determine each token's error label
    """

    class_identifier: str
    encoder_model: str
    pretrained_model: str
    pool: str
    layer: str | int
    layer_transformation: str
    layer_norm: bool
    activations: str
    final_activation: str | None
    input_segments: tuple[str, ...]
    word_level: bool
    word_layer: int | None
    error_labels: tuple[str, ...]

    @property
    def unified(self) -> bool:
        """Whether the texts are read in one sequence (UnifiedMetric, XCOMETMetric)."""
        return self.class_identifier in ("unified_metric", "xcomet_metric")


_LISTS = ("input_segments", "error_labels")
_KINDS = {name: kind for name, kind in get_type_hints(Hyperparameters).items() if name not in _LISTS}


class _PlainLoader(yaml.SafeLoader):
    """Plain YAML without merge keys, a few of which can expand to any amount of data."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.constructor.ConstructorError(None, None, "it holds a merge key (<<)", node.start_mark)


def lightning_hyperparameters(loaded: Mapping, file: Path, root: Path) -> Hyperparameters:
    """The hyper-parameters that unbabel-comet would use for the model: the class is in hparams.yaml, the rest in the .ckpt.

    loaded    content of the .ckpt `file`;  root    the folder of hparams.yaml
    Raises ModelError for files of another kind.
    """
    given = loaded.get("hyper_parameters")
    if not isinstance(given, dict) or not isinstance(loaded.get("state_dict"), dict):
        raise ModelError(
            f"{file} is not a COMET checkpoint: hyper_parameters or state_dict is missing; name another file"
        )
    described = _read_hparams(root / HPARAMS_FILE)
    identifier = described["class_identifier"]
    if not isinstance(identifier, str) or identifier not in CLASSES:
        raise ModelError(f"{root / HPARAMS_FILE}: class_identifier {shown(identifier)} is none of {', '.join(CLASSES)}")
    unified = identifier in ("unified_metric", "xcomet_metric")
    xcomet = identifier == "xcomet_metric"
    transformation = given.get("layer_transformation", "sparsemax" if unified else "softmax")
    if described.get("layer_transformation") == "sparsemax_patch":
        transformation = "softmax"  # models trained with a bug that made sparsemax a softmax are marked this way
    completed = {
        "class_identifier": identifier,
        "encoder_model": given.get("encoder_model", "XLM-RoBERTa-XL" if xcomet else "XLM-RoBERTa"),
        "pretrained_model": given.get("pretrained_model", ""),
        "pool": "cls" if unified else given.get("pool", "avg"),
        "layer": given.get("sent_layer" if unified else "layer", "mix"),
        "layer_transformation": "sparsemax" if transformation == "sparsemax" else "softmax",
        "layer_norm": bool(given.get("layer_norm", not xcomet)),
        "activations": given.get("activations", "Tanh"),
        "final_activation": given.get("final_activation"),
        "input_segments": ("mt", "src", "ref") if xcomet else given.get("input_segments", ("mt", "src", "ref")),
        "word_level": xcomet or (unified and bool(given.get("word_level_training", False))),
        "word_layer": given.get("word_layer", 36 if xcomet else 24),
        "error_labels": given.get("error_labels", ("minor", "major", "critical") if xcomet else ("minor", "major")),
    }
    return checked_hyperparameters(completed, file)


def _read_hparams(path: Path) -> dict:
    """hparams.yaml as a dictionary with class_identifier; raises ModelError if it cannot be read or lacks that."""
    if not path.exists():
        raise ModelError(f"{path} is missing; a COMET checkpoint has it two levels above its .ckpt: copy it there")
    with opening(path):
        with open(path, "rb") as file:
            data = file.read(HPARAMS_LIMIT + 1)
        if len(data) > HPARAMS_LIMIT:
            raise ValueError(f"it is larger than {HPARAMS_LIMIT // 1024} KiB")
        described = yaml.load(data.decode("utf-8"), _PlainLoader)
    if not isinstance(described, dict) or "class_identifier" not in described:
        raise ModelError(f"{path} names no class_identifier; copy or fetch it again")
    return described


def checked_hyperparameters(given: dict, file: Path) -> Hyperparameters:
    """Build hyper-parameters from names and values; raises ModelError, naming `file`, for any that no COMET model has."""
    if (
        not isinstance(given, dict)
        or set(given) != {*_KINDS, *_LISTS}
        or not all(
            isinstance(given[name], (list, tuple)) and all(isinstance(each, str) for each in given[name])
            for name in _LISTS
        )
    ):
        raise ModelError(f"{file}: its hyper-parameters are not those of a COMET model; fetch or convert it again")
    for name, kinds in _KINDS.items():
        if not isinstance(given[name], kinds) or (isinstance(given[name], bool) and kinds is not bool):
            raise ModelError(f"{file}: {name} is {shown(given[name])}, which no COMET model has; fetch it again")
    parameters = Hyperparameters(**{**given, **{name: tuple(given[name]) for name in _LISTS}})
    if parameters.encoder_model not in SEPARATORS:
        raise ModelError(f"{file}: encoder_model {parameters.encoder_model!r} is none of {', '.join(SEPARATORS)}")
    if parameters.pool not in ("avg", "max", "cls", "default"):
        raise ModelError(f"{file}: pool {parameters.pool!r} is none of avg, max, cls, default")
    if parameters.pool == "default" and parameters.encoder_model == "BERT":
        raise ModelError(f"{file}: pool 'default' takes BERT's pooler, which COMET checkpoints do not hold")
    for name in filter(None, (parameters.activations, parameters.final_activation)):
        with opening(file, f": torch.nn has no activation {shown(name)}; fetch it again"):
            if activation(name)(torch.zeros(2)).shape != (2,):
                raise ValueError("it changes the shape")
    if parameters.unified and not {"mt"} < set(parameters.input_segments) <= {"mt", "src", "ref"}:
        raise ModelError(f"{file}: input_segments {list(parameters.input_segments)} are not mt with src, ref or both")
    return parameters


def activation(name: str) -> torch.nn.Module:
    """The activation of a name, found as in unbabel-comet: "tanh" is torch.nn.Tanh."""
    return getattr(torch.nn, name.title())().eval()
