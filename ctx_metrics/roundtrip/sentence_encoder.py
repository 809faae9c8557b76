"""Sentence embeddings: from the packed engine if it supports the model, else from the sentence_transformers library.

They equal those of sentence_transformers' SentenceTransformer.encode without prompts (Reimers and Gurevych 2019).
"""

import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from ..engine.checkpoint import (
    checked_tensor,
    is_quantised,
    load_file,
    opening_foreign,
    read_config,
    silent,
    weight_files,
)
from ..engine.device import check_tf32, resolve_device, resolve_dtype
from ..engine.encoder import shared_encoder
from ..engine.memory import LoadedModels, memory_for
from ..engine.pairs import EncodedPair, PairResult, map_pairs
from ..engine.readout import SentenceVector
from ..engine.store import stacked
from ..engine.tokenizer import check_growth
from ..engine_options import EngineOptions
from ..errors import ModelError, lacks_memory
from ..models.hub import (
    EMBEDDED,
    MULTILINGUAL,
    WEIGHTS,
    HubKind,
    ResolvedModel,
    is_whole,
    located,
    resolve,
    weights_to_fetch,
)
from ..notices import logger
from ..opening import file_hashes, identity, opening, read_json, reason, same_hashes, shown
from ..wording import setting_named

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


def resolve_sentence_model(name: str) -> ResolvedModel:
    """Resolve `embedded`, `multilingual`, a local folder, or a hub name of sentence-transformers with optional @revision.

    A hub name without an owner means sentence-transformers/NAME, as in that library. Raises ModelError as hub.resolve does.
    """
    if name in ("", EMBEDDED, MULTILINGUAL):
        return resolve(name)
    if "/" not in name.split("@")[0] and not os.path.isdir(os.path.expanduser(name)):
        name = f"sentence-transformers/{name}"
    return located(name, SENTENCE, model_identity)


def _files_to_fetch(files: set[str], label: str) -> list[str]:
    """The model's files in a hub repository, in its root and in its modules' folders (1_Pooling, ...)."""
    if "modules.json" not in files:
        raise ModelError(
            f"{label} is not a sentence-transformers model: modules.json is missing", fix="name a folder instead"
        )
    wanted = []
    for prefix in sorted({name[: name.rfind("/") + 1] for name in files}):
        own = {name.removeprefix(prefix) for name in files if name[: name.rfind("/") + 1] == prefix}
        if re.fullmatch(r"(\d+_\w+/)?", prefix):
            weights = [] if own.isdisjoint(WEIGHTS) else weights_to_fetch(own, label)
            wanted += [prefix + name for name in sorted(own) if name.endswith((".json", ".txt", ".model"))]
            wanted += [prefix + name for name in weights if not name.endswith(".json")]
    return wanted


def _is_whole(folder: Path) -> bool:
    try:
        with opening(folder):
            modules = read_json(folder / "modules.json")
            kinds = {folder / module["path"]: module["type"].rpartition(".")[2] for module in modules}
    except ModelError:
        return False
    return all(
        kind == "Normalize" or (is_whole(path) if kind in ("Transformer", "Dense") else path.is_dir())
        for path, kind in kinds.items()
    )


SENTENCE = HubKind(_files_to_fetch, _is_whole, "sentence model: one of its files is missing", ("modules.json",))


def model_identity(folder: Path) -> str:
    """The identity of a sentence model, from the files of all its modules: 12 hex digits."""
    weight_files(read_modules(folder)[0].folder)
    return identity(module_hashes(folder), folder)


def module_hashes(folder: Path) -> dict[str, str]:
    """The sha256 of each of a model's files, in its own folder and in those of its modules, by path."""
    paths = []
    for place in dict.fromkeys((folder, *(module.folder for module in read_modules(folder)))):
        if is_quantised(place) or any((place / name).exists() for name in WEIGHTS):
            paths += weight_files(place)
        paths += (path for kind in ("*.json", "*.txt", "*.model") for path in sorted(place.glob(kind)))
    return file_hashes(paths)


def read_modules(folder: Path) -> list[Module]:
    """The modules in modules.json; for the folder of a plain encoder, only the encoder."""
    path = folder / "modules.json"
    if not path.exists():
        return [Module("Transformer", folder)]
    with opening(path, "is not a readable list of modules; fetch the model again"):
        lines = [(line["type"], line["path"]) for line in read_json(path)]
        modules = [Module(kind.rpartition(".")[2], folder / below) for kind, below in lines]
        foreign = [kind for kind, _ in lines if not kind.startswith("sentence_transformers.")]
    if foreign:
        raise ModelError(
            f"{path} asks for its own code ({', '.join(foreign)}), which is never run", fix="use another model"
        )
    if not modules:
        raise ModelError(f"{path} lists no modules", fix="fetch the model again")
    return modules


