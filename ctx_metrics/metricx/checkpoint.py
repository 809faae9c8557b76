"""A MetricX checkpoint: its folder or hub repository, which model it is, its tokenizer and its weights.

Neither 24 nor 23 is named in Google's files, nor whether a 23 reads references: the name tells it, or the user, or the
config.json of a folder that `ctx-metrics convert` wrote.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np

from ..engine.checkpoint import checked_tensor, load_file, silent, weight_files
from ..engine.tokenizer import TEXTS_AT_ONCE, check_growth
from ..errors import InputError, ModelError
from ..models.hub import HubKind, is_whole, located, weights_to_fetch
from ..opening import file_hashes, file_sha256, identity, opening, read_json, same_hashes, shown
from ..wording import setting_named
from .network import ROW, Shape

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

ARCHITECTURE = "MT5ForRegression"
CONVERTED = "ctx_metrics"  # the entry of config.json that `ctx-metrics convert` adds: version, ckpt and files
TOKENIZER_FILES = ("tokenizer.json", "spiece.model", "tokenizer_config.json", "special_tokens_map.json")
TOKENIZER = (
    "google/mt5-xl"  # all MetricX checkpoints were trained with the tokenizer of mT5, and none has it in its folder
)
END = "</s>"
MOST_TOKENS = {"24": 1536, "23": 1024, "23-qe": 1024}  # including the end of the sequence, which is then dropped
PROMPTS = {
    "24": {"src": "source: ", "mt": " candidate: ", "ref": " reference: "},
    "23": {"mt": "candidate: ", "ref": " reference: "},
    "23-qe": {"mt": "candidate: ", "src": " source: "},
}
# the texts that each model reads; 24 reads all three, or scores without a reference
INPUTS = {"24": ("mt+src+ref", "mt+src"), "23": ("mt+ref",), "23-qe": ("mt+src",)}
_NAMED = re.compile(r"metricx[-_.]?(24|23[-_.]?qe|23)", re.IGNORECASE)


def named_version(name: str) -> str | None:
    """The model that a name shows.

    >>> [named_version(each) for each in ("google/metricx-24-hybrid-large-v2p6", "metricx-23-qe-xl-v2p0", "mine")]
    ['24', '23-qe', None]
    """
    found = _NAMED.search(name)
    return None if found is None else "23-qe" if found[1].lower().endswith("qe") else found[1]


def _among(files: set[str], label: str) -> list[str]:
    if "config.json" not in files:
        raise ModelError(f"{label} is not a MetricX checkpoint: config.json is missing")
    return ["config.json", *(name for name in TOKENIZER_FILES if name in files), *weights_to_fetch(files, label)]


def _tokenizer_among(files: set[str], label: str) -> list[str]:
    return [name for name in ("config.json", *TOKENIZER_FILES) if name in files]


def has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TOKENIZER_FILES[:2])


METRICX = HubKind(_among, is_whole, "MetricX checkpoint: config.json or the weights are missing")
MT5_TOKENIZER = HubKind(_tokenizer_among, has_tokenizer, "tokenizer: tokenizer.json and spiece.model are missing")


def is_metricx(config: Mapping[str, Any]) -> bool:
    return config.get("architectures") == [ARCHITECTURE]


class MetricXCheckpoint:
    """An opened checkpoint: its kind and sizes, without its weights.

    version      24, 23 or 23-qe; None: as the name shows
    tokenizer    folder or hub name; None: the checkpoint's own, else mT5's
    flags        whether the user could give these two, as with -m metricx
    """

    def __init__(self, name: str, version: str | None = None, tokenizer: str | None = None, flags: bool = False):
        self._flags = flags
        if "/" not in name and not Path(name).is_dir():
            perhaps = f" (perhaps google/{name})" if named_version(name) else ""
            raise ModelError(f"no model folder {name!r}", fix=f"name a folder, or OWNER/NAME of the hub{perhaps}")
        if Path(name).expanduser().is_file():
            raise ModelError(f"{name} is a file", fix="name the folder that it is in")
        found = located(name, METRICX, lambda folder: "")
        self.folder, self.config = found.folder, _read_config(found.folder)
        self.shape = read_shape(self.folder, self.config)
        self.version = self._version(found.name, version)
        self.tokenizer_folder = self._tokenizer(tokenizer)
        self._hashes = self._hashed()
        self.model = replace(found, ckpt=self._identity())

    def _version(self, name: str, given: str | None) -> str:
        converted = self.config.get(CONVERTED)
        known = named_version(name) if converted is None else converted["version"]
        flag = setting_named("--metricx-version", "version", given or "24")
        if given and known and given != known:
            raise InputError(f"{name} is MetricX-{known}, not {given}", fix=f"leave out {flag}")
        version = given or known
        if version is None:
            choose = f", or choose it with {flag}, 23 or 23-qe" if self._flags else ""
            raise InputError(
                f"{name}: its files do not show which MetricX it is",
                fix=f"put metricx-24, metricx-23 or metricx-23-qe into the folder's name{choose}",
            )
        return version

    def _identity(self) -> str:
        converted = self.config.get(CONVERTED)
        if converted is None:
            # a tokenizer from elsewhere counts as if it were in the folder
            return identity({Path(path).name: own for path, own in self._hashes.items()}, Path())
        if converted["files"] != files_identity(self.folder, self.config):
            raise ModelError(
                f"{self.folder} was changed after ctx-metrics convert wrote it", fix="convert the checkpoint again"
            )
        return converted["ckpt"]

    def _tokenizer(self, given: str | None) -> Path:
        if given is None and has_tokenizer(self.folder):
            return self.folder
        if given is not None and Path(given).is_file():
            raise InputError(f"{given} is a file", fix="name the folder of the tokenizer")
        try:
            return located(given or TOKENIZER, MT5_TOKENIZER, lambda folder: "").folder
        except ModelError as error:
            flag = setting_named("--metricx-tokenizer", "tokenizer", "FOLDER")
            if given is None:
                name_it = f", or name its folder with {flag}" if self._flags else ""
                raise ModelError(
                    f"{self.folder} has no tokenizer, and mT5's ({TOKENIZER}) is not in the cache and cannot be fetched",
                    fix=f"put its tokenizer.json or spiece.model into the folder{name_it}",
                ) from error
            raise

    def _hashed(self) -> dict[str, str]:
        own = {str(path): file_sha256(path) for path in [self.folder / "config.json", *weight_files(self.folder)]}
        return own | file_hashes(self.tokenizer_folder / name for name in TOKENIZER_FILES)

    def is_current(self) -> bool:
        return same_hashes(self._hashes, self._hashed)

    def weights(self) -> "MetricXTensors":
        return MetricXTensors(self.folder, self.shape)


class MetricXTensors:
    """The tensors of a checkpoint's files, each read and checked on access."""

    def __init__(self, folder: Path, shape: Shape):
        self.folder, self._shapes = folder, shape.tensors()
        self._places: dict[str, tuple[Mapping, Path]] = {}
        for path in weight_files(folder):
            tensors = load_file(path)
            self._places |= dict.fromkeys(tensors, (tensors, path))

    def _found(self, name: str) -> tuple[str, Mapping, Path]:
        """The name under which a tensor is stored, and where."""
        stored = name
        if (
            name == "shared.weight" and name not in self._places
        ):  # the table may be stored under the encoder's name for it
            stored = "encoder.embed_tokens.weight"
        if stored not in self._places:
            raise ModelError(f"{self.folder}: its weights lack the tensor {name!r}", fix="fetch it again")
        return stored, *self._places[stored]

    def __getitem__(self, name: str) -> "torch.Tensor":
        stored, tensors, path = self._found(name)
        # the check would read all of a word table, of which few rows are used
        table = name in ("shared.weight", "lm_head.weight")
        return checked_tensor(tensors[stored], stored, path=path, shape=self._shapes[name], finite=not table)

    def names_by_file(self) -> list[list[str]]:
        """The tensors that the network reads, one list for each file."""
        owners: dict[Path, list[str]] = {}
        for name in self._shapes:
            owners.setdefault(self._found(name)[2], []).append(name)
        return list(owners.values())


