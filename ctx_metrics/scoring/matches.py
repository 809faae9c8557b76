"""How well the tokens of two texts match, which explains the scores of metrics that match tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Side(NamedTuple):
    """The tokens of one text of a pair, without the special ones at both ends.

    cosines    float32 [tokens]: the largest with any token of the other text
    weights    float32 [tokens]: of each in the mean of the cosines; they sum to 1
    """

    cosines: np.ndarray
    weights: np.ndarray


class PairMatch(NamedTuple):
    """The value of a pair (hypothesis, reference), and its sides; None for one that the value does not depend on."""

    value: float
    hypothesis: Side | None
    reference: Side | None


class SegmentMatch(NamedTuple):
    """A segment's hypothesis and the reference whose value counts: its number, from 0, and how they match."""

    number: int
    pair: PairMatch


def of_segments(
    places: Sequence[tuple[int, int, int]], pairs: Sequence[PairMatch | None], shape: tuple[int, int]
) -> list[list[SegmentMatch | None]]:
    """Of each system and segment, the reference with the largest value; None where no pair has one.

    places    (system, segment, number of the reference) of each pair
    shape     the numbers of systems and segments

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
