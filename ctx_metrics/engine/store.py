"""An in-process store of what was read of hidden layers, shared by metrics and systems and bounded in memory."""

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

    def get(self, key: Hashable, readouts: Set[ReadoutKey]) -> States | None:
        """The states of a text if all these readouts are kept, else None."""
        states = self._entries.get(key)
        if states is None or not states.run.keys() >= readouts:
            return None
        self._slabs.move_to_end(states.slab)
        return states

    def put(self, key: Hashable, states: States) -> States:
        """Keep a copy of a text's states (CPU tensors), in place of older ones of the same text; gives the copy.

        States that exceed the bound by themselves are not kept, and given back as they are.
        """
        return self.put_all([key], {readout: Rows(states[readout][None], None) for readout in states})[0]

    def put_all(self, keys: Sequence[Hashable], read: Mapping[ReadoutKey, Rows]) -> list[States]:
        """The same of what was read of several texts, whose keys differ."""
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
            # as many more as neither replace nor push out anything
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
        """Drop a text's states, if there are any; their memory goes with the others of the slab."""
        if (older := self._entries.pop(key, None)) is not None:
            older.slab.keys.remove(key)
            if not older.slab.keys:
                self._drop(older.slab)

    def _with_room(self, size: int, room: int) -> "Slab":
        """The slab that is being filled, with `room` for states of `size` bytes, which the store then has, too."""
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
    """A piece of memory that tensors are copied into, one after another.

    Mapped, so that it takes no more than what is copied and goes back to the system when it is free.

    free    bytes left;  keys, size    of the texts whose states are there, and the bytes that they take
    """

    def __init__(self, room: int):
        self._memory = mmap.mmap(-1, max(room, 1), **_PRIVATE)
        self.free, self.size = room, 0
        self.keys: set[Hashable] = set()

    def copy(self, read: Mapping[ReadoutKey, Rows]) -> dict[ReadoutKey, Rows]:
        """A copy, in this memory, of what was read of some texts."""
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

    Tensors are made when asked for: their heads too would leave the heap in pieces.
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
    """What was read of each text, a tensor of one shape, below one another: [texts, ...], a copy."""
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
