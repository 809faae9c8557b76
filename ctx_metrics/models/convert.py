"""COMET checkpoints as safetensors + json: the same tensors bit for bit, without pickle, and whole in one folder."""

import os
import shutil
import tempfile
from pathlib import Path

from safetensors.torch import save_file
from tokenizers import Tokenizer

from ..engine.tokenizer import TextTokenizer
from ..errors import InputError, ModelError
from .comet_checkpoint import CONFIG_FILE, WEIGHTS_FILE, open_comet, write_comet_config
from .hub import EMBEDDED, file_sha256


def convert(source: str, target: Path) -> None:
    """Write the COMET checkpoint `source` (folder, .ckpt file or hub name) into the new folder `target`.

    The folder holds model.safetensors (every tensor, bit for bit), config.json (hyper-parameters, the encoder's
    configuration, hashes of the old and the new file) and tokenizer.json, and needs nothing else. The signature keeps the
    hash of the old file. Raises InputError if `target` exists and is not empty, ModelError as loading does.
    """
    target = Path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists and is not an empty folder; name a new one")
    if source == EMBEDDED:
        raise ModelError("the embedded model comes with the install and needs no conversion")
    checkpoint = open_comet(source)
    tokenizer: Tokenizer = TextTokenizer(checkpoint.folder).backend
    ckpt = checkpoint.resolved().ckpt
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error
    try:
        tensors = {name: tensor.contiguous() for name, tensor in checkpoint.all_tensors().items()}
        save_file(tensors, work / WEIGHTS_FILE)
        tokenizer.save(str(work / "tokenizer.json"))
        side = checkpoint.folder / "tokenizer_config.json"
        if side.exists():
            shutil.copyfile(side, work / side.name)
        weights = file_sha256(work / WEIGHTS_FILE)[:12]
        (work / CONFIG_FILE).write_text(write_comet_config(checkpoint, ckpt, weights), encoding="utf-8")
        os.chmod(work, 0o755)
        if target.exists():
            target.rmdir()
        os.replace(work, target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
