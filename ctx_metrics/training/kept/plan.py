"""Which texts are encoded together: decided once, before any of them is encoded.

A text is its token ids, specials included: int32, as bytes.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

CHUNK_TOKENS = 512  # enough for a CPU's full speed; more would make texts beyond the bound dearer
ID_BYTES = 4


class Chunk(NamedTuple):
    """Texts that go through the network together; `file` is that of their states, None for those that may not be kept."""

    texts: list[bytes]
    file: Path | None

    @property
    def ends(self) -> list[int]:
        """0, and the content tokens to the end of each text."""
        return [0, *accumulate(len(text) // ID_BYTES - 2 for text in self.texts)]

    @property
    def identity(self) -> bytes:
        """What no other chunk has."""
        return b"".join(self.texts)


def chunked(texts: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The texts of each chunk, in the order in which texts are given."""
    starts = groups([len(text) // ID_BYTES for text in texts], CHUNK_TOKENS)
    return (list(texts[start:end]) for start, end in pairwise(starts))


def as_bytes(texts: Sequence[bytes]) -> bytes:
    """A plan for a file: int32 numbers, of texts and of each one's bytes; and the texts."""
    return np.array([len(texts), *map(len, texts)], np.int32).tobytes() + b"".join(texts)


def from_bytes(content: bytes) -> list[bytes]:
    """The texts of which `as_bytes` gave these."""
    number, *lengths = np.frombuffer(content, np.int32, 1 + int.from_bytes(content[:ID_BYTES], "little")).tolist()
    return [content[start:end] for start, end in pairwise(accumulate(lengths, initial=ID_BYTES * (1 + number)))]


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
