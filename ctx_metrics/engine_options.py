"""The engine's settings, as one value that every metric takes. Importing this module does not import torch."""

import re
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, ClassVar

from .errors import InputError
from .flag_types import Amount
from .settings import check_values, setting

Layers = int | str | Sequence[int]  # of an encoder, see encoder.layer_mixes
FORMATS = ["fp32", "bf16", "fp16"]
_OTHER_NAMES = {"float32": "fp32", "float": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}


def device_name(text: str) -> str:
    """Return the name of a device; the device need not be present.

    >>> device_name("cuda:1")
    'cuda:1'
    >>> device_name("GPU:1")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: unknown device 'GPU:1'; the devices are auto, cpu, mps, cuda and cuda:N; did you mean cuda:1?
    """
    names = re.compile(r"auto|(cpu|mps|cuda)(:(0|[1-9]\d?))?")
    if names.fullmatch(text):
        return text
    meant = re.sub(r"^(?=\d)", "cuda:", text.lower().replace("gpu", "cuda"))
    fix = f"; did you mean {meant}?" if names.fullmatch(meant) else ""
    raise ArgumentTypeError(f"unknown device {text!r}; the devices are auto, cpu, mps, cuda and cuda:N{fix}")


def format_name(text: str) -> str:
    """Return the name of a number format.

    >>> format_name("Float16")
    Traceback (most recent call last):
    argparse.ArgumentTypeError: unknown number format 'Float16'; the formats are fp32, bf16, fp16; did you mean fp16?
    """
    if text in FORMATS:
        return text
    meant = _OTHER_NAMES.get(text.lower(), text.lower())
    fix = f"; did you mean {meant}?" if meant in FORMATS else ""
    raise ArgumentTypeError(f"unknown number format {text!r}; the formats are {', '.join(FORMATS)}{fix}")


@dataclass(frozen=True)
class EngineOptions:
    """Settings of the text encoder. Only `dtype` can change a score. Cosines and sums are always fp32.

    device    auto selects CUDA, else MPS, else the CPU
    quiet     no progress bar (there is also none if stderr is not a terminal)

    Raises InputError for a value that is not allowed.
    """

    PREFIX: ClassVar = "--ctx-"
    device: Annotated[str, device_name] = setting("auto, cpu, mps, cuda or cuda:N.", "auto", metavar="DEVICE")
    dtype: Annotated[str, format_name] = setting(
        "Number format of the encoder; the signature shows it.", "fp32", choices=FORMATS
    )
    batch_tokens: Amount | None = setting(
        "Maximum number of tokens per batch; scores do not depend on it. (Default: by device)"
    )
    store_mb: Amount = setting("Memory for encoded texts that metrics and systems share, in MiB.", 384)
    quiet: bool = False

    def __post_init__(self) -> None:
        for name, known, such in (("device", device_name, "cuda"), ("dtype", format_name, "bf16")):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise InputError(f"{name}={value!r} is not a string, such as {such!r}")
            try:
                known(value)
            except ArgumentTypeError as error:
                raise InputError(f"{name}: {error}") from None
        counts = {"batch_tokens": self.batch_tokens, "store_mb": self.store_mb}
        for name, value in counts.items():
            if value is None and name == "batch_tokens":
                continue
            if not isinstance(value, Integral) or isinstance(value, bool):
                raise InputError(f"{name}={value!r} is not a whole number of at least 1")
        check_values(self)
