"""An in-process store of what was read of hidden layers, shared by metrics and systems and bounded in memory."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Optional

import torch

from .forward import ReadoutKey

States = dict[ReadoutKey, torch.Tensor]


class EmbeddingStore:
    """What was read of texts, by the content of their token ids, least recently used out first.

    limit    bytes that the kept tensors may take together; what does not fit is simply encoded again when asked for
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.size = 0
        self._entries: OrderedDict[Hashable, States] = OrderedDict()

    def get(self, key: Hashable, readouts: Iterable[ReadoutKey]) -> Optional[States]:
        """The states of a text if all these readouts are kept, else None."""
        states = self._entries.get(key)
        if states is None or not states.keys() >= set(readouts):
            return None
        self._entries.move_to_end(key)
        return states

    def put(self, key: Hashable, states: States) -> None:
        """Keep a text's states (CPU tensors that own their memory), in place of older ones of the same text.

        States that exceed the bound by themselves are not kept.
        """
        self._drop(key)
        if _bytes(states) > self.limit:
            return
        self._entries[key] = states
        self.size += _bytes(states)
        while self.size > self.limit:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: Hashable) -> None:
        states = self._entries.pop(key, None)
        if states is not None:
            self.size -= _bytes(states)


def _bytes(states: States) -> int:
    return sum(tensor.nbytes for tensor in states.values())
