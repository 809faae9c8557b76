"""Read a Hugging Face checkpoint folder safely: its configuration and the encoder's weights."""

import math
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ..errors import ModelError
from ..opening import LazyMapping, file_hashes, file_sha256, opening, read_json, same_hashes, shown
from .quantised import FILE as QUANTISED_FILE
from .quantised import WORDS, PackedRows, read_quantised

if TYPE_CHECKING:  # imported where it is needed: the hub, and with it --help, only reads this module's names
    import torch
    from transformers.models.auto.auto_factory import _BaseAutoModelClass

# The architectures that our forward pass computes, and the prefix of their weights in a checkpoint with a head.
_KINDS = ("bert", "roberta", "xlm-roberta", "xlm-roberta-xl", "rembert")
FAMILIES = {kind: "roberta." if "roberta" in kind else f"{kind}." for kind in _KINDS} | {"deberta-v2": "deberta."}
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
# The files, besides the weights, that determine an encoder's hidden states.
SIDE_FILES = tuple(
    "config.json tokenizer.json tokenizer_config.json special_tokens_map.json added_tokens.json vocab.txt vocab.json "
    "merges.txt sentencepiece.bpe.model sentencepiece.model spm.model".split()
)
_FROM_ZERO = ("bert", "rembert", "deberta-v2")  # these count positions from 0, whatever the padding id
# Values that DeBERTa's configuration must have, as in all released models of version 3, and the defaults of missing fields.
_DISENTANGLED: dict[str, tuple[Any, Any]] = {
    "relative_attention": (True, False),
    "pos_att_type": ("c2p|p2c", "None"),
    "share_att_key": (True, False),
    "norm_rel_ebd": ("layer_norm", "none"),
    "position_biased_input": (False, True),
    "type_vocab_size": (0, 0),
    "conv_kernel_size": (0, 0),
}
_MOST_POSITIONS = 2**13
Tensors = Mapping[str, Union["torch.Tensor", PackedRows]]
_SIZES = (
    "hidden_size num_hidden_layers num_attention_heads intermediate_size max_position_embeddings vocab_size".split()
)
# Fields that give the number of rows of a table of the model's width, as many kinds of models name them.
_ROWS = (
    "hidden_size d_model dim vocab_size decoder_vocab_size type_vocab_size embedding_size intermediate_size "
    "encoder_ffn_dim decoder_ffn_dim d_ff d_kv num_heads hidden_dim max_position_embeddings num_labels".split()
)
_SMALL, _MAPPED = 2**20, 2**24  # bytes
# The most numbers that tensors may have per byte of a torch.save file: tied weights and expanded tensors have more than the
# file holds, and in a file of a few bytes an expanded tensor can have any size.
_SHARING = 16


