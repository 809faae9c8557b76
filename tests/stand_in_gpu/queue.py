"""What was asked of a stand-in card, in order, and what of it has arrived."""

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

KERNEL, ALLOCATION, PINNED = "kernel", "allocation", "pinned allocation"
TO_DEVICE, TO_HOST = "copy to device", "copy to host"
SYNCHRONISATION, WAIT, RECORD, PICKLE = "synchronisation", "wait", "record", "pickle"


@dataclass(frozen=True)
class Step:
    """One step of the log.

    kind      one of the constants above
    op        the operation: "mm", "to", "item" ...
    device    the card
    bytes     of the tensors that the step makes or copies
    shape     of the first of them
    place     the innermost line of ctx_metrics that asked for it, "engine/forward.py:12", or "";
              "engine/forward.py:12, in transformers" where that library asks on its own account
    blocks    whether the host waits until the card has done all that it was asked before
    event     of WAIT and RECORD: which event
    """

    kind: str
    op: str
    device: torch.device
    bytes: int = 0
    shape: tuple[int, ...] = ()
    place: str = ""
    blocks: bool = False
    event: "Event | None" = None

    def __str__(self) -> str:
        details = [f"{self.bytes} bytes {list(self.shape)}" if self.bytes else "", "blocks" if self.blocks else ""]
        details += [f"event {self.event.number}" if self.event else "", self.place and f"({self.place})"]
        return " ".join([f"{self.device} {self.kind}: {self.op}", *filter(None, details)])


def place() -> str:
    """The innermost line of ctx_metrics on the stack."""
    frame, library = sys._getframe(1), ""
    while frame is not None:
        file = frame.f_code.co_filename
        _, package, inner = file.rpartition("/ctx_metrics/")
        if package:
            return f"{inner}:{frame.f_lineno}{library}"
        if "/site-packages/transformers/" in file:
            library = ", in transformers"
        frame = frame.f_back
    return ""


class ChangedTooEarly(AssertionError):
    """Pinned memory was written to before its copy to the card was known to be done."""


@dataclass
class Copy:
    """A copy that the host has not waited for: it is done when `number` is."""

    number: int
    device: torch.device
    finish: Callable[[], None]


class Queue:
    """The queues of all cards. Each has one stream.

    A copy to pinned memory arrives when the host waits for it, no earlier: until then the memory is full of NaN (-1 in
    integers). A copy from pinned memory must find at that time what was there when it was asked for.
    """

    def __init__(self):
        self.steps: list[Step] = []
        self.events = 0
        self._number = 0
        self._open: list[Copy] = []

    def add(self, kind: str, op: str, device: torch.device, tensor: torch.Tensor | None = None, **details) -> None:
        """Append a step."""
        if tensor is not None:
            details = {"bytes": tensor.numel() * tensor.element_size(), "shape": tuple(tensor.shape), **details}
        self._number += 1
        self.steps.append(Step(kind, op, device, place=place(), **details))
        if details.get("blocks"):
            self.finish(device)

    def late(self, pinned: torch.Tensor, device: torch.device) -> None:
        """Take back what was copied to pinned memory, until somebody waits for it."""
        address, size = pinned.data_ptr(), pinned.numel() * pinned.element_size()
        content = ctypes.string_at(address, size)
        ctypes.memset(address, 0xFF, size)

        def arrive(owner=pinned.detach()) -> None:  # which keeps the memory
            ctypes.memmove(owner.data_ptr(), content, size)

        self._open.append(Copy(self._number, device, arrive))

    def watch(self, pinned: torch.Tensor, device: torch.device) -> None:
        """Raise ChangedTooEarly later if pinned memory that is being copied to the card does not stay as it is."""
        size = pinned.numel() * pinned.element_size()
        content, asked = ctypes.string_at(pinned.data_ptr(), size), place()

        def compare(owner=pinned.detach()) -> None:
            if ctypes.string_at(owner.data_ptr(), size) != content:
                raise ChangedTooEarly(f"pinned memory changed before its copy to {device} was done ({asked})")

        self._open.append(Copy(self._number, device, compare))

    def finish(self, device: torch.device, until: int | None = None) -> None:
        """Let the copies of a card arrive, all of them or those up to a step."""
        done = [copy for copy in self._open if copy.device == device and (until is None or copy.number <= until)]
        self._open = [copy for copy in self._open if copy not in done]
        for copy in done:
            copy.finish()

    def done(self, device: torch.device, until: int) -> bool:
        """Whether the host has waited for all copies of a card up to a step."""
        return not any(copy.device == device and copy.number <= until for copy in self._open)

    @property
    def number(self) -> int:
        """How many steps there were."""
        return self._number


@dataclass(frozen=True)
class Stream:
    """The one stream of a card."""

    queue: Queue = field(repr=False)
    device: torch.device


class Event:
    """What torch.cuda.Event gives."""

    def __init__(self, queue: Queue, device: torch.device):
        self.queue, self.device = queue, device
        queue.events += 1
        self.number = queue.events
        self.recorded: int | None = None
        self.time = 0.0

    def record(self, stream: Stream | None = None) -> None:
        self.device = stream.device if stream is not None else self.device
        self.recorded, self.time = self.queue.number, time.perf_counter()
        self.queue.add(RECORD, "Event.record", self.device, event=self)

    def synchronize(self) -> None:
        self.queue.add(WAIT, "Event.synchronize", self.device, event=self)
        if self.recorded is not None:
            self.queue.finish(self.device, self.recorded)

    def query(self) -> bool:
        return self.recorded is None or self.queue.done(self.device, self.recorded)

    def elapsed_time(self, end: "Event") -> float:
        return 1000 * (end.time - self.time)
