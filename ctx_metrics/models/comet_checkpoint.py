"""COMET checkpoints on disk: unbabel-comet's own (.ckpt with hparams.yaml) and ours (safetensors with config.json)."""

import json
import os
import re
import threading
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Optional, Union

import torch
import yaml

from ..engine.checkpoint import checked_config, load_file, read_config, tensor_shapes
from ..errors import ModelError
from .hub import COMET, TOKENIZER, ResolvedModel, file_sha256, hub_folder

CLASSES = ("regression_metric", "referenceless_regression_metric", "unified_metric", "xcomet_metric")
CONFIG_KIND = "ctx-comet"
CONFIG_FILE, WEIGHTS_FILE = "config.json", "model.safetensors"
# What the separator between two texts of one sequence is made of; the encoders that unbabel-comet knows.
SEPARATORS = {"XLM-RoBERTa": 2, "XLM-RoBERTa-XL": 2, "MiniLM": 2, "BERT": 1, "RemBERT": 1}
_KINDS = {
    "XLM-RoBERTa": "xlm-roberta",
    "XLM-RoBERTa-XL": "xlm-roberta-xl",
    "MiniLM": "bert",
    "BERT": "bert",
    "RemBERT": "rembert",
}
_ENCODER = "encoder.model."
_CACHE = re.compile(r"models--(?P<repo>.+)$")
_HUB_PAGE = re.compile(r"https?://huggingface\.co/(?P<repo>[^/]+/[^/]+)")
_UNBABEL = re.compile(r"(wmt\d\d|xcomet|unite|eamt)", re.IGNORECASE)
_SNAPSHOT = re.compile(r"models--(?P<repo>.+)/snapshots/(?P<revision>[0-9a-f]{40})$")
# tensors that no score depends on: counters, training's masks and weights, a head that COMET does not use
_IDLE = re.compile(
    rf"{re.escape(_ENCODER)}(embeddings\.(position_ids|token_type_ids)|pooler\..*)"
    r"|layerwise_attention\.dropout_(mask|fill)|(wordloss|sentloss|loss)\..*"
)


@dataclass(frozen=True)
class Hyperparameters:
    """The hyper-parameters of a COMET model that its scores depend on, under unbabel-comet's names.

    layer                   "mix", or the number of the one layer that is pooled
    layer_transformation    "softmax" or "sparsemax": what makes the mix's weights of its parameters
    word_layer              layer whose states tell each token's error label
    """

    class_identifier: str
    encoder_model: str
    pretrained_model: str
    pool: str
    layer: Union[str, int]
    layer_transformation: str
    layer_norm: bool
    activations: str
    final_activation: Optional[str]
    input_segments: tuple[str, ...]
    word_level: bool
    word_layer: int
    error_labels: tuple[str, ...]

    @property
    def unified(self) -> bool:
        """Whether the texts are read in one sequence (UnifiedMetric, XCOMETMetric)."""
        return self.class_identifier in ("unified_metric", "xcomet_metric")


