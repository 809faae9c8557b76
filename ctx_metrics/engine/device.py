"""Devices: their names, threads, number formats, batches within their memory, and copies that the CPU does not wait for."""

import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from .. import engine
from ..errors import ResourceError, lacks_memory
from ..notices import counted, notice
from ..opening import reason
from ..wording import setting_named

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
INSTALL = "https://pytorch.org/get-started/locally/"
T = TypeVar("T")
R = TypeVar("R", covariant=True)
# Tokens of one forward pass: enough to fill the device, few enough to stay in a CPU's cache.
TOKEN_BUDGETS = {"cpu": 2048, "mps": 8192, "cuda": 32768}


def resolve_device(name: str = "auto") -> torch.device:
    """The device of a name: auto (the first usable CUDA device, else MPS, else the CPU), cpu, mps, cuda or cuda:N.

    Also limits torch to as many threads as the process may use.
    """
    limit_threads()
    if name == "auto":
        return _best_device()
    device = torch.device(name)
    if fault := device_fault(device):
        raise ResourceError(f"device {name!r} {fault}; or try {setting_named('--ctx-device', 'device', 'cpu')}")
    return device


@cache
def limit_threads() -> None:
    """Make torch use no more threads than the process may use cores, unless the user set OMP_NUM_THREADS.

    A forked process gets one thread: the others did not survive the fork, and torch would wait for them forever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))
    if engine.forked:
        torch.set_num_threads(1)
    elif not os.environ.get("OMP_NUM_THREADS") and cores() < torch.get_num_threads():
        torch.set_num_threads(cores())


def cores() -> int:
    """The number of cores that the process may use."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return there if quota is None else max(1, min(there, int(quota)))


