"""Labelled sentence pairs to learn from: read, joined, split."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...meta.judgements.readers.sentence_pairs import read_pairs
from ..paraphrase.sequence_classifier import Pair


@dataclass(frozen=True)
class LabelledPairs:
    """Ordered pairs of sentences, and the label 1 (paraphrase) or 0 of each."""

    pairs: list[Pair]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def part(self, rows: Iterable[int]) -> "LabelledPairs":
        chosen = list(rows)
        return LabelledPairs([self.pairs[row] for row in chosen], self.labels[chosen])


def read_labelled(path: str, alike: bool = False) -> LabelledPairs:
    """The pairs of a file (.gz, .xz too): a header that names sentence1, sentence2 and label, or MRPC's own.

    alike    whether the labels may all be the same

    Raises InputError, naming file and line, for what is no such file.
    """
    found = read_pairs(path, alike)
    if found.graded:
        raise InputError(f"{path}: its scores are grades, and a classifier needs the labels 0 and 1")
    pairs = [(first or "", second or "") for first, second in zip(found.texts[0], found.references[0], strict=True)]
    return LabelledPairs(pairs, found.human_segments[0].astype(int))


def joined(parts: Sequence[LabelledPairs]) -> LabelledPairs:
    """The pairs of several files, one after the other."""
    return LabelledPairs(
        [pair for part in parts for pair in part.pairs], np.concatenate([part.labels for part in parts])
    )


def split(pairs: LabelledPairs, share: float, seed: int) -> tuple[LabelledPairs, LabelledPairs]:
    """Two parts in the order of the rows: what is left, and a random share of the rows, rounded.

    Raises InputError if a part would be empty.

    >>> rows = LabelledPairs([(str(i), "x") for i in range(10)], np.arange(10) % 2)
    >>> [len(part) for part in split(rows, 0.25, seed=1)]
    [8, 2]
    """
    drawn = round(len(pairs) * share)
    if not 0 < drawn < len(pairs):
        raise InputError(
            f"--dev {share:g} of {len(pairs)} pairs leaves one part empty; give more pairs or another share"
        )
    order = np.random.default_rng(seed).permutation(len(pairs))
    return pairs.part(np.sort(order[drawn:])), pairs.part(np.sort(order[:drawn]))