class CometCheckpoint:
    """A COMET model's hyper-parameters, encoder configuration, tokenizer folder and tensors; all checked when made.

    Of engine.encoder.TextEncoder's view it has folder (of the tokenizer), config and weights().
    Raises ModelError, one line, for whatever is missing, broken, unsafe or does not fit.
    """

    def __init__(self, model: ResolvedModel, file: Path, root: Path):
        self.model, self.file = model, file
        self._hashing = _Hashing(file)
        if file.name == WEIGHTS_FILE:
            described = read_comet_config(root)
            self.hyperparameters = _hyperparameters(described["hyperparameters"], root / CONFIG_FILE)
            self.config, self.folder = checked_config(dict(described["encoder"]), root), root
            self._tensors: Optional[dict[str, torch.Tensor]] = load_file(file)
            self._converted: Optional[dict] = described
        else:
            loaded = load_file(file)
            self.hyperparameters = _hyperparameters(_lightning_hyperparameters(loaded, file, root), file)
            self.folder = _encoder_folder(root, self.hyperparameters)
            self.config = read_config(self.folder)
            if self.hyperparameters.encoder_model == "MiniLM" and not (self.folder / "tokenizer.json").exists():
                self.folder = hub_folder("xlm-roberta-base", TOKENIZER)[1]  # whose tokenizer MiniLM shares
            self._tensors = loaded["state_dict"]
            self._converted = None
        _check_config(self.hyperparameters, self.config, self.folder)
        _check_tensors(self._tensors, self.hyperparameters, self.config, file)
        self.head = {name: tensor.float() for name, tensor in self._tensors.items() if not name.startswith("encoder.")}

    def resolved(self) -> ResolvedModel:
        """The model with its hash, for the signature: of the file as unbabel-comet knows it, also when converted."""
        found = self._hashing.result()[:12]
        if self._converted:
            if found != self._converted["weights"]:
                raise ModelError(f"{self.file} is not the file that was converted: its hash is {found}; convert again")
            found = self._converted["ckpt"]
        return ResolvedModel(self.model.name, self.model.folder, self.model.revision, found)

    def weights(self) -> dict[str, torch.Tensor]:
        """The encoder's tensors by their bare names, mapped from the file; read again after release()."""
        tensors = self._tensors
        if tensors is None:
            loaded = load_file(self.file)
            tensors = loaded if self.file.name == WEIGHTS_FILE else loaded["state_dict"]
        return {name.removeprefix(_ENCODER): tensor for name, tensor in tensors.items() if name.startswith(_ENCODER)}

    def release(self) -> None:
        """Let go of the mapped file once the network holds what it needs."""
        self._tensors = None

    def all_tensors(self) -> dict[str, torch.Tensor]:
        """Every tensor of the checkpoint, as it is there."""
        return dict(self._tensors)


class _Hashing:
    """A file's sha256, computed beside the loading."""

    def __init__(self, file: Path):
        self._file, self._result = file, None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result = file_sha256(self._file)
        except ModelError as error:
            self._result = error

    def result(self) -> str:
        self._thread.join()
        if isinstance(self._result, ModelError):
            raise self._result
        return self._result


def open_comet(name: str) -> CometCheckpoint:
    """The checkpoint of a folder, a .ckpt file, or OWNER/NAME[@REVISION] of the hub."""
    path = Path(name).expanduser()
    if path.suffix == ".ckpt" or path.exists():
        root, file = _local_files(path)
        model = _local_model(root)
    elif match := _HUB_PAGE.match(name):
        raise ModelError(f"{name} is a page of the hub; name the model itself: {match['repo']}")
    elif "/" not in name:
        perhaps = f" (perhaps Unbabel/{name})" if _UNBABEL.match(name) else ""
        raise ModelError(
            f"no model folder {name!r}; name embedded, a folder, a .ckpt file, or OWNER/NAME of the hub{perhaps}"
        )
    else:
        repo, root = hub_folder(name, COMET)
        if not is_comet(root):
            raise ModelError(f"{repo} is no COMET checkpoint: its config.json does not say model_type {CONFIG_KIND!r}")
        file = root / WEIGHTS_FILE if (root / WEIGHTS_FILE).exists() else root / "checkpoints" / "model.ckpt"
        model = ResolvedModel(repo, root, root.name[:12], "")
    return CometCheckpoint(model, file, root)


def identity(name: str) -> tuple:
    """What tells one checkpoint from another: its name, and for local files their path and time of change."""
    path = Path(name).expanduser()
    if path.suffix != ".ckpt" and not path.exists():
        return (name,)
    file = _local_files(path)[1]
    return (str(file.resolve()), file.stat().st_mtime_ns)


def is_comet(folder: Path) -> bool:
    """Whether a folder looks like a COMET checkpoint, unbabel-comet's (or its folder `checkpoints`) or ours."""
    if (
        (folder / "hparams.yaml").exists()
        or list((folder / "checkpoints").glob("*.ckpt"))
        or list(folder.glob("*.ckpt"))
    ):
        return True
    try:
        return json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")).get("model_type") == CONFIG_KIND
    except (OSError, ValueError, AttributeError):
        return False


