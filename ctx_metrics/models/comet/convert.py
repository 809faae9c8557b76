"""Convert COMET checkpoints to safetensors + json: the same tensors bit for bit, without pickle, complete in one folder."""

import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from ...engine.tokenizer import TextTokenizer
from ...errors import InputError, ModelError
from ...writing import check_writable, replacing
from ..hub import EMBEDDED, file_sha256
from .checkpoint import CONFIG_FILE, WEIGHTS_FILE, open_comet, side_hashes, write_comet_config


def convert(source: str, target: Path) -> None:
    """Write the COMET checkpoint `source` (folder, .ckpt file or hub name) into the new folder `target`.

    The folder holds model.safetensors (every tensor, bit for bit), config.json (hyper-parameters, the encoder's
    configuration, hashes of the old and the new files) and tokenizer.json, and needs nothing else. The signature keeps the
    hash of the old files. Raises InputError if `target` exists and is not empty, and ModelError as loading does.
    """
    target = Path(target)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists and is not an empty folder; name a new one")
    if source == EMBEDDED:
        raise ModelError("the embedded model is included in the package and needs no conversion")
    check_writable(str(target), folder=True)
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
        for name, tensor in checkpoint.all_tensors().items():
            memory = tensor.untyped_storage().data_ptr()  # tied weights share memory, which safetensors refuses
            tensors[name] = (
                tensor.clone(memory_format=torch.contiguous_format) if memory in held else tensor.contiguous()
            )
            held.add(memory)
        save_file(tensors, work / WEIGHTS_FILE)
        hashes = {"weights": file_sha256(work / WEIGHTS_FILE), **side_hashes(work, work)}
        config = write_comet_config(checkpoint, ckpt, hashes)
        (work / CONFIG_FILE).write_text(config, encoding="utf-8", errors="backslashreplace")
