"""Copies between the CPU and a device that nothing waits for: the CPU goes on at once, until it reads what came back."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

import numpy as np
import torch

Item = TypeVar("Item")
Result = TypeVar("Result", covariant=True)


def send(numbers: np.ndarray | torch.Tensor, device: torch.device) -> torch.Tensor:
    """The numbers, an array or a tensor on the CPU, on a device; there they are as they are on the CPU itself.

    CUDA reads them from pinned memory when it gets there. A copy from other memory would wait for all that is queued.
    """
    tensor = torch.from_numpy(numbers) if isinstance(numbers, np.ndarray) else numbers
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Fetched:
    """Tensors of one device on their way to the CPU. CUDA copies them as soon as it has computed them, whatever is queued
    later."""

    def __init__(self, tensors: Iterable[torch.Tensor]):
        self._tensors, self._arrived = list(tensors), None
        if self._tensors and (device := self._tensors[0].device).type == "cuda":
            copies = [torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True) for tensor in self._tensors]
            self._tensors = [copy.copy_(t, non_blocking=True) for copy, t in zip(copies, self._tensors, strict=True)]
            self._arrived = torch.cuda.Event()
            self._arrived.record(torch.cuda.current_stream(device))

    def wait(self) -> list[torch.Tensor]:
        """The tensors on the CPU, once they are there."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return [tensor.cpu() for tensor in self._tensors]


class OnItsWay(Protocol[Result]):
    """What a device is still at work on."""

    def wait(self) -> Result:
        """What it is, once it is there."""


def in_turn(started: Iterable[tuple[Item, OnItsWay[Result]]]) -> Iterator[tuple[Item, Result]]:
    """Each item with what is fetched for it. Before one is waited for, the next one is started, so that no device idles."""
    before: tuple[Item, OnItsWay[Result]] | None = None
    for item in started:
        if before is not None:
            yield before[0], before[1].wait()
        before = item
    if before is not None:
        yield before[0], before[1].wait()
