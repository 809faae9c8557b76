"""How well the tokens of two texts match, to explain the scores of token-matching metrics."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Side(NamedTuple):
    """The tokens of one text of a pair, without the special tokens at both ends.

    cosines    float32 [tokens]: each token's largest cosine with any token of the other text
    weights    float32 [tokens]: each token's weight in the mean of the cosines; they sum to 1
    """

    cosines: np.ndarray
    weights: np.ndarray


class PairMatch(NamedTuple):
    """The value of a pair (hypothesis, reference), and its two sides; a side that does not affect the value is None."""

    value: float
    hypothesis: Side | None
    reference: Side | None


class SegmentMatch(NamedTuple):
    """How a segment's hypothesis matches the reference with the best value; `number` is that reference, from 0."""

    number: int
    pair: PairMatch


def of_segments(
    places: Sequence[tuple[int, int, int]], pairs: Sequence[PairMatch | None], shape: tuple[int, int]
) -> list[list[SegmentMatch | None]]:
    """Return the match with the best reference as [systems][segments]; None where no pair has a value.

    places    (system, segment, reference) numbers of each pair
    shape     (number of systems, number of segments)

    >>> pairs = [PairMatch(value, None, None) for value in (0.5, 0.9)]
    >>> [[match]] = of_segments([(0, 0, 0), (0, 0, 1)], pairs, (1, 1))
    >>> match.number
    1
    """
    found: list[list[SegmentMatch | None]] = [[None] * shape[1] for _ in range(shape[0])]
    for (system, i, k), pair in zip(places, pairs, strict=True):
        best = found[system][i]
        if pair is not None and (best is None or pair.value > best.pair.value):
            found[system][i] = SegmentMatch(k, pair)
    return found
