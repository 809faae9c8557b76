"""What a sentence-transformers folder consists of, and whether our engine computes exactly that."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from ...engine.checkpoint import read_config, weight_files
from ...engine.opening import file_hashes, identity, opening, read_json, shown
from ...engine.quantised import is_quantised
from ...errors import ModelError
from .. import hub

E5_PROMPT = "query: "  # for texts that are compared with one another, according to the model card of multilingual-e5
# sentence-transformers' names for the poolings, and those of our readouts.
POOLINGS = {"mean": "avg", "cls": "cls", "max": "max"}
# The flags with which older folders choose a pooling.
_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_PLAIN_TEXT = {"text": {"method": "forward", "method_output_name": "last_hidden_state"}}
# Settings of a Transformer module, with the values that require nothing beyond the encoder's last layer.
_USUAL: dict[str, list[Any]] = {
    "do_lower_case": [False],
    "transformer_task": ["feature-extraction"],
    "module_output_name": ["token_embeddings"],
    "modality_config": [_PLAIN_TEXT],
}
ACTIVATIONS = {"torch.nn.modules.activation.Tanh": "tanh", "torch.nn.modules.linear.Identity": "identity"}


class NotPacked(Exception):
    """Says why a model is left to the sentence_transformers library; users never see it."""


class Module(NamedTuple):
    """One entry of modules.json: the class name without its module, and the folder of its files."""

    kind: str
    folder: Path


class SentenceLayout(NamedTuple):
    """A model that the engine computes.

    encoder       folder of the encoder's checkpoint
    pooling       mean, cls or max
    head          the modules after the pooling, Dense and Normalize, in order
    max_tokens    most tokens of a text, special tokens included; None if the folder gives no limit
    prompt        put before each text that has tokens
    """

    encoder: Path
    pooling: str
    head: list[Module]
    max_tokens: int | None
    prompt: str = ""


def resolve_sentence_model(name: str) -> hub.ResolvedModel:
    """Resolve `embedded`, `multilingual`, a local folder, or a hub name of sentence-transformers with optional @revision.

    A hub name without an owner means sentence-transformers/NAME, as in that library. Raises ModelError as hub.resolve does.
    """
    if name in ("", hub.EMBEDDED, hub.MULTILINGUAL):
        return hub.resolve(name)
    if "/" not in name.split("@")[0] and not os.path.isdir(os.path.expanduser(name)):
        name = f"sentence-transformers/{name}"
    return hub.located(name, hub.SENTENCE, model_identity)


def model_identity(folder: Path) -> str:
    """The identity of a sentence model, from the files of all its modules: 12 hex digits.

    Raises ModelError if its encoder has no weights.
    """
    weight_files(read_modules(folder)[0].folder)
    return identity(module_hashes(folder), folder)


def module_hashes(folder: Path) -> dict[str, str]:
    """The sha256 of each of a model's files, in its own folder and in those of its modules, by path."""
    paths = []
    for place in dict.fromkeys((folder, *(module.folder for module in read_modules(folder)))):
        if is_quantised(place) or any((place / name).exists() for name in hub.WEIGHTS):
            paths += weight_files(place)
        paths += (path for kind in ("*.json", "*.txt", "*.model") for path in sorted(place.glob(kind)))
    return file_hashes(paths)


def read_modules(folder: Path) -> list[Module]:
    """The modules in modules.json; for the folder of a plain encoder, only the encoder.

    Raises ModelError for a file that cannot be read, or that requires code from outside sentence_transformers.
    """
    path = folder / "modules.json"
    if not path.exists():
        return [Module("Transformer", folder)]
    with opening(path, "is not a readable list of modules; fetch the model again"):
        lines = [(line["type"], line["path"]) for line in read_json(path)]
        modules = [Module(kind.rpartition(".")[2], folder / below) for kind, below in lines]
        foreign = [kind for kind, _ in lines if not kind.startswith("sentence_transformers.")]
    if foreign:
        raise ModelError(
            f"{path} asks for code of its own ({', '.join(foreign)}), which is never run; take another model"
        )
    if not modules:
        raise ModelError(f"{path} lists no modules; fetch the model again")
    return modules


def packed_layout(folder: Path) -> SentenceLayout:
    """How the engine computes a folder's model; raises NotPacked, with the reason, if it does not support it.

    Raises ModelError for a folder that cannot be read.
    """
    if is_quantised(folder):
        return SentenceLayout(folder, "mean", [], None, E5_PROMPT)
    modules = read_modules(folder)
    kinds = [module.kind for module in modules]
    plain = not (folder / "modules.json").exists()
    if not plain and (kinds[:2] != ["Transformer", "Pooling"] or set(kinds[2:]) - {"Dense", "Normalize"}):
        raise NotPacked(f"its modules are {', '.join(kinds)}")
    encoder = modules[0].folder
    try:
        read_config(encoder)
    except ModelError as error:
        raise NotPacked(str(error)) from error
    if (encoder / "adapter_config.json").exists():
        raise NotPacked("it has an adapter")
    if json_object(folder / "config_sentence_transformers.json").get("default_prompt_name"):
        raise NotPacked("it puts a prompt before each text")
    tokenizer = json_object(encoder / "tokenizer_config.json")
    if tokenizer.get("truncation_side", "right") != "right":
        raise NotPacked("it cuts texts at the start")
    transformer = next(
        (found for path in sorted(encoder.glob("sentence_*_config.json")) if (found := json_object(path))), {}
    )
    for key, value in transformer.items():
        if key != "max_seq_length" and value and value not in _USUAL.get(key, []):
            raise NotPacked(f"its encoder sets {key} to {value}")
    for module in modules[2:]:
        if module.kind == "Dense":
            _check_dense(json_object(module.folder / "config.json"))
    pooling = "mean" if plain else _pooling(json_object(modules[1].folder / "config.json"))
    limit = transformer.get("max_seq_length") or tokenizer.get("model_max_length")
    with opening(encoder, f": max_seq_length {shown(limit)} is not a number; correct its files"):
        return SentenceLayout(encoder, pooling, modules[2:], int(limit) if limit else None)


def _pooling(config: dict[str, Any]) -> str:
    flagged = [name for flag, name in _FLAGS.items() if config.get(flag)] or ["mean"]
    chosen = config.get("pooling_mode", flagged)
    names = chosen if isinstance(chosen, list) else [chosen]
    if len(names) != 1 or not isinstance(names[0], str) or names[0] not in POOLINGS:
        raise NotPacked(f"its pooling is {', '.join(map(str, names))}")
    return names[0]


def _check_dense(config: dict[str, Any]) -> None:
    if (activation := str(config.get("activation_function"))) not in ACTIVATIONS:
        raise NotPacked(f"its dense layer has the activation {activation}")
    if any(config.get(f"module_{end}_name") not in (None, "sentence_embedding") for end in ("input", "output")):
        raise NotPacked("its dense layer works on tokens")


def json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; {} if there is no such file."""
    with opening(path, "is not readable JSON; fetch the model again"):
        return dict(read_json(path)) if path.exists() else {}