def packed_layout(folder: Path) -> SentenceLayout:
    """How the engine computes a folder's model; raises NotPacked, with the reason, if it does not support it."""
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


BATCH_SIZE = 32  # for the library
_DENSE = ("linear.weight", "linear.bias")


class SentenceEncoder(ABC):
    """Cosines of sentence embeddings.

    max_tokens    most tokens of a text, special tokens included; None: no limit
    pooling       how a text's tokens become one vector, for the signature
    """

    max_tokens: int | None
    pooling: str

    def __init__(self, folder: Path):
        self.folder, self._hashes = folder, module_hashes(folder)

    def is_current(self) -> bool:
        return same_hashes(self._hashes, lambda: module_hashes(self.folder))

    @abstractmethod
    def cosines(self, pairs: Sequence[tuple[str, str]], label: str = "encoding") -> list[PairResult[float]]:
        """The cosine of each pair's two embeddings, a float in [-1, 1]; None if a side has no tokens."""


class PackedSentenceEncoder(SentenceEncoder):
    """A model that the packed engine computes; metrics with the same encoder share one pass over the texts."""

    max_tokens: int

    def __init__(self, folder: Path, layout: SentenceLayout, options: EngineOptions):
        super().__init__(folder)
        self.encoder = shared_encoder(layout.encoder, options)
        most = self.encoder.max_content + 2
        self.max_tokens = min(layout.max_tokens or most, most)
        if self.max_tokens < 3:
            raise ModelError(
                f"{layout.encoder}: max_seq_length {self.max_tokens} leaves no token of a text", fix="correct its files"
            )
        weights = (0.0,) * self.encoder.layers + (1.0,)
        self.readout = SentenceVector(weights, POOLINGS[layout.pooling])
        self.encoder.require([self.readout])
        self.head = [Dense(module) if module.kind == "Dense" else F.normalize for module in layout.head]
        check_widths(self.encoder.width, [layer for layer in self.head if isinstance(layer, Dense)])
        self.prompt = layout.prompt
        prompt = [layout.prompt.strip(": ")] if layout.prompt else []
        self.pooling = "+".join([*prompt, layout.pooling, *(module.kind.lower() for module in layout.head)])

    def cosines(self, pairs: Sequence[tuple[str, str]], label: str = "encoding") -> list[PairResult[float]]:
        if self.prompt:
            texts = list(dict.fromkeys(text for pair in pairs for text in pair))
            full = {text for text, ids in zip(texts, self.encoder.tokenizer(texts, 1), strict=True) if ids.content}
            put = {text: f"{self.prompt}{text}" if text in full else text for text in texts}
            pairs = [(put[left], put[right]) for left, right in pairs]
        return map_pairs(
            self.encoder, pairs, [self.readout], self._cosines, max_content=self.max_tokens - 2, label=label
        )

    @torch.inference_mode()
    def _cosines(self, pairs: Sequence[EncodedPair]) -> list[float]:
        sides = [stacked([text.states for text in side], self.readout) for side in zip(*pairs, strict=True)]
        for layer in self.head:
            sides = [layer(side) for side in sides]
        return cosines(*sides).tolist()


class Dense:
    """A linear layer and its activation, on fp32 embeddings [texts, width]; raises ModelError for a broken folder."""

    def __init__(self, module: Module):
        self.folder = module.folder
        tensors: dict[str, torch.Tensor] = {}
        for path in weight_files(module.folder):
            tensors.update(load_file(path))
        if "linear.weight" not in tensors:
            raise ModelError(f"{module.folder} holds no weights of a dense layer", fix="fetch the model again")
        found = {
            name: checked_tensor(tensors[name], name, path=module.folder).float() for name in _DENSE if name in tensors
        }
        self.weight, self.bias = found["linear.weight"], found.get("linear.bias")
        self.activation = ACTIVATIONS[json_object(module.folder / "config.json")["activation_function"]]

    def __call__(self, embeddings: torch.Tensor) -> torch.Tensor:
        projected = F.linear(embeddings, self.weight, self.bias)
        return projected.tanh() if self.activation == "tanh" else projected


