"""Which storages lie on a stand-in card, how many bytes they take, and where the card has no more."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.multiprocessing.reductions import StorageWeakRef

CPU = torch.device("cpu")
NO_MEMORY = {
    "memory": lambda size: torch.OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {size / 2**20:.2f} MiB. GPU 0 has a total capacity of 79.11 GiB of which "
        "1.19 MiB is free. See documentation for Memory Management"
    ),
    "cublas alloc": lambda size: RuntimeError(
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
    ),
    "cublas init": lambda size: RuntimeError(
        "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
    ),
    "cudnn alloc": lambda size: RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
}


@dataclass
class Place:
    """Where a storage lies; `device` None: a C++ function made it, and the first tensor that it meets decides."""

    device: torch.device | None
    pinned: bool
    address: int
    size: int
    storage: StorageWeakRef  # which keeps the address from being given to another storage


class Memory:
    """The places of storages; those without one are on the CPU.

    fail_at     the allocation on a card that fails, counted from 1
    for_good    whether all later ones fail too
    failure     how: "memory", "cublas alloc", "cublas init" or "cudnn alloc"
    capacity    bytes of each card
    """

    def __init__(self, fail_at: int | None, for_good: bool, failure: str, capacity: int | None):
        self.fail_at, self.for_good, self.capacity = fail_at, for_good, capacity
        self.failure: Callable[[int], RuntimeError] = NO_MEMORY[failure]
        self.allocations = self.failures = self.peak = 0
        self._places: dict[int, Place] = {}
        self._most = 0  # bytes on the cards, of which some may be free again

    def at(self, tensor: torch.Tensor) -> Place | None:
        """Where a tensor lies, None for ordinary memory of the CPU."""
        try:
            return self._places.get(tensor.untyped_storage()._cdata)
        except (NotImplementedError, RuntimeError):  # sparse, or inside vmap
            inner = torch._C._functorch.get_unwrapped(tensor) if _is_wrapped(tensor) else None
            return None if inner is None else self.at(inner)

    def device_of(self, tensor: torch.Tensor) -> torch.device:
        """The device that a tensor claims to be on."""
        place = self.at(tensor)
        return CPU if place is None or place.device is None else place.device

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor's memory is pinned, also where it came by way of NumPy."""
        place = self.at(tensor)
        if place is not None:
            return place.pinned
        address = tensor.data_ptr()
        return any(
            each.pinned and each.address <= address < each.address + each.size and not each.storage.expired()
            for each in self._places.values()
        )

    def floats(self, tensor: torch.Tensor) -> bool:
        """Whether nobody has decided yet where a tensor lies."""
        place = self.at(tensor)
        return place is not None and place.device is None

    def put(self, tensor: torch.Tensor, device: torch.device | None, pinned: bool = False) -> bool:
        """Say where a tensor's storage lies; whether that took memory of a card. Raises where there is none left."""
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        took = device is not None and device.type == "cuda" and size > 0
        if took:
            self._allocate(size, device)
        self._places[storage._cdata] = Place(device, pinned, storage.data_ptr(), size, StorageWeakRef(storage))
        if took:
            self._most += size
            if self._most > self.peak:
                self.peak = max(self.peak, self.live())
        return took

    def _allocate(self, size: int, device: torch.device) -> None:
        self.allocations += 1
        reached = self.fail_at is not None and (
            self.allocations >= self.fail_at if self.for_good else self.allocations == self.fail_at
        )
        if reached:
            self.failures += 1
            raise self.failure(size)
        self.check(size, device)

    def check(self, size: int, device: torch.device) -> None:
        """Raise if a card has not so many bytes left."""
        if self.capacity is not None and self.live(device) + size > self.capacity:
            self.failures += 1
            raise self.failure(size)

    def live(self, device: torch.device | None = None) -> int:
        """Bytes that tensors take on a card, or on all."""
        expired = torch.UntypedStorage._expired  # which is called so often that a method around it takes long
        self._places = {key: place for key, place in self._places.items() if not expired(place.storage.cdata)}
        on_cards = [each for each in self._places.values() if each.device is not None and each.device.type == "cuda"]
        self._most = sum(each.size for each in on_cards)
        return self._most if device is None else sum(each.size for each in on_cards if each.device == device)


def _is_wrapped(tensor: torch.Tensor) -> bool:
    return torch._C._functorch.is_functorch_wrapped_tensor(tensor)