class EncoderFolder:
    """A Hugging Face folder as the encoder reads it: configuration, tokenizer files and weights."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.config = read_config(folder)
        if not is_quantised(folder):  # its bytes hold two numbers each
            check_size(self.config, folder, weight_files(folder))
        self._hashes = folder_hashes(folder)

    def is_current(self) -> bool:
        return same_hashes(self._hashes, lambda: folder_hashes(self.folder))

    def weights(self) -> "Tensors":
        return read_weights(self.folder, self.config)


def is_quantised(folder: Path) -> bool:
    return (folder / QUANTISED_FILE).is_file()


def read_config(folder: Path) -> dict:
    """The config.json of an encoder; raises ModelError unless our forward pass computes exactly this architecture."""
    _refuse_comet(folder)
    if is_quantised(folder):
        return read_quantised(folder).config
    with opening(folder, "holds no readable config.json, so it is not a Hugging Face encoder"):
        config = dict(read_json(folder / "config.json"))
    return checked_config(config, folder)


def checked_config(config: dict, folder: Path) -> dict:
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ModelError(
            f"{folder} is of kind {shown(kind)}", fix=f"a text encoder must be one of {', '.join(FAMILIES)}"
        )
    for key, usual in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
        if config.get(key, usual) != usual:
            raise ModelError(f"{folder}: {key} {shown(config[key])} is not supported, only {usual!r}")
    sizes = [*_SIZES, *{"rembert": ["input_embedding_size"], "deberta-v2": ["position_buckets"]}.get(kind, [])]
    for key in sizes:
        if not _is_number(config.get(key), int) or config[key] < 1:
            raise ModelError(f"{folder}: config.json gives no number for {key}")
    for key, kinds, least, most in (
        ("layer_norm_eps", (int, float), 0, 1),
        *([] if kind == "deberta-v2" else [("type_vocab_size", (int,), 1, math.inf)]),
        *([] if kind in _FROM_ZERO else [("pad_token_id", (int,), 0, config["vocab_size"])]),
    ):
        if key in config and not (_is_number(config[key], kinds) and least <= config[key] <= most):
            raise ModelError(f"{folder}: config.json gives {shown(config[key])} for {key}", fix="fetch it again")
    if kind == "deberta-v2":
        _check_disentangled(config, folder)
    if config["hidden_size"] % config["num_attention_heads"]:
        width, heads = shown(config["hidden_size"]), shown(config["num_attention_heads"])
        raise ModelError(f"{folder}: config.json gives hidden_size {width}, which {heads} attention heads cannot share")
    if config.get("is_decoder") or config.get("add_cross_attention"):
        raise ModelError(f"{folder} is a decoder", fix="a text encoder must be bidirectional")
    if (positions := config["max_position_embeddings"]) < first_position(config) + 3:
        raise ModelError(
            f"{folder}: config.json gives max_position_embeddings {positions}, which leaves no room for a word between the "
            "special tokens",
            fix="fetch it again",
        )
    return config


def _check_disentangled(config: dict, folder: Path) -> None:
    kinds = config.get("pos_att_type")
    of_positions = "|".join(sorted(map(str, kinds if isinstance(kinds, list) else str(kinds).split("|"))))
    given = config | {"pos_att_type": of_positions}
    width = config["hidden_size"]
    for key, (needed, usual) in {**_DISENTANGLED, "embedding_size": (width, width)}.items():
        if (found := given.get(key, usual)) != needed:
            raise ModelError(f"{folder}: {key} {shown(found)} is not supported, only {shown(needed)}")
    if config["position_buckets"] < 2:
        raise ModelError(f"{folder}: config.json gives 1 for position_buckets", fix="fetch it again")
    # no tensor has this size, but two vectors are made of each distance
    if (positions := config["max_position_embeddings"]) > _MOST_POSITIONS:
        raise ModelError(
            f"{folder}: config.json gives max_position_embeddings {shown(positions)}, more than {_MOST_POSITIONS}",
            fix="fetch it again",
        )


def _is_number(value: Any, kinds: type | tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def check_size(config: dict, folder: Path, files: Sequence[Path]) -> None:
    """Raise ModelError if a configuration needs more numbers than its weight files have bytes; allocates nothing first."""
    by_layers = [tensor_shapes({**config, "num_hidden_layers": layers}).values() for layers in (0, 1)]
    bare, one = (sum(map(math.prod, shapes)) for shapes in by_layers)
    numbers, size = bare + config["num_hidden_layers"] * (one - bare), 0
    for file in files:
        with opening(file):
            size += file.stat().st_size
    if numbers > size:
        for file in files:
            load_file(file)  # raises if the file is cut short
        where = files[0] if len(files) == 1 else folder
        raise ModelError(
            f"{folder}: config.json describes {shown(numbers)} numbers, more than the {size} bytes of weights in {where} "
            "can hold",
            fix="fetch both again",
        )


@contextmanager
def opening_foreign(folder: Path, says: str, encoder: Path | None = None) -> Iterator[None]:
    """`opening` for a folder that another library reads in the block, after checking its weights and config.json.

    encoder    the folder that holds these, if it is another one

    Such a library makes every layer that config.json names before it looks at the weights, and maps compressed files.
    """
    encoder = encoder or folder
    with opening(folder, says):
        if (encoder / "config.json").exists() and any((encoder / name).exists() for name in WEIGHTS):
            try:
                _check_foreign(encoder)
            except ModelError as error:
                raise ValueError(str(error)) from error
        yield


def _check_foreign(folder: Path) -> None:
    tensors = size = 0
    for file in weight_files(folder):
        tensors += len(load_file(file))
        size += file.stat().st_size
    config = {key: value for key, value in dict(read_json(folder / "config.json")).items() if _is_number(value, int)}
    width = max(config.get(key, 1) for key in ("hidden_size", "d_model", "dim"))
    for key, value in config.items():
        # some models' layers share their tensors
        if ("layer" in key and value > 100 * tensors) or (key in _ROWS and value * width > size):
            hold = f"{tensors} tensors of {size} bytes hold"
            raise ModelError(f"config.json gives {shown(value)} for {key}, more than {hold}")


def first_position(config: dict) -> int:
    """The number of an encoder's first position: RoBERTa and XLM-R count from the padding id + 1."""
    return 0 if config["model_type"] in _FROM_ZERO else config.get("pad_token_id", 1) + 1


