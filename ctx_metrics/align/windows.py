"""Tokens that each segment can have: in a long document near a rough path over groups of both, then near a first path."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch

from .path import Prices, Span, best_path
from .values import Side, token_values
from .vectors import Tokens

CELLS = 4_000_000  # a smaller matrix of tokens is computed as a whole
GROUPS = 1_500  # most groups of a side
MARGINS = (4, 8, 16, 32)  # groups on each side of the rough path: the next if the path touches a border
NEIGHBOURS = 3  # segments on each side whose tokens on the first path a segment can have
_OMISSION = 1.0  # price of a group without tokens on the rough path


def whole(tokens: int, segments: int) -> list[Span]:
    return [(0, tokens)] * segments


def rough_windows(hypothesis: Tokens, side: Side, margin: int) -> list[Span]:
    """Windows around the best path of groups of tokens through groups of segments, each the mean of its tokens' vectors."""
    segments = side.tokens
    stream, ends = hypothesis.vectors, segments.ends.tolist()
    tokens = len(stream)
    size, together = -(-tokens // GROUPS), -(-len(ends) // GROUPS)
    begins = np.arange(0, tokens, size)
    bounds = np.append(ends[together - 1 : -1 : together], ends[-1])
    left, right = _means(stream, np.append(begins[1:], tokens)), _means(segments.vectors, bounds)
    windows = whole(len(left), len(right))
    values = token_values(left, right, list(range(1, len(right) + 1)), windows, side.matching)
    path = best_path(
        [values[:, number] for number in range(len(right))],
        windows,
        [np.zeros(len(left) + 1)] * (len(right) + 1),
        Prices(np.full(len(right), _OMISSION)),
    )
    lows, highs, at = [], [], 0
    for span in path.spans:
        begin, at = span or (at, at)
        lows.append(max(0, begin - margin) * size)
        highs.append(min(tokens, (at + margin) * size))
    first, last = lows[0], highs[-1]
    lows[0], highs[-1] = min(first, 0), max(last, tokens)
    of_groups = list(zip(np.minimum.accumulate(lows[::-1])[::-1], np.maximum.accumulate(highs), strict=True))
    return [(int(low), int(high)) for number in range(len(ends)) for low, high in [of_groups[number // together]]]


def nearby(spans: Sequence[Span | None], windows: Sequence[Span]) -> list[Span]:
    """The tokens of each segment and its neighbours on a path, as far as it is in the segment's window.

    >>> nearby([(0, 5), None, (5, 6), (6, 7), (7, 8), (8, 9)], [(0, 9)] * 5 + [(6, 9)])
    [(0, 7), (0, 8), (0, 9), (0, 9), (5, 9), (6, 9)]
    """
    known, at = [], 0
    for span in spans:
        begin, at = span or (at, at)
        known.append((begin, at))
    padded = [known[0]] * NEIGHBOURS + known + [known[-1]] * NEIGHBOURS
    ends = zip(windows, padded, padded[2 * NEIGHBOURS :], strict=False)
    return [(max(low, begin), min(high, end)) for (low, high), (begin, _), (_, end) in ends]


def between_words(windows: Sequence[Span], is_open: np.ndarray) -> list[Span]:
    """The windows, widened to places where a segment may begin; otherwise no path might lead through a long word.

    is_open    whether a segment may begin with each token, bool [tokens]

    >>> between_words([(0, 2), (1, 3), (2, 4)], np.array([False, True, False, False]))
    [(0, 4), (1, 4), (1, 4)]
    """
    places = np.flatnonzero(np.concatenate([[True], is_open[1:], [True]]))
    lows, highs = np.array(windows).T
    lows = places[np.searchsorted(places, lows, "right") - 1]
    highs = places[np.searchsorted(places, highs)]
    return [(int(low), int(high)) for low, high in zip(lows, highs, strict=True)]


def touched(windows: Sequence[Span], spans: Sequence[Span | None], tokens: int) -> bool:
    """Whether a segment's tokens reach the border of its window, so that the best ones may lie outside."""
    return any(
        span is not None and ((span[0] == low and low > 0) or (span[1] == high and high < tokens))
        for (low, high), span in zip(windows, spans, strict=True)
    )


def _means(vectors: torch.Tensor, ends: np.ndarray) -> torch.Tensor:
    """Unit vectors of the sums of consecutive rows, fp32; of none, zeros."""
    sums = torch.zeros(len(ends), vectors.shape[1])
    for number, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        sums[number] = vectors[begin:end].sum(0, dtype=torch.float32)
    return sums / sums.norm(dim=1, keepdim=True).clamp(min=1e-9)