def _read_config(folder: Path) -> dict[str, Any]:
    with opening(folder, "holds no readable config.json, so it is not a MetricX checkpoint"):
        config = dict(read_json(folder / "config.json"))
    if not is_metricx(config):
        named = config.get("architectures")
        kind = named[0] if isinstance(named, list) and named else config.get("model_type")
        raise ModelError(f"{folder} is not a MetricX checkpoint: config.json names {shown(kind)}, not {ARCHITECTURE!r}")
    if CONVERTED in config:
        added = config[CONVERTED]
        strings = isinstance(added, dict) and all(
            isinstance(added.get(name), str) for name in ("version", "ckpt", "files")
        )
        if not strings or added["version"] not in INPUTS:
            raise ModelError(
                f"{folder}: config.json is not as ctx-metrics convert writes it", fix="convert the checkpoint again"
            )
    return config


def files_identity(folder: Path, config: Mapping[str, Any]) -> str:
    """The identity of a converted folder: of its weights, its tokenizer and the rest of its config.json."""
    hashes = file_hashes([*weight_files(folder), folder / "tokenizer.json"])
    described = json.dumps({name: value for name, value in config.items() if name != CONVERTED}, sort_keys=True)
    return identity({**hashes, str(folder / "config.json"): sha256(described.encode()).hexdigest()}, folder)


