"""Which texts are encoded together: decided once, before any of them is encoded."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

CHUNK_TOKENS = 512  # enough for a CPU's full speed; more would make texts beyond the bound dearer


class Plan:
    """Texts in the order in which they are encoded, cut into chunks that go through the network together.

    ids        token ids of all texts, specials included, one after another, int32
    lengths    how many are each text's, int32 [texts]
    """

    def __init__(self, ids: np.ndarray, lengths: np.ndarray):
        self.ids = ids
        self.ends = [0, *np.cumsum(lengths, dtype=np.int64).tolist()]  # tokens before each text
        self.before = [end - 2 * row for row, end in enumerate(self.ends)]  # the same without specials
        self.chunks = groups(lengths.tolist(), CHUNK_TOKENS)

    def text(self, row: int) -> np.ndarray:
        """Token ids of the text in a row, specials included: int32 [tokens]."""
        return self.ids[self.ends[row] : self.ends[row + 1]]

    def rows(self, chunk: int) -> range:
        """The rows of a chunk."""
        return range(self.chunks[chunk], self.chunks[chunk + 1])

    def tokens(self, chunk: int) -> int:
        """Content tokens of a chunk."""
        return self.before[self.chunks[chunk + 1]] - self.before[self.chunks[chunk]]


class Place(NamedTuple):
    """A text's plan, its chunk of the plan, and its row there."""

    plan: int
    chunk: int
    row: int


def groups(sizes: Sequence[int], limit: int) -> list[int]:
    """Where groups of neighbours start, each as long as fits the limit but of one at least; then the number of sizes.

    >>> groups([3, 3, 9, 1, 1], limit=7)
    [0, 2, 3, 5]
    """
    starts: list[int] = []
    used = 0
    for i, size in enumerate(sizes):
        if not starts or used + size > limit:
            starts.append(i)
            used = 0
        used += size
    return [*starts, len(sizes)]
