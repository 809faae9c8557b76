"""An in-process store of what was read of hidden layers, shared by metrics and systems and bounded in memory."""

import math
import mmap
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
import torch

from .forward import ReadoutKey
from .lazy import LazyMapping

States = Mapping[ReadoutKey, torch.Tensor]
Place = tuple[int, tuple[int, ...], np.dtype]  # where a tensor lies in a slab, and what it is
SLAB_BYTES = 2**24
ALIGNMENT = 64  # bytes, as of torch's own tensors
_PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


class EmbeddingStore:
    """What was read of texts, by the content of their token ids; what was not used for longest goes first.

    States are copied into slabs of memory, each of which goes as a whole. Tensors of single texts, made and freed between
    those of the network, would leave the heap in pieces, and the process at twice the bound.

    limit    bytes that the kept states may take together; what does not fit is simply encoded again when asked for
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.size = 0
        self._entries: dict[Hashable, KeptStates] = {}
        self._slabs: OrderedDict[Slab, None] = OrderedDict()  # a set that keeps its order
        self._open: Slab | None = None  # the one that is being filled

    def get(self, key: Hashable, readouts: Iterable[ReadoutKey]) -> States | None:
        """The states of a text if all these readouts are kept, else None."""
        states = self._entries.get(key)
        if states is None or not states.keys() >= set(readouts):
            return None
        self._slabs.move_to_end(states.slab)
        return states

    def put(self, key: Hashable, states: States) -> States:
        """Keep a copy of a text's states (CPU tensors), in place of older ones of the same text; gives the copy.

        States that exceed the bound by themselves are not kept, and given back as they are.
        """
        tensors = dict(states)
        if (older := self._entries.pop(key, None)) is not None:
            older.slab.keys.remove(key)
            if not older.slab.keys:
                self._drop(older.slab)
        size = sum(tensor.nbytes for tensor in tensors.values())
        if size > self.limit:
            return states
        while self.size + size > self.limit:
            self._drop(next(iter(self._slabs)))
        room = sum(_aligned(tensor.nbytes) for tensor in tensors.values())
        if self._open is None or self._open.free < room:
            self._open = Slab(max(room, min(SLAB_BYTES, self.limit // 8)))
            self._slabs[self._open] = None
        self._slabs.move_to_end(self._open)
        kept = KeptStates(self._open, {readout: self._open.copy(tensor) for readout, tensor in tensors.items()})
        self._entries[key] = kept
        self._open.keys.add(key)
        self._open.size += size
        self.size += size
        return kept

    def _drop(self, slab: "Slab") -> None:
        del self._slabs[slab]
        self.size -= slab.size
        for key in slab.keys:
            del self._entries[key]
        if slab is self._open:
            self._open = None


class Slab:
    """A piece of memory that tensors are copied into, one after another.

    Mapped, so that it takes no more than what is copied and goes back to the system when it is free.

    free    bytes left;  keys, size    of the texts whose states are there, and the bytes that they take
    """

    def __init__(self, room: int):
        self._memory = mmap.mmap(-1, max(room, 1), **_PRIVATE)
        self.free, self.size = room, 0
        self.keys: set[Hashable] = set()

    def copy(self, tensor: torch.Tensor) -> Place:
        """Copy a tensor into this memory."""
        array = tensor.numpy()
        place = len(self._memory) - self.free, array.shape, array.dtype
        self.free -= _aligned(array.nbytes)
        if array.size:
            self._array(place)[...] = array
        return place

    def at(self, place: Place) -> torch.Tensor:
        """The tensor that was copied to a place."""
        return torch.from_numpy(self._array(place) if math.prod(place[1]) else np.empty(*place[1:]))

    def _array(self, place: Place) -> np.ndarray:
        begin, shape, dtype = place
        return np.ndarray(shape, dtype, self._memory, begin)


class KeptStates(LazyMapping[ReadoutKey, torch.Tensor]):
    """The states of a text in a slab. Tensors are made when asked for: their heads too would leave the heap in pieces."""

    def __init__(self, slab: Slab, places: dict[ReadoutKey, Place]):
        super().__init__(places)
        self.slab = slab

    def __getitem__(self, readout: ReadoutKey) -> torch.Tensor:
        return self.slab.at(self._parts[readout])


def _aligned(size: int) -> int:
    """The bytes that a tensor of `size` bytes takes in a slab."""
    return -(-size // ALIGNMENT) * ALIGNMENT