def _local_files(path: Path) -> tuple[Path, Path]:
    """Root folder and weight file of a local checkpoint."""
    if path.suffix == ".ckpt":
        if not path.is_file():
            raise ModelError(f"no checkpoint file {path}; check the path")
        # not resolve(): in the hub's cache the file is a link to where its root is not
        return Path(os.path.abspath(path)).parents[1], path
    if path.is_file():
        raise ModelError(f"{path} is a file; name the checkpoint's folder, which holds hparams.yaml, or its .ckpt file")
    if path.name == "checkpoints" and (path.parent / "hparams.yaml").exists():
        path = path.parent
    if (path / "hparams.yaml").exists() or (path / "checkpoints").exists():
        found = sorted((path / "checkpoints").glob("*.ckpt"))
        if len(found) != 1:
            names = ", ".join(file.name for file in found) or "none"
            raise ModelError(f"{path / 'checkpoints'} must hold one .ckpt file (found: {names}); name the file itself")
        return path, found[0]
    if not is_comet(path):
        raise ModelError(no_model(path))
    if not (path / WEIGHTS_FILE).exists():
        raise ModelError(f"{path} holds no {WEIGHTS_FILE}; convert the checkpoint again with: ctx-metrics convert")
    return path, path / WEIGHTS_FILE


def no_model(folder: Path) -> str:
    """What to say of a folder in which no quality model is found."""
    if match := _CACHE.match(folder.name):
        repo = match["repo"].replace("--", "/", 1)
        return f"{folder} is a folder of the hub's cache; name the model itself: {repo}"
    return f"{folder} holds no COMET checkpoint (hparams.yaml and checkpoints/*.ckpt) and no trained regressor (config.json)"


def _local_model(root: Path) -> ResolvedModel:
    """Name and revision of a local folder; a snapshot in the hub's cache is known by its repository's name."""
    match = _SNAPSHOT.search(Path(os.path.abspath(root)).as_posix())
    if match:
        return ResolvedModel(match["repo"].replace("--", "/"), root, match["revision"][:12], "")
    return ResolvedModel(root.resolve().name, root, None, "")


def read_comet_config(root: Path) -> dict:
    """config.json of a converted checkpoint; raises ModelError when it is not what `ctx-metrics convert` writes."""
    path = root / CONFIG_FILE
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        if config["model_type"] != CONFIG_KIND:
            raise ValueError("another kind")
        return {key: config[key] for key in ("hyperparameters", "encoder", "ckpt", "weights")}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(
            f"{path} is not what ctx-metrics convert writes ({type(error).__name__}: {error}); convert the checkpoint again"
        ) from error


def write_comet_config(checkpoint: CometCheckpoint, ckpt: str, weights: str) -> str:
    """The text of a converted checkpoint's config.json; `ckpt` and `weights` are 12 digits of both files' sha256."""
    config = {
        "model_type": CONFIG_KIND,
        "name": checkpoint.model.name,
        "hyperparameters": asdict(checkpoint.hyperparameters),
        "encoder": checkpoint.config,
        "ckpt": ckpt,
        "weights": weights,
    }
    return json.dumps(config, indent=1, ensure_ascii=False) + "\n"


