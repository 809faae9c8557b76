"""xCOMET-lite (Larionov et al. 2024) as published: an XCOMETMetric that huggingface_hub's PyTorchModelHubMixin has saved.

The folder holds all tensors under unbabel-comet's names, and a config.json that is either what the model's class was made
with, or the configuration of its encoder. What config.json leaves out is as in the authors' class.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ...opening import opening, read_json

ENCODER_MODEL, MODEL_TYPE = "DeBERTa", "deberta-v2"
_FILES = ("model.safetensors", "pytorch_model.bin")


def lite_weights(folder: Path) -> Path | None:
    """The weights of such a folder, or of a DeBERTa encoder, which config.json cannot tell apart; None for any other."""
    try:
        found = _described(folder)
    except ModelError:
        return None
    return None if found is None else next((folder / name for name in _FILES if (folder / name).is_file()), None)


def _described(folder: Path) -> dict[str, Any] | None:
    """The part of config.json on the COMET model: empty if it describes the encoder. None: it describes another model."""
    with opening(folder, "holds no readable config.json"):
        config = read_json(folder / "config.json")
    if not isinstance(config, dict):
        return None
    if "model_type" not in config:
        return config if "encoder_model" in config else None
    return {} if config["model_type"] == MODEL_TYPE else None


def lite_hyperparameters(folder: Path) -> Mapping[str, Any]:
    """The hyper-parameters, still to be checked."""
    given = _described(folder) or {}
    return {
        "class_identifier": "xcomet_metric",
        "encoder_model": given.get("encoder_model", ENCODER_MODEL),
        "pretrained_model": given.get("pretrained_model", "microsoft/mdeberta-v3-base"),
        "pool": "cls",
        "layer": "mix",
        "layer_transformation": given.get("layer_transformation", "softmax"),
        "layer_norm": False,
        "activations": "Tanh",
        "final_activation": None,
        "input_segments": ("mt", "src", "ref"),
        "word_level": True,
        "word_layer": given.get("word_layer", 8),
        "error_labels": ("minor", "major", "critical"),
    }
