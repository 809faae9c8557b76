"""COMET checkpoints on disk: unbabel-comet's own (.ckpt with hparams.yaml), xCOMET-lite's, and ours (safetensors with
config.json), to which they are converted."""

import hashlib
import json
import os
import re
import shutil
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_type_hints

import torch
import yaml
from safetensors.torch import save_file
from tokenizers import Tokenizer

from ...engine.checkpoint import (
    SIDE_FILES,
    EncoderTensors,
    SafeTensors,
    check_size,
    checked_config,
    checked_tensor,
    load_file,
    read_config,
    tensor_shapes,
)
from ...engine.tokenizer import TextTokenizer
from ...errors import ModelError
from ...opening import file_hashes, file_sha256, identity, opening, read_json, same_hashes, shown
from ...writing import check_new_folder, replacing
from ..folder import model_type
from ..hub import COMET, EMBEDDED, MULTILINGUAL, TOKENIZER, ResolvedModel, cached, has_tokenizer, hub_folder
from .lite import ENCODER_MODEL, MODEL_TYPE, lite_hyperparameters, lite_weights

POLYCAND = "polycand_metric"  # of COMET-poly's package; the others are unbabel-comet's
CLASSES = (
    "regression_metric",
    "referenceless_regression_metric",
    "ranking_metric",
    POLYCAND,
    "unified_metric",
    "xcomet_metric",
)
# The encoders that unbabel-comet knows, with the number of separator tokens between two texts of a sequence.
# DeBERTa is xCOMET-lite's addition.
SEPARATORS = {"XLM-RoBERTa": 2, "XLM-RoBERTa-XL": 2, "MiniLM": 2, "BERT": 1, "RemBERT": 1, ENCODER_MODEL: 1}
INPUTS = ("mt+src", "mt+ref", "mt+src+ref")  # the combinations of texts that a unified model can read
HPARAMS_FILE = "hparams.yaml"
HPARAMS_LIMIT = 2**18  # bytes; that of a released model takes two thousand


@dataclass(frozen=True)
class Hyperparameters:
    """The hyper-parameters of a COMET model that its scores depend on, under unbabel-comet's names.

    layer                   "mix", or the number of the one layer that is pooled
    layer_transformation    "softmax" or "sparsemax": turns the mix's parameters into weights
    input_segments          the texts that a unified model reads, or a PolyCandMetric: mt, src, mt2 and so on, ref
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

    @property
    def has_head(self) -> bool:
        """Whether a network turns the vectors of texts into the score; RankingMetric compares them directly."""
        return self.class_identifier != "ranking_metric"


_POLYCAND_INPUTS = re.compile(r"mt src( mt([2-9]|1[0-9]))*( ref)?")
_LISTS = ("input_segments", "error_labels")
_KINDS = {name: kind for name, kind in get_type_hints(Hyperparameters).items() if name not in _LISTS}


class _PlainLoader(yaml.SafeLoader):
    """Plain YAML without merge keys, a few of which can expand to any amount of data."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.constructor.ConstructorError(None, None, "it holds a merge key (<<)", node.start_mark)


def lightning_hyperparameters(loaded: Mapping, file: Path, root: Path) -> Hyperparameters:
    """The hyper-parameters that unbabel-comet would use: the class is in hparams.yaml, the rest in the .ckpt."""
    given = loaded.get("hyper_parameters")
    if not isinstance(given, dict) or not isinstance(loaded.get("state_dict"), dict):
        raise ModelError(
            f"{file} is not a COMET checkpoint: hyper_parameters or state_dict is missing", fix="name another file"
        )
    described = _read_hparams(root / HPARAMS_FILE)
    identifier = described["class_identifier"]
    if identifier == "polyic_metric":
        raise ModelError(
            f"{root / HPARAMS_FILE}: a polyic_metric scores with examples of translations that people scored, which are "
            "retrieved for each source",
            fix="name a polycand_metric, such as zouharvi/COMET-poly-cand1-wmt25",
        )
    if not isinstance(identifier, str) or identifier not in CLASSES:
        raise ModelError(
            f"{root / HPARAMS_FILE}: class_identifier {shown(identifier)} is not one of {', '.join(CLASSES)}"
        )
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
        "input_segments": _input_segments(identifier, given, file),
        "word_level": xcomet or (unified and bool(given.get("word_level_training", False))),
        "word_layer": given.get("word_layer", 36 if xcomet else 24),
        "error_labels": given.get("error_labels", ("minor", "major", "critical") if xcomet else ("minor", "major")),
    }
    return checked_hyperparameters(completed, file)


