"""An in-process store of hidden layers, so that metrics and systems share what was encoded; bounded in memory."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from typing import Optional

import torch

from .forward import LayerMix

States = dict[LayerMix, torch.Tensor]


class EmbeddingStore:
    """Hidden layers by (encoder, content of the token ids), least recently used out first.

    limit    bytes that the kept tensors may take together; what does not fit is simply encoded again when asked for
    """

    def __init__(self, limit: int):
        self.limit = limit
        self.size = 0
        self._entries: OrderedDict[Hashable, States] = OrderedDict()

    def get(self, key: Hashable, mixes: Iterable[LayerMix]) -> Optional[States]:
        """The states of a text if all these layer mixes are kept, else None."""
        states = self._entries.get(key)
        if states is None or not states.keys() >= set(mixes):
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
