"""How the engine runs, as one value that every metric takes. Importing it does not import torch."""

from dataclasses import dataclass

from ..flag_types import positive
from ..settings import setting


@dataclass(frozen=True)
class EngineOptions:
    """Settings of the text encoder (the flags --ctx-*). Only `dtype` can change a score.

    device          auto (CUDA, else MPS, else CPU), cpu, mps, cuda or cuda:N
    dtype           fp32, bf16 or fp16: the encoder's arithmetic; cosines and sums are fp32 always
    batch_tokens    tokens of one forward; None for the device's default
    store_mb        bound, in MiB, of the store of hidden states that metrics and systems share
    quiet           no progress bar (there is none either when stderr is no terminal)
    """

    device: str = setting("auto, cpu, mps, cuda or cuda:N.", "auto", metavar="DEVICE")
    dtype: str = setting("Arithmetic of the encoder; it is in the signature.", "fp32", choices=["fp32", "bf16", "fp16"])
    batch_tokens: int | None = setting(
        "Tokens of one forward; no score depends on it. (Default: by device)", type=positive, metavar="N"
    )
    store_mb: int = setting("Memory for what metrics and systems share, in MiB.", 384, type=positive, metavar="N")
    quiet: bool = False
