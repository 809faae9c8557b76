"""How the engine runs, as one value that every metric takes. Importing it does not import torch."""

from dataclasses import dataclass
from typing import ClassVar

from ..flag_types import Positive
from ..settings import setting


@dataclass(frozen=True)
class EngineOptions:
    """Settings of the text encoder. Only `dtype` can change a score. Cosines and sums are always fp32.

    device    auto selects CUDA, else MPS, else the CPU
    quiet     no progress bar (there is also none if stderr is not a terminal)
    """

    PREFIX: ClassVar = "--ctx-"
    device: str = setting("auto, cpu, mps, cuda or cuda:N.", "auto", metavar="DEVICE")
    dtype: str = setting(
        "Number format of the encoder; the signature shows it.", "fp32", choices=["fp32", "bf16", "fp16"]
    )
    batch_tokens: Positive | None = setting(
        "Maximum number of tokens per batch; scores do not depend on it. (Default: by device)"
    )
    store_mb: Positive = setting("Memory for encoded texts that metrics and systems share, in MiB.", 384)
    quiet: bool = False
