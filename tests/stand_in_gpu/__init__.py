"""A CUDA card for the tests that is ordinary memory: it complains, counts and is late where a card is.

    with StandInGpu() as gpu:
        metric.corpus_score(hypotheses, [references])    # --ctx-device auto, cuda, cuda:0
    print(*gpu.steps, sep="\\n")

Inside the block `torch.cuda.is_available()` is true, and tensors claim to be where they were sent. Each storage is marked
with its device. What Python sees of it (`Tensor.device`, `.to`, factories, `torch.cuda`) is replaced in `names`, for the
whole process; `ops` sees every operation of this thread beneath, C++ functions' and autograd's too.

- `ops` raises where devices mix, and notes kernels and what makes the host wait.
- `queue` has the log, and lets copies to pinned memory arrive late.
- `memory` counts bytes, and fails at a chosen allocation or beyond a capacity.
- `varlen` is the kernel for sequences of different lengths.

A copy that is asked not to block, but from or to ordinary memory, counts as one that blocks: the driver may wait there.

What it cannot show: speed, rounding of a card's kernels, more than one stream for each card, and what C++ functions
allocate for their own use.
"""

import contextlib
import os
import threading
from collections.abc import Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .memory import CPU, Memory
from .names import Names
from .ops import Dispatch
from .queue import PICKLE, TO_DEVICE, TO_HOST, Queue, Step


class StandInGpu:
    """Cards that are ordinary memory, in a `with` block.

    devices          how many cards
    capability       of all of them
    architectures    what torch claims to have kernels for
    fail_at          the allocation that fails, counted from 1 over all cards
    for_good         whether all later allocations fail too
    failure          how: "memory", "cublas alloc", "cublas init" or "cudnn alloc"
    capacity         bytes of each card
    pickles          whether tensors on a card may be pickled; they are noted in any case

    steps            the log
    memory           counts allocations, those that failed, and the most bytes that were in use at once
    """

    def __init__(
        self,
        *,
        devices: int = 1,
        capability: tuple[int, int] = (8, 0),
        architectures: tuple[str, ...] = ("sm_75", "sm_80", "sm_86", "sm_90"),
        fail_at: int | None = None,
        for_good: bool = False,
        failure: str = "memory",
        capacity: int | None = None,
        pickles: bool = True,
    ):
        self.devices, self.capability, self.architectures = devices, capability, architectures
        self.pickles = pickles
        self.memory = Memory(fail_at, for_good, failure, capacity)
        self.queue = Queue()
        self.current = torch.device("cuda", 0)
        self.started = False
        self._process = os.getpid()
        self._here = threading.local()
        self._names, self._dispatch = Names(self), Dispatch(self)

    def __enter__(self) -> "StandInGpu":
        self._names.install()
        self._dispatch.__enter__()
        return self

    def __exit__(self, *error) -> None:
        self._dispatch.__exit__(*error)
        self._names.remove()
        if error[0] is None:
            for number in range(self.devices):
                self.queue.finish(torch.device("cuda", number))

    @property
    def steps(self) -> list[Step]:
        return self.queue.steps

    def of(self, *kinds: str) -> list[Step]:
        """The steps of some kinds."""
        return [step for step in self.steps if step.kind in kinds]

    def forget_peak(self) -> None:
        """Let the peak be what is in use now."""
        self.memory.peak = self.memory.live()

    # for the other modules

    def canonical(self, device) -> torch.device:
        """A device with its number; raises as CUDA does for a card that is not there."""
        device = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
        if device.type != "cuda":
            return torch.device(device.type)
        if device.index is not None and device.index >= self.devices:
            raise RuntimeError("CUDA error: invalid device ordinal")
        return self.current if device.index is None else device

    def start(self, device: torch.device) -> None:
        """Raise as CUDA does in a forked process."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                "'spawn' start method"
            )
        self.started = True

    @property
    def placing(self) -> torch.device | None:
        """Where the running function puts what it makes; None: where its arguments are."""
        return getattr(self._here, "placing", None)

    @contextlib.contextmanager
    def put_at(self, device: torch.device | None) -> Iterator[None]:
        """Let what the block makes lie on a device."""
        before, self._here.placing = self.placing, device
        try:
            yield
        finally:
            self._here.placing = before

    @contextlib.contextmanager
    def unseen(self) -> Iterator[None]:
        """Run what is no operation of the code under test."""
        with _disable_current_modes():
            yield

    def transferred(
        self, op: str, source: torch.Tensor, target: torch.Tensor, of: torch.device, to: torch.device, ahead: bool
    ) -> None:
        """Note a copy between devices that was made. The host does not wait for it if it was asked not to (`ahead`) and
        the memory of the host is pinned and in one piece."""
        if not target.numel():
            return
        if of != CPU and to != CPU:
            raise NotImplementedError("the stand-in has no copies between cards")
        on_host, device = (source, to) if of == CPU else (target, of)
        ahead = ahead and self.memory.is_pinned(on_host) and on_host.is_contiguous()
        self.queue.add(TO_DEVICE if of == CPU else TO_HOST, op, device, target, blocks=not ahead)
        if ahead and of == CPU:
            self.queue.watch(source, device)
        elif ahead:
            self.queue.late(target, device)

    def pickled(self, tensor: torch.Tensor) -> None:
        """Note that a tensor of a card is pickled."""
        device = self.memory.device_of(tensor)
        self.queue.add(PICKLE, "pickle", device, tensor)
        if not self.pickles:
            raise TypeError(f"a tensor on {device} was pickled: {list(tensor.shape)}")