def _input_segments(identifier: str, given: dict, file: Path) -> Any:
    if identifier != POLYCAND:
        three = ("mt", "src", "ref")
        return three if identifier == "xcomet_metric" else given.get("input_segments", three)
    translations, scores = (_flags(given, f"additional_{of}_in", file) for of in ("translation", "score"))
    if any(scores):
        raise ModelError(
            f"{file}: the model reads people's scores of the candidates (additional_score_in), which a run does not have",
            fix="name one that reads none, such as zouharvi/COMET-poly-cand1-wmt25",
        )
    candidates = [f"mt{number}" for number, is_read in enumerate(translations, 2) if is_read]
    return ["mt", "src", *candidates, *(["ref"] if given.get("use_ref", False) else [])]


def _flags(given: dict, name: str, file: Path) -> list[bool]:
    flags = given.get(name, [])
    if not isinstance(flags, (list, tuple)) or not all(isinstance(each, bool) for each in flags):
        raise ModelError(f"{file}: {name} is {shown(flags)}, which no COMET model has", fix="fetch it again")
    return [*flags]


def _read_hparams(path: Path) -> dict:
    if not path.exists():
        raise ModelError(
            f"{path} is missing", fix="a COMET checkpoint has it two levels above its .ckpt: copy it there"
        )
    with opening(path):
        with open(path, "rb") as file:
            data = file.read(HPARAMS_LIMIT + 1)
        if len(data) > HPARAMS_LIMIT:
            raise ValueError(f"it is larger than {HPARAMS_LIMIT // 1024} KiB")
        described = yaml.load(data.decode("utf-8"), _PlainLoader)
    if not isinstance(described, dict) or "class_identifier" not in described:
        raise ModelError(f"{path} names no class_identifier", fix="copy or fetch it again")
    return described


def checked_hyperparameters(given: Mapping[str, Any], file: Path) -> Hyperparameters:
    if (
        not isinstance(given, Mapping)
        or set(given) != {*_KINDS, *_LISTS}
        or not all(
            isinstance(given[name], (list, tuple)) and all(isinstance(each, str) for each in given[name])
            for name in _LISTS
        )
    ):
        raise ModelError(
            f"{file}: its hyper-parameters are not those of a COMET model", fix="fetch or convert it again"
        )
    for name, kinds in _KINDS.items():
        if not isinstance(given[name], kinds) or (isinstance(given[name], bool) and kinds is not bool):
            raise ModelError(f"{file}: {name} is {shown(given[name])}, which no COMET model has", fix="fetch it again")
    parameters = Hyperparameters(**{**given, **{name: tuple(given[name]) for name in _LISTS}})
    if parameters.encoder_model not in SEPARATORS:
        raise ModelError(f"{file}: encoder_model {parameters.encoder_model!r} is not one of {', '.join(SEPARATORS)}")
    if parameters.pool not in ("avg", "max", "cls", "default"):
        raise ModelError(f"{file}: pool {parameters.pool!r} is not one of avg, max, cls, default")
    if parameters.pool == "default" and parameters.encoder_model == "BERT":
        raise ModelError(f"{file}: pool 'default' takes BERT's pooler, which COMET checkpoints do not hold")
    for name in filter(None, (parameters.activations, parameters.final_activation)):
        with opening(file, f": torch.nn has no activation {shown(name)}; fetch it again"):
            if activation(name)(torch.zeros(2)).shape != (2,):
                raise ValueError("it changes the shape")
    if parameters.class_identifier == POLYCAND and not _POLYCAND_INPUTS.fullmatch(" ".join(parameters.input_segments)):
        raise ModelError(f"{file}: input_segments {list(parameters.input_segments)} are not those of a {POLYCAND}")
    if parameters.unified and not {"mt"} < set(parameters.input_segments) <= {"mt", "src", "ref"}:
        raise ModelError(f"{file}: input_segments {list(parameters.input_segments)} are not mt with src, ref or both")
    return parameters


