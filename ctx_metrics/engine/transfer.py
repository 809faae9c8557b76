"""Copies between the CPU and a device that do not block: the CPU waits only when it needs the result."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

import numpy as np
import torch

Item = TypeVar("Item")
Result = TypeVar("Result", covariant=True)


def send(numbers: np.ndarray | torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy numbers, an array or a CPU tensor, to a device; if that is the CPU itself, they are not copied.

    CUDA reads them from pinned memory when their turn comes. A copy from other memory would wait for everything queued.
    """
    tensor = torch.from_numpy(numbers) if isinstance(numbers, np.ndarray) else numbers
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Fetched:
    """Tensors of one device on their way to the CPU. CUDA copies them once they are computed, whatever is queued later."""

    def __init__(self, tensors: Iterable[torch.Tensor]):
        self._tensors, self._arrived = list(tensors), None
        if self._tensors and (device := self._tensors[0].device).type == "cuda":
            copies = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in self._tensors]
            self._tensors = [copy.copy_(t, non_blocking=True) for copy, t in zip(copies, self._tensors, strict=True)]
            self._arrived = torch.cuda.Event()
            self._arrived.record(torch.cuda.current_stream(device))

    def wait(self) -> list[torch.Tensor]:
        """Wait until the tensors are on the CPU, and return them."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return [tensor.cpu() for tensor in self._tensors]


class OnItsWay(Protocol[Result]):
    """A result that a device may still be computing."""

    def wait(self) -> Result:
        """Wait for the result, and return it."""


def in_turn(started: Iterable[tuple[Item, OnItsWay[Result]]]) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in order. The next item is started before one is waited for, so that no device idles."""
    before: tuple[Item, OnItsWay[Result]] | None = None
    for item in started:
        if before is not None:
            yield before[0], before[1].wait()
        before = item
    if before is not None:
        yield before[0], before[1].wait()
