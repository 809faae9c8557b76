"""Computes how well each token of a stream fits each segment, from the vectors of both sides' tokens."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from .path import Span
from .vectors import Tokens

TEMPERATURE = 0.07  # of the cosines
TINY = 1e-30  # in place of a sum of 0, which is divided by
# of a long document, segments whose values are computed together, and their neighbours on each side
SEGMENTS_AT_ONCE, AROUND = 24, 12


class Matching(NamedTuple):
    """The value of an encoder's matches.

    chance       of a token that matches nothing in any segment, as a share of one certain match
    closeness    weight of a token's best cosine with the segment
    """

    chance: float
    closeness: float


class Side(NamedTuple):
    """The tokens of segments that a hypothesis is compared with, such as references.

    weight    of the values, relative to the other sides
    """

    tokens: Tokens
    matching: Matching
    weight: float = 1.0


def window_values(hypothesis: Tokens, sides: Sequence[Side], windows: Sequence[Span]) -> list[np.ndarray]:
    """The values of each segment's window of the hypothesis's tokens in the segment, fp32 [tokens of the window]: their
    weighted mean over the sides that have tokens of the segment."""
    found = []
    bounds = [[0, *segments.ends.tolist()] for segments, *_ in sides]
    for first, last, begin, end in _blocks(windows):
        low, high = windows[begin][0], windows[end - 1][1]
        values, weights = np.zeros((high - low, end - begin), np.float32), np.zeros(end - begin, np.float32)
        for (segments, matching, weight), of_side in zip(sides, bounds, strict=True):
            start, *ends = of_side[begin : end + 1]
            own = [place - start for place in ends]
            rows = [(a - low, b - low) for a, b in windows[begin:end]]
            of_segments = segments.vectors[start : start + own[-1]]
            of_tokens = token_values(hypothesis.vectors[low:high], of_segments, own, rows, matching)
            of_tokens *= weight
            values += of_tokens
            weights += weight * (np.diff(own, prepend=0) > 0)
        values /= np.where(weights > 0, weights, 1)
        own_values = enumerate(windows[first:last], first)
        found += [values[a - low : b - low, number - begin].copy() for number, (a, b) in own_values]
    return found


def _blocks(windows: Sequence[Span]) -> Iterator[tuple[int, int, int, int]]:
    """The (first, last) segments of each block, and the (first, last) of all that are looked at for it."""
    number, whole = len(windows), windows[0] == windows[-1]
    for first in range(0, number, number if whole else SEGMENTS_AT_ONCE):
        last = number if whole else min(number, first + SEGMENTS_AT_ONCE)
        yield first, last, max(0, first - AROUND), min(number, last + AROUND)


def token_values(
    stream: torch.Tensor, segments: torch.Tensor, ends: Sequence[int], windows: Sequence[Span], matching: Matching
) -> np.ndarray:
    """The value of each token in each segment, fp32 [stream's tokens, segments]; 0 in a segment without tokens. It means
    nothing outside the segment's window.

    A token and a segment's token match by the product of two shares: of the one's cosines with all tokens of the segments
    that it can be in, and of the other's with all of its window. So words that occur everywhere, such as articles, count for
    little. The value is the logarithm of the matches' sum, less its mean over the segments, and two more parts: how close
    the token is to its best match, between what is usual in any segment and in the best one; and how much of the segment's
    tokens it covers, so that no segment makes do with one word.
    """
    begins, sizes = np.array([0, *ends[:-1]], np.int64), np.diff(ends, prepend=0)
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return np.zeros((len(stream), len(ends)), np.float32)
    at = np.arange(len(stream))[:, None]
    low, high = np.array(windows).T
    inside = (at >= low) & (at < high) & (sizes > 0)

    def by_segment(reduced: np.ufunc, of_tokens: torch.Tensor) -> np.ndarray:
        found = np.zeros((len(stream), len(ends)), np.float32)
        found[:, filled] = reduced.reduceat(of_tokens.numpy(), begins[filled], axis=1)
        return found

    cosines = stream.float() @ segments.float().T
    best = by_segment(np.maximum, cosines)
    usual = (best * inside).sum() / max(1, inside.sum())
    highest = np.where(inside, best, usual).max(1).mean()
    matches = cosines.sub_(1).div_(TEMPERATURE).exp_()
    if not inside.all():
        matches *= torch.from_numpy(inside).repeat_interleave(torch.from_numpy(sizes), dim=1)
    of_tokens = matches.sum(1, keepdim=True).clamp_(min=TINY)
    shares = matches / matches.sum(0).clamp_(min=TINY)
    covered = by_segment(np.add, shares)
    logs = np.log(by_segment(np.add, shares.mul_(matches)) / of_tokens.numpy() + matching.chance)
    logs -= (logs * inside).sum(1, keepdims=True) / np.maximum(1, inside.sum(1, keepdims=True))
    values = logs + matching.closeness * (best - usual) / max(highest - usual, 0.1) + covered
    values[:, sizes == 0] = 0
    return values
