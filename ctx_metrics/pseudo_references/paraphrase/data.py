"""Reads, joins and splits labelled sentence pairs for training."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...judgements.readers.sentence_pairs import read_pairs
from .classifier import Pair


@dataclass(frozen=True)
class LabelledPairs:
    """Ordered pairs of sentences, each with a label, 1 (paraphrase) or 0."""

    pairs: list[Pair]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.pairs)

    def part(self, rows: Iterable[int]) -> "LabelledPairs":
        chosen = list(rows)
        return LabelledPairs([self.pairs[row] for row in chosen], self.labels[chosen])


def read_labelled(path: str, alike: bool = False) -> LabelledPairs:
    """Read the pairs of a file (also .gz, .xz) whose header names sentence1, sentence2 and label, or is that of MRPC.

    alike    whether all labels may be the same
    """
    found = read_pairs(path, alike)
    if found.graded:
        raise InputError(f"{path}: its scores are grades, and a classifier needs the labels 0 and 1")
    pairs = [(first or "", second or "") for first, second in zip(found.texts[0], found.references[0], strict=True)]
    return LabelledPairs(pairs, found.human_segments[0].astype(int))


def joined(parts: Sequence[LabelledPairs]) -> LabelledPairs:
    return LabelledPairs(
        [pair for part in parts for pair in part.pairs], np.concatenate([part.labels for part in parts])
    )


def split(pairs: LabelledPairs, share: float, seed: int) -> tuple[LabelledPairs, LabelledPairs]:
    """Split pairs into the rest and a random share of the rows (rounded), each in the original order.

    >>> rows = LabelledPairs([(str(i), "x") for i in range(10)], np.arange(10) % 2)
    >>> [len(part) for part in split(rows, 0.25, seed=1)]
    [8, 2]
    """
    drawn = round(len(pairs) * share)
    if not 0 < drawn < len(pairs):
        raise InputError(
            f"--dev {share:g} of {len(pairs)} pairs leaves one part empty", fix="give more pairs or another share"
        )
    order = np.random.default_rng(seed).permutation(len(pairs))
    return pairs.part(np.sort(order[drawn:])), pairs.part(np.sort(order[:drawn]))