def cpu_quota(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float | None:
    """The number of cores that the control group may use (cgroup v2's cpu.max, v1's cpu.cfs_quota_us); None: all."""
    quotas = []
    for line in _lines(own):
        _, controllers, path = line.split(":", 2)
        place = root if not controllers else root / "cpu" if "cpu" in controllers.split(",") else None
        # the limits of all parent groups also apply; in a container only the topmost group may be visible
        parts = [part for part in path.split("/") if part]
        for folder in [] if place is None else [place.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if controllers else ("cpu.max",)
            limits = " ".join(line for name in names for line in _lines(folder / name)).split()
            if len(limits) == 2 and limits[0].isdigit() and int(limits[1]):
                quotas.append(int(limits[0]) / int(limits[1]))
    return min(quotas, default=None)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.is_file() and os.access(path, os.R_OK) else []


def device_fault(device: torch.device) -> str:
    if device.type == "cuda":
        number, (seen, warning) = device.index or 0, cuda_devices()
        if number >= seen:
            return f"was not found: {warning or why_no_card(seen)}"
        if fault := cuda_fault(number):
            return f"cannot be used: {fault}"
    if device.type == "mps" and (why := why_no_mps()):
        return f"was not found: {why}"
    return ""


def why_no_card(seen: int = 0) -> str:
    """Why torch sees no more than `seen` CUDA devices, and what to do about it."""
    if torch.version.cuda is None and torch.version.hip is None:
        if platform.system() == "Darwin":
            return "Macs have no CUDA; their GPU is mps"
        return f"torch {torch.__version__} is built without CUDA; install one with CUDA, see {INSTALL}"
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return f"torch sees {counted(seen, 'card', 'cards')} with CUDA_VISIBLE_DEVICES={chosen!r}; unset or change it"
    if seen:
        return f"torch sees {counted(seen, 'card', 'cards')}, and counts them from cuda:0; give a lower number"
    return "torch sees no card; `nvidia-smi` shows whether the driver sees one"


def why_no_mps() -> str:
    if torch.backends.mps.is_available():
        return ""
    if platform.system() != "Darwin":
        return "only Macs have it"
    if not torch.backends.mps.is_built():
        return f"torch {torch.__version__} is built without it; install one with it, see {INSTALL}"
    return "it needs Apple silicon and macOS 14 or later"


def _best_device() -> torch.device:
    seen, warning = cuda_devices()
    if warning:
        notice(f"no GPU is used: {warning}")
    for number in range(seen):
        fault = cuda_fault(number)
        if not fault:
            return torch.device("cuda", number) if number else torch.device("cuda")
        notice(f"device cuda:{number} is not used: {fault}")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def cuda_devices() -> tuple[int, str]:
    """The number of CUDA devices that torch can reach, and its warnings (such as for an old driver) in one line, or ""."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = torch.cuda.device_count() if torch.cuda.is_available() else 0
    said = [" ".join(str(each.message).split()).partition(" (Triggered internally")[0] for each in caught]
    return seen, "; ".join(said)


def cuda_fault(number: int) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a card that is too old, in many lines
            capability = torch.cuda.get_device_capability(number)
    except (RuntimeError, AssertionError) as error:
        return reason(error)
    built = torch.cuda.get_arch_list()
    if not built or any(runs_on(each, capability) for each in built):
        return ""
    version = ".".join(map(str, capability))
    return f"it has compute capability {version}, and torch {torch.__version__} is built for {', '.join(built)} only"


def runs_on(architecture: str, capability: tuple[int, int]) -> bool:
    """Whether torch's code for an architecture runs on a card of a compute capability, such as (8, 9).

    sm_XY is machine code for X.Y and later versions of X; compute_XY is compiled at run time for X.Y and all later ones. A
    final "a" limits either to X.Y alone, an "f" to its family. True for architectures of other makers.

    >>> [runs_on(each, (8, 9)) for each in ("sm_80", "sm_90", "sm_89a", "compute_70", "compute_80a", "gfx90a")]
    [True, False, True, True, False, True]
    """
    parts = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", architecture)
    if parts is None:
        return True
    own, ending = (int(parts[2]), int(parts[3])), parts[4]
    if ending == "a":
        return own == capability
    return own <= capability and (own[0] == capability[0] or (parts[1] == "compute" and not ending))


def resolve_dtype(name: str) -> torch.dtype:
    return DTYPES[name]


def check_arithmetic(device: torch.device, dtype: torch.dtype) -> None:
    check_tf32(device, dtype)
    if device.type != "cpu" or dtype != torch.bfloat16 or platform.machine() not in ("x86_64", "AMD64"):
        return
    tests = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    if not any(getattr(torch.cpu, test, bool)() for test in tests):
        given = setting_named("--ctx-dtype", "dtype", "bf16")
        notice(f"{given}: this CPU has no bf16 arithmetic, so fp32 is about 2.6 times faster")


def check_tf32(device: torch.device, dtype: torch.dtype) -> None:
    if dtype == torch.float32 and computes_in_tf32(device):
        asked = "as torch.set_float32_matmul_precision or TORCH_ALLOW_TF32_CUBLAS_OVERRIDE asks"
        notice(f"{device} computes fp32 in TF32, {asked}; results are less exact")


def computes_in_tf32(device: torch.device) -> bool:
    """Whether torch multiplies fp32 matrices in TF32, which rounds to 11 bits. By default it does not.

    The environment, or a program that uses ctx-metrics, can turn it on for CUDA devices from Ampere on.
    """
    matrices: Any = torch.backends.cuda.matmul
    asked = device.type == "cuda" and matrices.fp32_precision == "tf32"
    return asked and torch.cuda.get_device_capability(device) >= (8, 0)


def number_format(name: str, device: str | torch.device) -> str:
    """A number format as signatures show it: its name, but "tf32" if fp32 is computed in TF32.

    >>> number_format("fp32", "cpu"), number_format("bf16", "cpu")
    ('fp32', 'bf16')
    """
    return "tf32" if name == "fp32" and computes_in_tf32(resolve_device(str(device))) else name


def empty_caches() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if torch.backends.mps.is_available():
        torch.mps.empty_cache()


def token_batches(lengths: Sequence[int], budget: int, padded: bool = False) -> list[list[int]]:
    """The indices of the sequences, in batches of at most `budget` tokens, longest sequences first.

    padded    whether a batch is padded to its longest sequence; the padding then also counts

    A sequence longer than the budget gets a batch of its own. The longest come first so that a device that is too small for
    the job fails at the start. Sequences of equal length stay together and in order.

    >>> token_batches([3, 9, 4, 3], budget=7), token_batches([3, 9, 4, 3], budget=7, padded=True)
    ([[1], [2, 0], [3]], [[1], [2], [0, 3]])
    """
    batches: list[list[int]] = []
    used = size = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not padded or not batches:
            size = lengths[index]
        if not batches or used + size > budget:
            batches.append([])
            used, size = 0, lengths[index]
        batches[-1].append(index)
        used += size
    return batches


class TokenBudget:
    """The number of tokens that one forward pass may take on a device; reduced for good each time memory runs out.

    tokens    the number at first; None: the device's default
    """

    def __init__(self, device: torch.device, tokens: int | None = None):
        self.device, self.tokens = device, tokens or TOKEN_BUDGETS[device.type]

    def split(
        self, batch: Sequence[T], sizes: Sequence[int], forward: Callable[[Sequence[T]], R], one: str
    ) -> list[tuple[Sequence[T], R]]:
        """Run a batch through `forward`, in parts if necessary, and return each part with its result.

        one    end of the message about a single text that is too large: "text of {total} tokens; try ..."
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


def send(numbers: np.ndarray | torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy numbers, an array or a CPU tensor, to a device; if that is the CPU itself, they are not copied.

    CUDA reads them from pinned memory when their turn comes. A copy from other memory would wait for everything queued.
    """
    tensor = torch.from_numpy(numbers) if isinstance(numbers, np.ndarray) else numbers
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class PendingCopy:
    """Tensors of one device on their way to the CPU. CUDA copies them once they are computed, whatever is queued later."""

    def __init__(self, tensors: Iterable[torch.Tensor]):
        self._tensors, self._arrived = list(tensors), None
        if self._tensors and (device := self._tensors[0].device).type == "cuda":
            copies = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in self._tensors]
            self._tensors = [copy.copy_(t, non_blocking=True) for copy, t in zip(copies, self._tensors, strict=True)]
            self._arrived = torch.cuda.Event()
            self._arrived.record(torch.cuda.current_stream(device))

    def wait(self) -> list[torch.Tensor]:
        if self._arrived is not None:
            self._arrived.synchronize()
        return [tensor.cpu() for tensor in self._tensors]


class PendingResult(Protocol[R]):
    """A result that a device may still be computing."""

    def wait(self) -> R:
        """Wait for the result, and return it."""


def in_turn(started: Iterable[tuple[T, PendingResult[R]]]) -> Iterator[tuple[T, R]]:
    """Each item with its result, in order. The next item is started before one is waited for, so that no device idles."""
    before: tuple[T, PendingResult[R]] | None = None
    for item in started:
        if before is not None:
            yield before[0], before[1].wait()
        before = item
    if before is not None:
        yield before[0], before[1].wait()
