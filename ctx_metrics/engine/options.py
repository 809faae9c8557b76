"""How the engine runs, as one value that every metric takes. Importing it does not import torch."""

from argparse import Namespace
from dataclasses import dataclass


@dataclass(frozen=True)
class EngineOptions:
    """Settings of the text encoder (the flags --ctx-*). Only `dtype` can change a score.

    device          auto (CUDA, else MPS, else CPU), cpu, mps, cuda or cuda:N
    dtype           fp32, bf16 or fp16: the encoder's arithmetic; cosines and sums are fp32 always
    batch_tokens    tokens of one forward; None for the device's default
    store_mb        bound, in MiB, of the store of hidden states that metrics and systems share
    quiet           no progress bar (there is none either when stderr is no terminal)
    """

    device: str = "auto"
    dtype: str = "fp32"
    batch_tokens: int | None = None
    store_mb: int = 384
    quiet: bool = False

    @classmethod
    def from_args(cls, args: Namespace) -> "EngineOptions":
        """What the flags --ctx-* and --quiet say."""
        return cls(args.ctx_device, args.ctx_dtype, args.ctx_batch_tokens, args.ctx_store_mb, args.quiet)
