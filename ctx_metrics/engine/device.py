"""Devices and number formats: what the flags --ctx-device and --ctx-dtype stand for."""

import platform
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from ..errors import ResourceError, lacks_memory
from ..notices import notice
from .loaded import empty_caches
from .threads import limit_threads

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
T = TypeVar("T")
R = TypeVar("R")
# Tokens of one forward: enough to fill the device, little enough to stay in a CPU's cache.
TOKEN_BUDGETS = {"cpu": 2048, "mps": 8192, "cuda": 32768}


def resolve_device(name: str = "auto") -> torch.device:
    """The device of a name: auto (CUDA, else MPS, else CPU), cpu, mps, cuda or cuda:N.

    Raises ResourceError when the named device is unknown or absent. torch then uses no more threads than the process may.
    """
    limit_threads()
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in TOKEN_BUDGETS:
        raise ResourceError(f"unknown device {name!r}; --ctx-device takes auto, cpu, mps, cuda or cuda:N")
    if device.type == "cuda" and (device.index or 0) >= (seen := torch.cuda.device_count()):
        raise ResourceError(f"device {name!r} was not found: {seen} CUDA devices seen; try --ctx-device cpu")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ResourceError("device 'mps' was not found; try --ctx-device cpu")
    return device


def resolve_dtype(name: str) -> torch.dtype:
    """The torch dtype of fp32, bf16 or fp16; raises ResourceError for another name."""
    if name not in DTYPES:
        raise ResourceError(f"unknown number format {name!r}; --ctx-dtype takes {', '.join(DTYPES)}")
    return DTYPES[name]


def check_arithmetic(device: torch.device, dtype: torch.dtype) -> None:
    """Print a notice where a CPU has no arithmetic for a half format, which makes it slower than fp32."""
    if device.type != "cpu" or dtype != torch.bfloat16 or platform.machine() not in ("x86_64", "AMD64"):
        return
    tests = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    if not any(getattr(torch.cpu, test, bool)() for test in tests):
        slower = "this CPU has no bf16 arithmetic, so fp32 is about 2.6 times faster"
        notice(f"--ctx-dtype bf16: {slower}; leave it out")


class TokenBudget:
    """Tokens that one forward may take on a device: half as many from then on where memory runs out.

    tokens    None: the device's default
    """

    def __init__(self, device: torch.device, tokens: int | None = None):
        self.device, self.tokens = device, tokens or TOKEN_BUDGETS[device.type]

    def split(
        self, batch: Sequence[T], sizes: Sequence[int], forward: Callable[[Sequence[T]], R], one: str
    ) -> list[tuple[Sequence[T], R]]:
        """Returns the parts of a batch that went through a forward together, each with the forward's result.

        sizes    tokens of each text of the batch
        one      ends the line on a single text that is too large: "text of {total} tokens; try ..."

        Raises ResourceError for such a text.
        """
        total = sum(sizes)
        if len(batch) > 1 and total > self.tokens:  # the budget has shrunk since the batch was made
            half = (len(batch) + 1) // 2
            parts = ((batch[:half], sizes[:half]), (batch[half:], sizes[half:]))
            return [each for part in parts for each in self.split(*part, forward, one)]
        try:
            return [(batch, forward(batch))]
        except RuntimeError as error:
            if not lacks_memory(error):
                raise
            if len(batch) == 1:
                raise ResourceError(
                    f"device {self.device} has too little memory for a single {one.format(total=total)}"
                ) from error
        empty_caches()  # outside the except block, so that the failed forward's tensors are free
        self.tokens = total // 2
        notice(f"out of memory on {self.device} with {total} tokens in a batch; continuing with {self.tokens}")
        return self.split(batch, sizes, forward, one)
