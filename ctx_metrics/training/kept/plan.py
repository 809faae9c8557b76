"""Which texts are encoded together: decided once, before any of them is encoded."""

from collections.abc import Iterator, Sequence
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

    @classmethod
    def from_bytes(cls, content: bytes) -> "Plan":
        """The plan of which `as_bytes` gave these."""
        [texts], numbers = np.split(np.frombuffer(content, np.int32), [1])
        return cls(numbers[texts:], numbers[:texts])

    def as_bytes(self) -> bytes:
        """The plan for a file: int32 numbers, of texts, of each one's tokens, and all ids."""
        lengths = np.diff(self.ends)
        return np.concatenate([[len(lengths)], lengths, self.ids]).astype(np.int32).tobytes()

    def places(self, number: int) -> Iterator[tuple[bytes, "Place"]]:
        """The token ids of each text, and its place if the plan has this number."""
        for chunk in range(len(self.chunks) - 1):
            yield from ((self.text(row).tobytes(), Place(number, chunk, row)) for row in self.rows(chunk))

    def text(self, row: int) -> np.ndarray:
        """Token ids of the text in a row, specials included: int32 [tokens]."""
        return self.ids[self.ends[row] : self.ends[row + 1]]

    def rows(self, chunk: int) -> range:
        """The rows of a chunk."""
        return range(self.chunks[chunk], self.chunks[chunk + 1])

    def tokens(self, chunk: int) -> int:
        """Content tokens of a chunk."""
        return self.before[self.chunks[chunk + 1]] - self.before[self.chunks[chunk]]

    def part(self, place: "Place") -> slice:
        """Which of the content tokens of its chunk are a text's."""
        first = self.before[self.chunks[place.chunk]]
        return slice(self.before[place.row] - first, self.before[place.row + 1] - first)

    def identity(self, chunk: int) -> bytes:
        """The token ids of a chunk."""
        return self.ids[self.ends[self.chunks[chunk]] : self.ends[self.chunks[chunk + 1]]].tobytes()


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
