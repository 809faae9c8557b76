"""An in-process store of readouts of hidden layers, limited in memory and shared by metrics and systems."""

import mmap
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import torch

from .forward import ReadoutKey
from .readout import Rows

States = Mapping[ReadoutKey, torch.Tensor]
SLAB_BYTES = 2**24
ALIGNMENT = 64  # bytes, as for torch's own tensors
_PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}


class EmbeddingStore:
    """Readouts of texts, by their token ids; the least recently used goes first.

    States are copied into slabs of memory, each of which is freed as a whole. Tensors of single texts, allocated and freed
    between those of the network, would fragment the heap, and the process would take twice the limit.

    limit    most bytes that all kept states may take; texts that do not fit are encoded again when asked for
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.size = 0
        self._entries: dict[Hashable, KeptStates] = {}
        self._slabs: OrderedDict[Slab, None] = OrderedDict()  # an ordered set
        self._open: Slab | None = None  # the slab being filled

    def get(self, key: Hashable, readouts: Set[ReadoutKey]) -> States | None:
        states = self._entries.get(key)
        if states is None or not states.run.keys() >= readouts:
            return None
        self._slabs.move_to_end(states.slab)
        return states

    def put(self, key: Hashable, states: States) -> States:
        """Keep a copy of a text's states (CPU tensors), replacing older ones of the same text; return the copy.

        States that alone exceed the limit are not kept, but returned as they are.
        """
        return self.put_all([key], {readout: Rows(states[readout][None], None) for readout in states})[0]

    def put_all(self, keys: Sequence[Hashable], read: Mapping[ReadoutKey, Rows]) -> list[States]:
        """The same for the readouts of several texts, whose keys must differ."""
        sizes, rooms = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        for rows in read.values():
            row = rows.values[:1].nbytes if len(rows.values) else 0
            of_texts = np.full(len(keys), row) if rows.counts is None else np.array(rows.counts) * row
            sizes += of_texts
            rooms += _aligned(of_texts)
        given: list[States] = []
        while (begin := len(given)) < len(keys):
            self._forget(keys[begin])
            if sizes[begin] > self.limit:
                given.append({readout: rows.of_text(begin) for readout, rows in read.items()})
                continue
            slab = self._with_room(int(sizes[begin]), int(rooms[begin]))
            # as many more as fit without replacing or evicting anything
            fitting = np.minimum(
                np.searchsorted(np.cumsum(sizes[begin:]), self.limit - self.size, "right"),
                np.searchsorted(np.cumsum(rooms[begin:]), slab.free, "right"),
            )
            end = begin + 1
            while end < begin + fitting and keys[end] not in self._entries:
                end += 1
            run = slab.copy({readout: rows.of_texts(begin, end) for readout, rows in read.items()})
            kept = [KeptStates(slab, run, number) for number in range(end - begin)]
            self._entries.update(zip(keys[begin:end], kept, strict=True))
            size = int(sizes[begin:end].sum())
            slab.keys.update(keys[begin:end])
            slab.size += size
            self.size += size
            given += kept
        return given

    def _forget(self, key: Hashable) -> None:
        if (older := self._entries.pop(key, None)) is not None:
            older.slab.keys.remove(key)
            if not older.slab.keys:
                self._drop(older.slab)

    def _with_room(self, size: int, room: int) -> "Slab":
        """The slab being filled, with `room` bytes free; old slabs are dropped until the store has `size` bytes left."""
        while self.size + size > self.limit:
            self._drop(next(iter(self._slabs)))
        if self._open is None or self._open.free < room:
            self._open = Slab(max(room, min(SLAB_BYTES, self.limit // 8)))
            self._slabs[self._open] = None
        self._slabs.move_to_end(self._open)
        return self._open

    def _drop(self, slab: "Slab") -> None:
        del self._slabs[slab]
        self.size -= slab.size
        for key in slab.keys:
            del self._entries[key]
        if slab is self._open:
            self._open = None


class Slab:
    """A block of memory into which tensors are copied, one after another.

    It is mapped, so that it takes no more memory than was copied, and returns it to the system when freed.
    """

    def __init__(self, room: int):
        self._memory = mmap.mmap(-1, max(room, 1), **_PRIVATE)
        self.free, self.size = room, 0
        self.keys: set[Hashable] = set()

    def copy(self, read: Mapping[ReadoutKey, Rows]) -> dict[ReadoutKey, Rows]:
        return {readout: Rows(self._copied(rows.values), rows.counts) for readout, rows in read.items()}

    def _copied(self, values: torch.Tensor) -> torch.Tensor:
        if not values.numel():
            return values.clone()
        array = values.numpy()
        copy: np.ndarray = np.ndarray(array.shape, array.dtype, self._memory, len(self._memory) - self.free)
        copy[...] = array
        self.free -= int(_aligned(array.nbytes))
        return torch.from_numpy(copy)


class KeptStates(States):
    """The states of a text in a slab, the `number`-th of a run of texts that were copied together.

    Tensors are created on access: even the objects without their data would fragment the heap.
    """

    __slots__ = ("number", "run", "slab")

    def __init__(self, slab: Slab, run: dict[ReadoutKey, Rows], number: int):
        self.slab, self.run, self.number = slab, run, number

    def __getitem__(self, readout: ReadoutKey) -> torch.Tensor:
        return self.run[readout].of_text(self.number)

    def __iter__(self) -> Iterator[ReadoutKey]:
        return iter(self.run)

    def __len__(self) -> int:
        return len(self.run)


def stacked(states: Sequence[States], readout: ReadoutKey) -> torch.Tensor:
    """Stack copies of each text's readout, tensors of one shape: [texts, ...]."""
    kept = [of_text for of_text in states if isinstance(of_text, KeptStates)]
    if len(kept) < len(states):
        return torch.stack([of_text[readout] for of_text in states])
    runs: dict[int, tuple[np.ndarray, list[int], list[int]]] = {}
    for place, of_text in enumerate(kept):
        if (of_run := runs.get(id(of_text.run))) is None:
            of_run = runs[id(of_text.run)] = of_text.run[readout].values.numpy(), [], []
        of_run[1].append(of_text.number)
        of_run[2].append(place)
    first = next(iter(runs.values()))[0]
    out = np.empty((len(states), *first.shape[1:]), first.dtype)
    for values, numbers, places in runs.values():
        out[places] = values[numbers]
    return torch.from_numpy(out)


def _aligned(sizes: Any) -> Any:
    """The bytes that tensors of these sizes, an int or an array, take in a slab."""
    return -(-sizes // ALIGNMENT) * ALIGNMENT
