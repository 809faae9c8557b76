"""Reading a Hugging Face checkpoint folder: its configuration and the encoder's weights, safely."""

import json
import pickle
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ModelError

if TYPE_CHECKING:  # imported where it is needed: the hub, and so --help, reads this module's names alone
    import torch

# What our forward computes, and the prefix of its weights in a checkpoint with a head.
FAMILIES = {
    "bert": "bert.",
    "roberta": "roberta.",
    "xlm-roberta": "roberta.",
    "xlm-roberta-xl": "roberta.",
    "rembert": "rembert.",
}
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_SIZES = [
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "vocab_size",
]


class EncoderFolder:
    """A Hugging Face folder as the encoder reads it: configuration, tokenizer files and weights."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.config = read_config(folder)

    def weights(self) -> dict[str, "torch.Tensor"]:
        """The encoder's tensors by their bare names ("encoder.layer.0...")."""
        return read_weights(self.folder, self.config["model_type"])


def read_config(folder: Path) -> dict:
    """config.json of an encoder, after checking that our forward computes just this architecture.

    Raises ModelError for a folder without one, or of another kind.
    """
    _refuse_comet(folder)
    try:
        config = dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"{folder} holds no readable config.json, so it is no Hugging Face encoder") from error
    return checked_config(config, folder)


def checked_config(config: dict, folder: Path) -> dict:
    """The configuration itself; raises ModelError if our forward does not compute just that architecture."""
    kind = config.get("model_type")
    if kind not in FAMILIES:
        raise ModelError(f"{folder} is of kind {kind!r}; a text encoder must be one of {', '.join(FAMILIES)}")
    for key, usual in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
        if config.get(key, usual) != usual:
            raise ModelError(f"{folder}: {key} {config[key]!r} is not supported, only {usual!r}")
    sizes = [*_SIZES, "input_embedding_size"] if kind == "rembert" else _SIZES
    for key in sizes:
        if not isinstance(config.get(key), int) or config[key] < 1:
            raise ModelError(f"{folder}: config.json gives no number for {key}")
    if config["hidden_size"] % config["num_attention_heads"]:
        width, heads = config["hidden_size"], config["num_attention_heads"]
        raise ModelError(f"{folder}: config.json gives hidden_size {width}, which {heads} attention heads cannot share")
    if config.get("is_decoder") or config.get("add_cross_attention"):
        raise ModelError(f"{folder} is a decoder; a text encoder must be bidirectional")
    return config


def first_position(config: dict) -> int:
    """The number that an encoder's positions start from: RoBERTa and XLM-R count from the padding id + 1."""
    return 0 if config["model_type"] in ("bert", "rembert") else config.get("pad_token_id", 1) + 1


def tensor_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Shape of every tensor that the forward of a configuration reads, by its bare name."""
    width, inner = config["hidden_size"], config["intermediate_size"]
    pre_norm, rembert = config["model_type"] == "xlm-roberta-xl", config["model_type"] == "rembert"
    narrow = config["input_embedding_size"] if rembert else width
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(name: str, outputs: int, inputs: int) -> None:
        shapes.update({f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)})

    def norm(name: str, size: int) -> None:
        shapes.update({f"{name}.weight": (size,), f"{name}.bias": (size,)})

    for kind, rows in (
        ("word", config["vocab_size"]),
        ("position", config["max_position_embeddings"]),
        ("token_type", config.get("type_vocab_size", 2)),
    ):
        shapes[f"embeddings.{kind}_embeddings.weight"] = (rows, narrow)
    norm("encoder.LayerNorm" if pre_norm else "embeddings.LayerNorm", narrow)
    if rembert:
        linear("encoder.embedding_hidden_mapping_in", width, narrow)
    for k in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{k}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{layer}attention.{name}", width, width)
        linear(f"{layer}intermediate.dense", inner, width)
        linear(f"{layer}output.dense", width, inner)
        norm(layer + ("attention.self_attn_layer_norm" if pre_norm else "attention.output.LayerNorm"), width)
        norm(layer + ("LayerNorm" if pre_norm else "output.LayerNorm"), width)
    return shapes


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a checkpoint's weights, one or several shards; safetensors are preferred."""
    _refuse_comet(folder)
    for name in WEIGHTS:
        path = folder / name
        if path.exists():
            if name.endswith(".json"):
                try:
                    shards = set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values())
                except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
                    raise ModelError(f"{path} is no readable index of shards") from error
                return [folder / shard for shard in sorted(shards)]
            return [path]
    raise ModelError(f"{folder} holds no weights: none of {', '.join(WEIGHTS)}")


def _refuse_comet(folder: Path) -> None:
    if (folder / "hparams.yaml").exists():
        raise ModelError(f"{folder} is a COMET checkpoint, not a text encoder; name a BERT, RoBERTa or XLM-R folder")


def read_weights(folder: Path, kind: str) -> dict[str, "torch.Tensor"]:
    """The encoder's tensors by their bare names ("encoder.layer.0..."), heads left out.

    safetensors, or PyTorch files under weights_only. Raises ModelError for a broken file.
    """
    prefix = FAMILIES[kind]
    tensors: dict[str, "torch.Tensor"] = {}
    for path in weight_files(folder):
        for name, tensor in load_file(path).items():
            name = name.removeprefix(prefix)
            if name.startswith(("embeddings.", "encoder.")):
                # checkpoints from before 2019 spell the layer norm's parameters so
                name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
                tensors[name] = tensor
    return tensors


def load_file(path: Path) -> dict:
    """What a weight file holds: tensors by name, or whatever else torch.save put into a dictionary; mapped, not copied.

    safetensors, or PyTorch files under weights_only, which run no code. Raises ModelError for a broken or unsafe file.
    """
    # not above: models/hub.py uses this module, and the command's --help and metrics without a model load that
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as file:
                return {name: file.get_tensor(name) for name in file.keys()}
        # files from before torch 1.6 are no zip archives and cannot be mapped
        archive = zipfile.is_zipfile(path)
        if not archive:
            with open(path, "rb") as file:
                if file.read(2) == b"PK":
                    raise ValueError("it is cut short")
        found = torch.load(path, map_location="cpu", weights_only=True, mmap=archive)
        if not isinstance(found, dict):
            raise ValueError("it holds no dictionary of tensors")
        return found
    except (OSError, SafetensorError, RuntimeError, ValueError, EOFError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelError(f"{path} cannot be read: {why}; copy or fetch it again") from error
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{path} is broken or holds more than tensors, and is refused (weights_only); fetch it again"
        ) from error