def activation(name: str) -> torch.nn.Module:
    """The activation of a name, found as in unbabel-comet: "tanh" is torch.nn.Tanh."""
    return getattr(torch.nn, name.title())().eval()


CONFIG_KIND, ADAPTED_KIND = "ctx-comet", "ctx-unified"
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"
ENCODER_KINDS = {
    "XLM-RoBERTa": "xlm-roberta",
    "XLM-RoBERTa-XL": "xlm-roberta-xl",
    "MiniLM": "bert",
    "BERT": "bert",
    "RemBERT": "rembert",
    ENCODER_MODEL: MODEL_TYPE,
}
_ENCODER = "encoder.model."
_CACHE = re.compile(r"models--(?P<repo>.+)$")
_HUB_PAGE = re.compile(r"https?://huggingface\.co/(?P<repo>[^/]+/[^/]+)")
# names without their owner, and who published such models on the hub; the first pattern that matches is used
_OWNERS = {
    re.compile(pattern, re.IGNORECASE): owner
    for pattern, owner in {
        "xcomet-lite": "myyycroft",
        "comet-poly": "zouharvi",
        "africomet": "masakhane",
        r"wmt\d\d|xcomet|unite": "Unbabel",
    }.items()
}
_SNAPSHOT = re.compile(r"models--(?P<repo>.+)/snapshots/(?P<revision>[0-9a-f]{40})$")
HEAD_LAYER = re.compile(r"estimator\.ff\.([0-9]{1,4})\.(weight|bias)")  # up to four digits: a file may contain anything
# tensors that no score depends on: counters, masks and weights for training, a head that COMET does not use
_IDLE = re.compile(
    rf"{re.escape(_ENCODER)}(embeddings\.(position_ids|token_type_ids)|pooler\..*)"
    r"|layerwise_attention\.dropout_(mask|fill)|(wordloss|sentloss|loss)\..*"
)