def tensor_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    width, inner = config["hidden_size"], config["intermediate_size"]
    kind = config["model_type"]
    pre_norm, rembert, deberta = kind == "xlm-roberta-xl", kind == "rembert", kind == "deberta-v2"
    narrow = config["input_embedding_size"] if rembert else width
    shapes: dict[str, tuple[int, ...]] = {}

    def add(name: str, size: int, *inputs: int) -> None:
        shapes.update({f"{name}.weight": (size, *inputs), f"{name}.bias": (size,)})

    tables = {"word": config["vocab_size"]}
    if not deberta:
        tables |= {"position": config["max_position_embeddings"], "token_type": config.get("type_vocab_size", 2)}
    for table, rows in tables.items():
        shapes[f"embeddings.{table}_embeddings.weight"] = (rows, narrow)
    add("encoder.LayerNorm" if pre_norm else "embeddings.LayerNorm", narrow)
    if rembert:
        add("encoder.embedding_hidden_mapping_in", width, narrow)
    if deberta:
        shapes["encoder.rel_embeddings.weight"] = (2 * config["position_buckets"], width)
        add("encoder.LayerNorm", width)
    suffix = "_proj" if deberta else ""
    for k in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{k}."
        for name in (*(f"self.{each}{suffix}" for each in ("query", "key", "value")), "output.dense"):
            add(f"{layer}attention.{name}", width, width)
        add(f"{layer}intermediate.dense", inner, width)
        add(f"{layer}output.dense", width, inner)
        add(layer + ("attention.self_attn_layer_norm" if pre_norm else "attention.output.LayerNorm"), width)
        add(layer + ("LayerNorm" if pre_norm else "output.LayerNorm"), width)
    return shapes


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a checkpoint's weights: one file or several shards, preferably safetensors."""
    _refuse_comet(folder)
    if is_quantised(folder):
        return [folder / QUANTISED_FILE]
    path = next((folder / name for name in WEIGHTS if (folder / name).exists()), None)
    if path is None:
        raise ModelError(f"{folder} holds no weights: none of {', '.join(WEIGHTS)}")
    if path.suffix != ".json":
        return [path]
    with opening(path, "is not a readable index of shards"):
        return [folder / shard for shard in sorted(set(read_json(path)["weight_map"].values()))]


def folder_hashes(folder: Path) -> dict[str, str]:
    """The sha256 of a checkpoint's weights and of the side files that it has; raises ModelError if it has no weights."""
    weights = {str(path): file_sha256(path) for path in weight_files(folder)}
    return weights | file_hashes(folder / name for name in SIDE_FILES)