def _lightning_hyperparameters(loaded: dict, file: Path, root: Path) -> dict[str, Any]:
    """What unbabel-comet would build the model with: hparams.yaml tells the class, the .ckpt all else."""
    given = loaded.get("hyper_parameters")
    state = loaded.get("state_dict")
    if not isinstance(given, dict) or not isinstance(state, dict):
        raise ModelError(f"{file} is no COMET checkpoint: it lacks hyper_parameters or state_dict; name another file")
    path = root / "hparams.yaml"
    try:
        described = yaml.safe_load(path.read_text(encoding="utf-8"))
        identifier = described["class_identifier"]
    except OSError as error:
        raise ModelError(
            f"{path} is missing; a COMET checkpoint has it two levels above its .ckpt: copy it there"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise ModelError(f"{path} names no class_identifier; copy or fetch it again") from error
    if identifier not in CLASSES:
        raise ModelError(f"{path}: class_identifier {identifier!r} is none of {', '.join(CLASSES)}")
    unified = identifier in ("unified_metric", "xcomet_metric")
    xcomet = identifier == "xcomet_metric"
    transformation = given.get("layer_transformation", "sparsemax" if unified else "softmax")
    if described.get("layer_transformation") == "sparsemax_patch":
        transformation = "softmax"  # models trained with a bug that made sparsemax softmax say so there
    return {
        "class_identifier": identifier,
        "encoder_model": given.get("encoder_model", "XLM-RoBERTa-XL" if xcomet else "XLM-RoBERTa"),
        "pretrained_model": str(given.get("pretrained_model", "")),
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


def _hyperparameters(given: dict, file: Path) -> Hyperparameters:
    names = {field.name for field in fields(Hyperparameters)}
    lists = ("input_segments", "error_labels")
    if (
        not isinstance(given, dict)
        or set(given) != names
        or not all(isinstance(given[k], (list, tuple)) for k in lists)
    ):
        raise ModelError(f"{file}: its hyper-parameters are not those of a COMET model; fetch or convert it again")
    tuples = {key: tuple(given[key]) for key in lists}
    found = Hyperparameters(**{**given, **tuples})
    if found.encoder_model not in SEPARATORS:
        raise ModelError(f"{file}: encoder_model {found.encoder_model!r} is none of {', '.join(SEPARATORS)}")
    if found.pool not in ("avg", "max", "cls", "default"):
        raise ModelError(f"{file}: pool {found.pool!r} is none of avg, max, cls, default")
    if found.pool == "default" and found.encoder_model == "BERT":
        raise ModelError(f"{file}: pool 'default' takes BERT's pooler, which COMET checkpoints do not hold")
    for name in filter(None, (found.activations, found.final_activation)):
        try:
            activation(name)(torch.zeros(1))
        except (AttributeError, TypeError, NotImplementedError) as error:
            raise ModelError(f"{file}: torch.nn has no activation {name!r}; fetch it again") from error
    if found.unified and not {"mt"} < set(found.input_segments) <= {"mt", "src", "ref"}:
        raise ModelError(f"{file}: input_segments {list(found.input_segments)} are not mt with src, ref or both")
    return found


def activation(name: str) -> torch.nn.Module:
    """The activation of a name as unbabel-comet finds it: "tanh" is torch.nn.Tanh."""
    return getattr(torch.nn, str(name).title())()


def _encoder_folder(root: Path, hyperparameters: Hyperparameters) -> Path:
    """Folder of the encoder's config.json and tokenizer: `encoder` in the checkpoint, a local folder, or of the hub."""
    for folder in (root / "encoder", Path(hyperparameters.pretrained_model).expanduser()):
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
    """Raise ModelError unless an encoder's configuration is what the hyper-parameters call for."""
    wanted = _KINDS[hyperparameters.encoder_model]
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
                f"{folder}: the encoder has layers 0 to {layers}, but the checkpoint reads {key} {number!r}"
            )


def _check_tensors(tensors: dict, hyperparameters: Hyperparameters, config: dict, file: Path) -> None:
    """Raise ModelError naming tensors that are missing, not expected, or of another shape; nothing is made up."""
    shapes = {_ENCODER + name: shape for name, shape in tensor_shapes(config).items()}
    if hyperparameters.layer == "mix":
        shapes.update(
            {f"layerwise_attention.scalar_parameters.{k}": (1,) for k in range(config["num_hidden_layers"] + 1)}
        )
        shapes["layerwise_attention.gamma"] = (1,)
    if hyperparameters.word_level:
        labels = len(hyperparameters.error_labels) + 1
        shapes.update({"hidden2tag.weight": (labels, config["hidden_size"]), "hidden2tag.bias": (labels,)})
    # the head's own sizes are in its tensors; that they fit one another is checked when the head is built
    head = [name for name in tensors if re.fullmatch(r"estimator\.ff\.\d+\.(weight|bias)", str(name))]
    idle = [name for name in tensors if _IDLE.fullmatch(str(name))]
    faults = {
        "missing": [name for name in [*shapes, *([] if head else ["estimator.ff.0.weight"])] if name not in tensors],
        "not expected": [str(name) for name in tensors if name not in shapes and name not in head and name not in idle],
        "of another shape": [
            f"{name} {list(getattr(tensors[name], 'shape', ()))}, not {list(shape)}"
            for name, shape in shapes.items()
            if name in tensors and tuple(getattr(tensors[name], "shape", ())) != shape
        ],
        "no tensors": [name for name in head if not isinstance(tensors[name], torch.Tensor)],
    }
    found = [
        f"{what}: {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"
        for what, names in faults.items()
        if names
    ]
    if found:
        raise ModelError(f"{file} does not fit its hyper-parameters; {'; '.join(found)}; fetch it again")