class CometCheckpoint:
    """A COMET model's hyper-parameters, encoder configuration, tokenizer folder and tensors; all checked on creation."""

    languages = None  # not known: the checkpoint does not say

    def __init__(self, model: ResolvedModel, file: Path, root: Path):
        self.model, self.file, self.root = model, file, root
        self._hashing = _Hashing(file)
        loaded = load_file(file)
        self._converted: dict | None = None
        lite = file == lite_weights(root)
        if file.name == WEIGHTS_FILE and not lite:
            self._converted = described = read_comet_config(root)
            self.hyperparameters = checked_hyperparameters(described["hyperparameters"], root / CONFIG_FILE)
            with opening(root / CONFIG_FILE, "describes no encoder; convert the checkpoint again"):
                encoder = dict(described["encoder"])
            self.config, self.folder = checked_config(encoder, root), root
            tensors = loaded
        else:
            if lite:
                _check_head(loaded, file)
                self.hyperparameters = checked_hyperparameters(lite_hyperparameters(root), root / CONFIG_FILE)
            else:
                self.hyperparameters = lightning_hyperparameters(loaded, file, root)
            self.folder = _encoder_folder(root, self.hyperparameters)
            self.config = read_config(self.folder)
            if self.hyperparameters.encoder_model == "MiniLM" and not (self.folder / "tokenizer.json").exists():
                self.folder = hub_folder("xlm-roberta-base", TOKENIZER)[1]  # whose tokenizer MiniLM shares
            tensors = loaded if lite else loaded["state_dict"]
        self._side_hashes = self._hash_side_files()
        self._own_side_hashes = side_hashes(self.root, self.folder)
        self._tensors: Mapping[str, torch.Tensor] | None = tensors
        _check_config(self.hyperparameters, self.config, self.folder)
        check_size(self.config, self.folder, [file])
        _check_tensors(tensors, self.hyperparameters, self.config, file)
        head = [name for name in tensors if not name.startswith("encoder.") and not _IDLE.fullmatch(name)]
        self.head = {name: checked_tensor(tensors[name], name, path=file).float() for name in head}

    def resolved(self) -> ResolvedModel:
        """The model with its identity; a converted model keeps that of the checkpoint it was made from."""
        hashes = {"weights": self._hashing.result(), **self._own_side_hashes}
        ckpt = comet_identity(hashes, asdict(self.hyperparameters), self.config)
        if self._converted:
            if ckpt != self._converted["files"]:
                raise ModelError(f"{self.root} has changed since it was converted", fix="convert the checkpoint again")
            ckpt = self._converted["ckpt"]
        return ResolvedModel(self.model.name, self.model.folder, self.model.revision, ckpt)

    def is_current(self) -> bool:
        """Whether the files still have the hashes that they had when this was made; ignores weights still being hashed."""
        if not same_hashes(self._side_hashes, self._hash_side_files):
            return False
        return not self._hashing.done() or same_hashes(
            {str(self.file): self._hashing.result()}, lambda: file_hashes([self.file])
        )

    def _hash_side_files(self) -> dict[str, str]:
        places = dict.fromkeys((self.root, self.root / "encoder", self.folder))
        return file_hashes([self.root / HPARAMS_FILE, *(place / name for place in places for name in SIDE_FILES)])

    def weights(self) -> EncoderTensors:
        """The encoder's tensors by their bare names, mapped from the file, which is opened again after release()."""
        tensors = self.tensors()
        places = {
            name.removeprefix(_ENCODER): (tensors, name, self.file) for name in tensors if name.startswith(_ENCODER)
        }
        return EncoderTensors(places, self.config)

    def tensors(self) -> Mapping[str, torch.Tensor]:
        if self.file.name == WEIGHTS_FILE:
            return SafeTensors(self.file)
        if self._tensors is not None:
            return self._tensors
        loaded = load_file(self.file)
        return loaded["state_dict"] if self.file.suffix == ".ckpt" else loaded

    def release(self) -> None:
        self._tensors = None


def side_hashes(root: Path, encoder: Path) -> dict[str, str]:
    """The sha256 of hparams.yaml and of the tokenizer's files, by file name."""
    own = [root / HPARAMS_FILE, *(encoder / name for name in SIDE_FILES if name != CONFIG_FILE)]
    return {Path(path).name: sha256 for path, sha256 in file_hashes(own).items()}


def comet_identity(hashes: Mapping[str, str], hyperparameters: Mapping[str, Any], encoder: Mapping[str, Any]) -> str:
    """The identity of a checkpoint: 12 hex digits.

    hashes    sha256 of the weights, as "weights", and those of side_hashes
    """
    described = json.dumps([hyperparameters, encoder], sort_keys=True)
    return identity({**hashes, CONFIG_FILE: hashlib.sha256(described.encode()).hexdigest()}, Path())


class _Hashing:
    """The sha256 of a file, computed while loading goes on, by a thread that the process does not wait for when it ends.

    No thread survives a fork, so a forked process starts any unfinished hash again.
    """

    def __init__(self, file: Path):
        self._file = file
        self._start()

    def _start(self) -> None:
        self._process, self._future = os.getpid(), Future[str]()
        threading.Thread(target=self._hash, args=(self._future,), daemon=True).start()

    def _hash(self, future: "Future[str]") -> None:
        try:
            future.set_result(file_sha256(self._file))
        except Exception as error:
            future.set_exception(error)

    def done(self) -> bool:
        return self._future.done()

    def result(self) -> str:
        if not self.done() and self._process != os.getpid():
            self._start()
        return self._future.result()