def _refuse_comet(folder: Path) -> None:
    if (folder / "hparams.yaml").exists():
        raise ModelError(
            f"{folder} is a COMET checkpoint, not a text encoder", fix="name a BERT, RoBERTa or XLM-R folder"
        )


class EncoderTensors(LazyMapping[str, "torch.Tensor"]):
    """An encoder's tensors by their bare names, each read and checked on access.

    places    for each bare name: the tensors of a file, the name there, and the path that messages name
    """

    def __init__(self, places: dict[str, tuple[Mapping, str, Path]], config: dict):
        super().__init__(places)
        self._shapes = tensor_shapes(config)

    def __getitem__(self, name: str) -> "torch.Tensor":
        tensors, raw, path = self._parts[name]
        # the check would read the whole word table into memory; broken rows show in the scores of their words
        return checked_tensor(tensors[raw], raw, path=path, shape=self._shapes.get(name), finite=name != WORDS)


def read_weights(folder: Path, config: dict) -> "Tensors":
    """The tensors of a folder's encoder, without heads, by their bare names ("encoder.layer.0...")."""
    if is_quantised(folder):
        return read_quantised(folder).tensors()
    prefix, places = FAMILIES[config["model_type"]], {}
    for path in weight_files(folder):
        tensors = load_file(path)
        for raw in tensors:
            name = str(raw).removeprefix(prefix)
            if name.startswith(("embeddings.", "encoder.")):
                # checkpoints from before 2019 use these names for the parameters of layer norms
                name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
                places[name] = (tensors, raw, path)
    return EncoderTensors(places, config)