def read_shape(folder: Path, config: Mapping[str, Any]) -> Shape:
    """The sizes that a config.json gives; raises ModelError unless the network is the one that we compute."""
    usual = {"relative_attention_max_distance": 128, "relative_attention_num_buckets": 32, "layer_norm_epsilon": 1e-6}
    given = {**usual, "num_decoder_layers": config.get("num_layers"), "tie_word_embeddings": False, **config}
    if (act := config.get("feed_forward_proj", "relu")) != "gated-gelu":
        raise ModelError(f"{folder}: feed_forward_proj {shown(act)} is not supported, only 'gated-gelu'")
    types = get_type_hints(Shape)
    sizes: dict[str, Any] = {}
    for name in (each.name for each in fields(Shape)):
        value, kind = given.get(name), types[name]
        number = isinstance(value, kind) and (kind is bool or (not isinstance(value, bool) and value > 0))
        if not number:
            raise ModelError(f"{folder}: config.json gives {shown(value)} for {name}", fix="fetch it again")
        sizes[name] = value
    if sizes["vocab_size"] <= ROW:
        raise ModelError(f"{folder}: its vocabulary has {sizes['vocab_size']:,} rows, but the score is row {ROW:,}")
    return Shape(**sizes)


class PromptTokenizer:
    """mT5's tokenizer on the prompts of a MetricX model."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.backend = self._read(folder)

    @staticmethod
    def _read(folder: Path) -> "Tokenizer":
        fix = (
            ""
            if (folder / "tokenizer.json").exists()
            else "; to read older formats: pip install sentencepiece protobuf"
        )
        with opening(folder, f": its tokenizer cannot be loaded: {{why}}{fix}"):
            if (path := folder / "tokenizer.json").exists():
                from tokenizers import Tokenizer

                backend = Tokenizer.from_file(str(path))
            else:
                from transformers import T5TokenizerFast

                with silent():  # its warnings are about how T5 was trained
                    backend = T5TokenizerFast.from_pretrained(str(folder), local_files_only=True).backend_tokenizer
            backend.no_truncation()
            backend.no_padding()
            check_growth(backend)
        return backend

    def __call__(self, texts: Sequence[str], most: int) -> list[tuple[np.ndarray, int]]:
        """The token ids of each text, int32, cut to `most`, and how many were cut off."""
        encode = getattr(self.backend, "encode_batch_fast", self.backend.encode_batch)
        found = []
        for begin in range(0, len(texts), TEXTS_AT_ONCE):
            for encoding in encode(list(texts[begin : begin + TEXTS_AT_ONCE]), add_special_tokens=False):
                ids = encoding.ids
                found.append((np.array(ids[:most], np.int32), max(0, len(ids) - most)))
        return found