def open_comet(name: str) -> CometCheckpoint:
    """Open the checkpoint in a folder, a .ckpt file, or OWNER/NAME[@REVISION] on the hub."""
    path = Path(os.path.expanduser(name))
    if path.suffix == ".ckpt" or path.exists():
        root, file = _local_files(path)
        model = _local_model(root)
    elif match := _HUB_PAGE.match(name):
        raise ModelError(f"{name} is a page of the hub", fix=f"name the model itself: {match['repo']}")
    elif "/" not in name:
        perhaps = next((f" (perhaps {owner}/{name})" for pattern, owner in _OWNERS.items() if pattern.match(name)), "")
        raise ModelError(
            f"no model folder {name!r}", fix=f"name embedded, a folder, a .ckpt file, or OWNER/NAME of the hub{perhaps}"
        )
    else:
        repo, root = hub_folder(name, COMET)
        if not is_comet(root):
            raise ModelError(
                f"{repo} is not a COMET checkpoint: its config.json does not have model_type {CONFIG_KIND!r}"
            )
        ours = root / WEIGHTS_FILE
        file = lite_weights(root) or (ours if ours.exists() else root / "checkpoints" / "model.ckpt")
        model = ResolvedModel(repo, root, root.name[:12], "")
    return CometCheckpoint(model, file, root)


def place_of(name: str) -> str:
    """Where a checkpoint is: the real path of a local checkpoint's weights, else its name."""
    path = Path(os.path.expanduser(name))
    return str(_local_files(path)[1].resolve()) if path.suffix == ".ckpt" or path.exists() else name


def is_comet(folder: Path) -> bool:
    """Whether a folder looks like a COMET checkpoint: unbabel-comet's (or its `checkpoints`), xCOMET-lite's or ours."""
    unbabel = any(path for name in ("hparams.yaml", "checkpoints/*.ckpt", "*.ckpt") for path in folder.glob(name))
    return unbabel or model_type(folder) in (CONFIG_KIND, ADAPTED_KIND) or lite_weights(folder) is not None


def _local_files(path: Path) -> tuple[Path, Path]:
    """The root folder and the weight file of a local checkpoint; raises ModelError if there is none."""
    if path.suffix == ".ckpt":
        if not path.is_file():
            raise ModelError(f"no checkpoint file {path}", fix="check the path")
        # not resolve(): in the hub's cache the file is a link that leads out of its root folder
        return Path(os.path.abspath(path)).parents[1], path
    if path.is_file():
        raise ModelError(
            f"{path} is a file", fix="name the checkpoint's folder, which holds hparams.yaml, or its .ckpt file"
        )
    if path.name == "checkpoints" and (path.parent / "hparams.yaml").exists():
        path = path.parent
    if (path / "hparams.yaml").exists() or (path / "checkpoints").exists():
        files = sorted((path / "checkpoints").glob("*.ckpt"))
        if len(files) != 1:
            names = ", ".join(file.name for file in files) or "none"
            raise ModelError(
                f"{path / 'checkpoints'} must hold one .ckpt file (found: {names})", fix="name the file itself"
            )
        return path, files[0]
    if not is_comet(path):
        raise ModelError(no_model(path))
    if lite := lite_weights(path):
        return path, lite
    if not (path / WEIGHTS_FILE).exists():
        raise ModelError(
            f"{path} holds no {WEIGHTS_FILE}", fix="convert the checkpoint again with: ctx-metrics convert"
        )
    return path, path / WEIGHTS_FILE


def no_model(folder: Path) -> str:
    if match := _CACHE.match(folder.name):
        repo = match["repo"].replace("--", "/", 1)
        return f"{folder} is a folder of the hub's cache; name the model itself: {repo}"
    return (
        f"{folder} holds neither a COMET checkpoint (hparams.yaml and checkpoints/*.ckpt) nor a trained "
        "regressor (config.json)"
    )