def check_shapes(path: Path, tensors: "Mapping[str, torch.Tensor]", wanted: Mapping[str, Sequence[int]]) -> None:
    """Raise ModelError unless a file's tensors have the names and shapes that its config.json asks for."""
    there = {name: list(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted({*wanted, *there}):
        found, right = there.get(name), list(wanted[name]) if name in wanted else None
        if found != right:
            shapes = " and ".join("not there" if each is None else str(each) for each in (found, right))
            raise ModelError(
                f"{path} does not fit its config.json ({name[:80]}: {shapes})", fix="copy the folder again"
            )


def checked_tensor(
    tensor: Any,
    name: str,
    *,
    path: Path,
    shape: tuple[int, ...] | None = None,
    finite: bool = True,
    fix: str = "fetch it again",
) -> "torch.Tensor":
    """Return the tensor; raise ModelError unless it holds plain floats, finite unless told otherwise, in the given shape."""
    import torch

    floats = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
    plain = isinstance(tensor, torch.Tensor) and tensor.layout == torch.strided and tensor.device.type == "cpu"
    if not plain or tensor.dtype not in floats:
        kind = "no tensor"
        if isinstance(tensor, torch.Tensor):
            kind = f"a {tensor.layout} tensor of {tensor.dtype} on {tensor.device}".replace("torch.", "")
        raise ModelError(f"{path}: {name} is {kind}, but plain floats are needed", fix=fix)
    if shape is not None and tuple(tensor.shape) != shape:
        raise ModelError(f"{path}: {name} is of shape {list(tensor.shape)}, not {list(shape)}", fix=fix)
    # one pass for the sum is enough, unless it overflows
    if finite and not tensor.sum(dtype=torch.float32).isfinite() and not tensor.isfinite().all():
        raise ModelError(f"{path}: {name} is not finite everywhere", fix=fix)
    return tensor


class SafeTensors(LazyMapping[str, "torch.Tensor"]):
    """The tensors of a safetensors file, memory-mapped on access. Raises ModelError for a broken file.

    Only tensors in use stay in memory: the file is mapped anew every 16 MiB, so that a mapping is freed with its tensors.
    """

    def __init__(self, path: Path):
        from safetensors import safe_open  # imported here for the same reason as torch in load_file

        self._path, self._read = path, 0
        self._file: safe_open | None = None
        with opening(path), safe_open(path, "pt") as file:
            super().__init__(dict.fromkeys(file.keys()))

    def __getitem__(self, name: str) -> "torch.Tensor":
        if name not in self._parts:
            raise KeyError(name)
        with opening(self._path):
            if self._file is None or self._read > _MAPPED:
                from safetensors import safe_open

                self._file, self._read = safe_open(self._path, "pt"), 0
            tensor = self._file.get_tensor(name)
        self._read += tensor.nbytes
        # a small tensor, which stays, would keep in memory a mapping and all that was read from it
        return tensor.clone() if tensor.nbytes < _SMALL else tensor


def load_file(path: Path) -> Mapping:
    """The content of a weight file: tensors by name, or whatever else torch.save put into a dictionary; mapped, not copied.

    Reads safetensors, or PyTorch files under weights_only, which runs no code.
    """
    if path.suffix == ".safetensors":
        return SafeTensors(path)
    import torch  # not at the top: --help loads models/hub.py, which loads this module

    with opening(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about kinds of tensors that are refused afterwards
        tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=_is_archive(path))
        if not isinstance(tensors, dict):
            raise ValueError("it holds no dictionary of tensors")
        inside = tensors.get("state_dict")
        values = [*tensors.values(), *(inside.values() if isinstance(inside, dict) else ())]
        numbers = sum(each.numel() for each in values if isinstance(each, torch.Tensor))
        if numbers > _SHARING * (size := path.stat().st_size):
            raise ValueError(f"its tensors have {shown(numbers)} numbers, which its {size} bytes cannot hold")
        return tensors


def _is_archive(path: Path) -> bool:
    """Whether a torch.save file is a zip archive, which can be mapped; files from before torch 1.6 are pickles.

    Raises ModelError for a compressed archive: if it were mapped, its compressed bytes would be taken for numbers.
    """
    with open(path, "rb") as file:
        start = file.read(40)
    if start.startswith(b"PK\x03\x04"):
        if not zipfile.is_zipfile(path):
            raise ValueError("it is cut short")
        with zipfile.ZipFile(path) as archive:
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise ModelError(
                    f"{path} is compressed, which torch.save does not do",
                    fix="write it again in Python: torch.save(torch.load(PATH, weights_only=True), PATH)",
                )
        return True
    text = " ".join(start.decode("latin-1").split())
    if text.isascii() and text.isprintable() and text:
        raise ValueError(f"it is not a PyTorch file, because it begins with {text!r}")
    return False


def load_with(auto_class: "type[_BaseAutoModelClass]", folder: Path, says: str, **more: Any) -> tuple[Any, list[str]]:
    """Load a checkpoint with one of transformers' auto classes; also return the names of the weights that it lacks.

    No code in the folder is run: PyTorch files are read under weights_only.
    """
    weight_files(folder)  # raises ModelError if there are none
    with opening_foreign(folder, says), silent():
        model, report = auto_class.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False, output_loading_info=True, **more
        )
    return model, sorted(report["missing_keys"])


@contextmanager
def silent() -> Iterator[None]:
    """Turn off transformers' warnings and progress bars in the block; we raise or print anything important ourselves."""
    from transformers.utils import logging

    own, bars = logging.get_logger(), logging.is_progress_bar_enabled()
    level = own.level
    with warnings.catch_warnings(), hub_bars():  # transformers switches the hub's progress bars with its own
        warnings.filterwarnings("ignore", module="transformers")
        own.setLevel(logging.ERROR)
        logging.disable_progress_bar()
        try:
            yield
        finally:
            own.setLevel(level)
            if bars:
                logging.enable_progress_bar()


@contextmanager
def hub_bars(shown: bool = True) -> Iterator[None]:
    """Turn off the hub's progress bars in the block unless they are to be shown; afterwards they are as they were."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    hidden = are_progress_bars_disabled()
    if not shown and not hidden:
        disable_progress_bars()
    try:
        yield
    finally:
        if are_progress_bars_disabled() != hidden:
            (disable_progress_bars if hidden else enable_progress_bars)()