class LibrarySentenceEncoder(SentenceEncoder):
    """Any other model, run by sentence_transformers, 32 texts at a time; code in a model's folder is never run."""

    def __init__(self, folder: Path, options: EngineOptions):
        super().__init__(folder)
        self.options = options
        self.device, self.dtype = resolve_device(options.device), resolve_dtype(options.dtype)
        check_tf32(self.device, self.dtype)
        self.model: Any = self._loaded()
        limit = self.model.max_seq_length
        self.max_tokens = limit if limit is not None and limit < 2**31 else None  # a huge number means no limit
        self.pooling = f"sentence-transformers-{version('sentence-transformers')}"

    def __getstate__(self) -> dict:
        return {**self.__dict__, "model": None}

    def _loaded(self) -> Any:
        encoder = read_modules(self.folder)[0].folder
        with opening_foreign(self.folder, ": sentence_transformers cannot load it: {why}", encoder), silent():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(self.folder), device="cpu", trust_remote_code=False, local_files_only=True)
            if getattr(model.tokenizer, "is_fast", False):
                check_growth(model.tokenizer.backend_tokenizer)
        if not self.is_current():
            raise ModelError(f"{self.folder} has changed since it was opened", fix="create the metric again")
        with memory_for(f"the weights of {self.folder}", self.device):
            return model.to(self.device, self.dtype).eval()

    def cosines(self, pairs: Sequence[tuple[str, str]], label: str = "encoding") -> list[PairResult[float]]:
        if self.model is None:
            self.model = self._loaded()
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        empty, cut = self._odd(texts)
        kept = [text for text in texts if not empty[text]]
        embedded = dict(zip(kept, self._embeddings(kept), strict=True)) if kept else {}
        values: dict[tuple[str, str], float] = {}
        distinct = list(dict.fromkeys(pair for pair in pairs if not any(empty[text] for text in pair)))
        for start in range(0, len(distinct), 1024):
            some = distinct[start : start + 1024]
            sides = [torch.stack([embedded[text] for text in side]) for side in zip(*some, strict=True)]
            values.update(zip(some, cosines(*sides).tolist(), strict=True))
        return [
            PairResult(values.get((left, right)), (cut[left], cut[right]), (empty[left], empty[right]))
            for left, right in pairs
        ]

    def _embeddings(self, texts: list[str]) -> torch.Tensor:
        bar = not self.options.quiet and sys.stderr.isatty()
        with memory_for(f"{BATCH_SIZE} texts", self.device, f"try {setting_named('--ctx-device', 'device', 'cpu')}"):
            try:
                found = self.model.encode(texts, batch_size=BATCH_SIZE, convert_to_tensor=True, show_progress_bar=bar)
            except Exception as error:  # any kind, if a folder's files do not belong together
                if lacks_memory(error):
                    raise
                raise ModelError(f"{self.folder}: sentence_transformers cannot run it: {reason(error)}") from error
            return found.float().cpu()

    def _odd(self, texts: list[str]) -> tuple[dict[str, bool], dict[str, bool]]:
        """Which texts have no tokens, and which are cut."""
        from transformers import PreTrainedTokenizerBase

        tokenizer = self.model.tokenizer
        if not texts or not isinstance(tokenizer, PreTrainedTokenizerBase):  # a model of plain word vectors
            return {text: not text.strip() for text in texts}, dict.fromkeys(texts, False)
        ids = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        most = (self.max_tokens or sys.maxsize) - tokenizer.num_special_tokens_to_add()
        lengths = dict(zip(texts, map(len, ids), strict=True))
        return {text: not n for text, n in lengths.items()}, {text: n > most for text, n in lengths.items()}


def cosines(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """The cosines of the rows of two fp32 matrices [pairs, width], fp64 [pairs] in [-1, 1]; 0 for a row of zeros.

    >>> cosines(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[3.0, 4.0], [-2.0, 0.0]]))
    tensor([ 0.6000, -1.0000], dtype=torch.float64)
    """
    return (F.normalize(left.double()) * F.normalize(right.double())).sum(1).clamp(-1, 1)


def check_widths(width: int, layers: Sequence[Dense]) -> None:
    for layer in layers:
        shapes = [list(each.shape) for each in (layer.weight, layer.bias) if each is not None]
        if shapes[0][1:] != [width] or shapes[1:] not in ([], [shapes[0][:1]]):
            found = " and ".join(map(str, shapes))
            raise ModelError(
                f"{layer.folder}: a layer of {width} inputs cannot be of shape {found}", fix="fetch the model again"
            )
        width = len(layer.weight)


_encoders: LoadedModels[SentenceEncoder] = LoadedModels()


def shared_sentence_encoder(model: ResolvedModel, options: EngineOptions = EngineOptions()) -> SentenceEncoder:
    """The process's only encoder for this model and these options; CTX_METRICS_DEBUG=1 tells why the library runs it."""
    return _encoders.get((model.folder.resolve(), options), lambda: _load(model, options))


def _load(model: ResolvedModel, options: EngineOptions) -> SentenceEncoder:
    try:
        return PackedSentenceEncoder(model.folder, packed_layout(model.folder), options)
    except NotPacked as reason:
        logger.debug("%s: embedded by the sentence_transformers library: %s", model.name, reason)
        return LibrarySentenceEncoder(model.folder, options)