def _local_model(root: Path) -> ResolvedModel:
    """A local folder's model, with name and revision; a snapshot in the hub's cache gets its repository's name."""
    match = _SNAPSHOT.search(Path(os.path.abspath(root)).as_posix())
    if match:
        return ResolvedModel(match["repo"].replace("--", "/"), root, match["revision"][:12], "")
    return ResolvedModel(root.resolve().name, root, None, "")


def read_comet_config(root: Path) -> dict:
    path = root / CONFIG_FILE
    with opening(path, "is not as ctx-metrics convert writes it ({why}); convert the checkpoint again"):
        config = read_json(path)
        if config["model_type"] != CONFIG_KIND or not all(isinstance(config[key], str) for key in ("ckpt", "files")):
            raise ValueError("another kind")
        return {key: config[key] for key in ("hyperparameters", "encoder", "ckpt", "files")}


def write_comet_config(checkpoint: CometCheckpoint, ckpt: str, hashes: Mapping[str, str]) -> str:
    """The text of a converted checkpoint's config.json; `ckpt` is the identity of the original checkpoint."""
    hyperparameters = asdict(checkpoint.hyperparameters)
    config = {
        "model_type": CONFIG_KIND,
        "name": checkpoint.model.name,
        "hyperparameters": hyperparameters,
        "encoder": checkpoint.config,
        "ckpt": ckpt,
        "files": comet_identity(hashes, hyperparameters, checkpoint.config),
    }
    return json.dumps(config, indent=1, ensure_ascii=False) + "\n"


def encoder_lacking(root: Path) -> str | None:
    """The encoder whose tokenizer a complete checkpoint needs, if neither it nor the hub's cache holds it."""
    if model_type(root) == CONFIG_KIND or has_tokenizer(root) or (root / "encoder" / "config.json").exists():
        return None
    lite = lite_weights(root)
    named = lite_hyperparameters(root) if lite else _read_hparams(root / HPARAMS_FILE)
    name = named.get("pretrained_model")
    if not isinstance(name, str) or Path(os.path.expanduser(name)).is_dir():
        return None
    if named.get("encoder_model") == "MiniLM" and cached(name, TOKENIZER):
        name = "xlm-roberta-base"
    return None if cached(name, TOKENIZER) else name


def _encoder_folder(root: Path, hyperparameters: Hyperparameters) -> Path:
    """The folder of the encoder's config.json and tokenizer: `encoder` in the checkpoint, a local folder, or the hub's.

    An xCOMET-lite folder may hold them itself.
    """
    if model_type(root) == MODEL_TYPE and has_tokenizer(root):
        return root
    for folder in (root / "encoder", Path(os.path.expanduser(hyperparameters.pretrained_model))):
        if hyperparameters.pretrained_model and (folder / "config.json").exists():
            return folder
    name = hyperparameters.pretrained_model
    try:
        return hub_folder(name, TOKENIZER)[1]
    except ModelError as error:
        raise ModelError(
            f"{root} needs the configuration and tokenizer of its encoder {name!r}: {error}; "
            f"or put them into {root / 'encoder'}"
        ) from error


def _check_config(hyperparameters: Hyperparameters, config: dict, folder: Path) -> None:
    wanted = ENCODER_KINDS[hyperparameters.encoder_model]
    if config["model_type"] not in ({wanted, "roberta"} if wanted == "xlm-roberta" else {wanted}):
        raise ModelError(
            f"{folder}: config.json is of kind {config['model_type']!r}, "
            f"but the checkpoint's encoder is {hyperparameters.encoder_model}"
        )
    layers = config["num_hidden_layers"]
    for key in ("layer", "word_layer") if hyperparameters.word_level else ("layer",):
        number = getattr(hyperparameters, key)
        mixed = key == "layer" and number == "mix"
        if not mixed and not (isinstance(number, int) and 0 <= number <= layers):
            raise ModelError(
                f"{folder}: the encoder has layers 0 to {layers}, but the checkpoint reads {key} {shown(number)}"
            )
    if (positions := config["max_position_embeddings"]) < 7:  # COMET leaves six of them free
        raise ModelError(
            f"{folder}: config.json gives max_position_embeddings {positions}, which leaves no room for a word",
            fix="fetch it again",
        )


def _check_head(tensors: Mapping, file: Path) -> None:
    if not any(HEAD_LAYER.fullmatch(str(name)) for name in tensors):
        raise ModelError(
            f"{file} holds a text encoder, or no whole COMET model (estimator.ff.0.weight is missing)",
            fix="name a COMET model, or fetch it again",
        )


def _check_tensors(tensors: Mapping, hyperparameters: Hyperparameters, config: dict, file: Path) -> None:
    shapes = {_ENCODER + name: shape for name, shape in tensor_shapes(config).items()}
    if hyperparameters.layer == "mix":
        shapes.update(
            {f"layerwise_attention.scalar_parameters.{k}": (1,) for k in range(config["num_hidden_layers"] + 1)}
        )
        shapes["layerwise_attention.gamma"] = (1,)
    if hyperparameters.word_level:
        labels = len(hyperparameters.error_labels) + 1
        shapes.update({"hidden2tag.weight": (labels, config["hidden_size"]), "hidden2tag.bias": (labels,)})
    # for a safetensors file they are known without reading tensors
    given = getattr(tensors, "shapes", None) or {
        name: tuple(getattr(tensor, "shape", ())) for name, tensor in tensors.items()
    }
    # the sizes of the head's layers come from its tensors; building the head checks that they fit one another
    head = [name for name in given if hyperparameters.has_head and HEAD_LAYER.fullmatch(str(name))]
    needed = ["estimator.ff.0.weight"] if hyperparameters.has_head and not head else []
    idle = [name for name in given if _IDLE.fullmatch(str(name))]
    faults = {
        "missing": [name for name in [*shapes, *needed] if name not in given],
        "not expected": [
            str(name)[:80] for name in given if name not in shapes and name not in head and name not in idle
        ],
        "of another shape": [
            f"{name} {list(given[name])}, not {list(shape)}"
            for name, shape in shapes.items()
            if name in given and given[name] != shape
        ],
    }
    problems = [
        f"{what}: {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
        for what, names in faults.items()
        if names
    ]
    if problems:
        raise ModelError(f"{file} does not fit its hyper-parameters; {'; '.join(problems)}; fetch it again")


def convert(source: str, target: Path) -> None:
    """Write the COMET checkpoint `source` (folder, .ckpt file or hub name) into the new folder `target`.

    The folder holds model.safetensors (every tensor, bit for bit), config.json (hyper-parameters, the encoder's
    configuration, hashes of the old and the new files) and tokenizer.json, and needs nothing else. The signature keeps the
    hash of the old files. Raises InputError if `target` exists and is not empty, and ModelError as loading does.
    """
    target = Path(target)
    if source in (EMBEDDED, MULTILINGUAL):
        raise ModelError(f"the {source} model is included in the package and needs no conversion")
    check_new_folder(target)
    checkpoint = open_comet(source)
    tokenizer: Tokenizer = TextTokenizer(checkpoint.folder).backend
    ckpt = checkpoint.resolved().ckpt
    with replacing(str(target)) as beside:
        work = Path(beside)
        work.mkdir()
        tokenizer.save(str(work / "tokenizer.json"))
        side = checkpoint.folder / "tokenizer_config.json"
        if side.exists():
            shutil.copyfile(side, work / side.name)
        tensors, held = {}, set()
        for name, tensor in checkpoint.tensors().items():
            memory = tensor.untyped_storage().data_ptr()  # tied weights share memory, which safetensors refuses
            tensors[name] = (
                tensor.clone(memory_format=torch.contiguous_format) if memory in held else tensor.contiguous()
            )
            held.add(memory)
        save_file(tensors, work / WEIGHTS_FILE)
        hashes = {"weights": file_sha256(work / WEIGHTS_FILE), **side_hashes(work, work)}
        config = write_comet_config(checkpoint, ckpt, hashes)
        (work / CONFIG_FILE).write_text(config, encoding="utf-8", errors="backslashreplace")
