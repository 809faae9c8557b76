"""The best monotone assignment of a stream's tokens to segments: each segment gets a span of tokens, or is omitted."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

NOWHERE = -1e9
Span = tuple[int, int]  # first token, and the one after the last


class Prices(NamedTuple):
    """The costs of a path besides its tokens' values.

    omission    for each segment without tokens, [segments]
    lengths     how many tokens each segment's span should have, and what each token more or less costs, [segments] each;
                None: any number will do
    """

    omission: np.ndarray
    lengths: tuple[np.ndarray, np.ndarray] | None = None


class Additions(NamedTuple):
    """The cost of a span of tokens outside all segments. It can be between spans, but not next to an omission, since it
    then is a poor translation of what seems left out.

    price    of any
    apart    like `gains`, for an addition that begins at each place; NOWHERE where none may
    until    the gain of an addition that ends at each place; NOWHERE where none may
    """

    price: float
    apart: Sequence[np.ndarray]
    until: np.ndarray


class Path(NamedTuple):
    """spans       each segment's tokens; None: it is omitted
    additions   spans of tokens outside all segments, in order
    """

    spans: list[Span | None]
    additions: list[Span]


class _Step(NamedTuple):
    """The origins of the best paths that have explained all tokens before a place, and all segments up to one.

    low        the place that the arrays begin with
    ahead      the value to which a span that begins at each place adds its tokens, less the highest of these
    omitted    whether the segment has none
    added      the place after `low` where an addition before the segment's span begins, for each one where that span can
               begin; the same place if there is no addition
    """

    low: int
    ahead: np.ndarray
    omitted: np.ndarray
    added: np.ndarray


def best_path(
    values: Sequence[np.ndarray],
    windows: Sequence[Span],
    gains: Sequence[np.ndarray],
    prices: Prices,
    additions: Additions | None = None,
) -> Path:
    """The path of the highest total.

    values       the values of the tokens of each segment's window in that segment, [tokens]
    windows      the tokens that each segment can have; neither bound ever falls, the first is 0, and the last one is the end
    gains        for each segment, and after the last one: what a span gains that begins at each place, before a token or
                 after the last one, when all segments before it are done; NOWHERE where none may begin
    additions    None: all tokens belong to segments
    """
    low, high = windows[0]
    done = np.full(high - low + 1, NOWHERE)
    done[0] = 0
    linked = done  # the same, where the last segment has a span
    steps = []
    for number, window in enumerate(windows):
        if window != (low, high):
            done, linked = (_moved(totals, low, window) for totals in (done, linked))
            low, high = window
        here = slice(low, high + 1)
        begin = gains[number][here]
        ahead, added = _after_additions(done, linked, begin, additions, number, here)
        sums = np.zeros(len(done))
        np.cumsum(values[number], dtype=np.float64, out=sums[1:])
        ahead = ahead + begin - sums
        linked = _of_length(ahead, *_length(prices, number)) + sums
        without = done - prices.omission[number]
        omitted = without > linked
        steps.append(_Step(low, (ahead - ahead.max()).astype(np.float32), omitted, added))
        done = np.where(omitted, without, linked)
    here = slice(low, high + 1)
    _, added = _after_additions(done, linked, gains[-1][here], additions, len(windows), here)
    return _traced(steps, int(added[-1]) + low, high, prices)


def _length(prices: Prices, number: int) -> tuple[int, float]:
    return (1, 0.0) if prices.lengths is None else (int(prices.lengths[0][number]), float(prices.lengths[1][number]))


def _of_length(ahead: np.ndarray, length: int, slope: float) -> np.ndarray:
    """For each place, the highest total of a span that begins before it and ends there, less the price of its length."""
    best = np.full(len(ahead), NOWHERE)
    if not slope:
        np.maximum.accumulate(ahead[:-1], out=best[1:])
        return best
    places = slope * np.arange(len(ahead))
    # spans that are as long, or longer; and then shorter ones
    most = np.maximum.accumulate((ahead + places)[: max(0, len(ahead) - length)])
    best[length:] = most - places[length:] + slope * length
    if length > 1:
        best = np.maximum(best, _highest(ahead - places, length - 1) + places - slope * length)
    return best


def _highest(totals: np.ndarray, size: int) -> np.ndarray:
    """The highest of the `size` totals before each place."""
    padded = np.full(size + -(-len(totals) // size) * size, NOWHERE)
    padded[size : size + len(totals)] = totals
    blocks = padded.reshape(-1, size)
    upto, since = (np.maximum.accumulate(each, axis=1) for each in (blocks, blocks[:, ::-1]))
    return np.maximum(since[:, ::-1].ravel()[: len(totals)], upto.ravel()[size - 1 : size - 1 + len(totals)])


def _moved(done: np.ndarray, low: int, window: Span) -> np.ndarray:
    """The totals at the places of the next window."""
    moved = np.full(window[1] - window[0] + 1, NOWHERE)
    kept = done[window[0] - low :]
    moved[: len(kept)] = kept
    return moved


def _best_before(totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The highest total at an earlier place, for each place, and which that is; the latest of equal ones."""
    best, places = np.empty(len(totals)), np.zeros(len(totals), np.int32)
    best[0] = NOWHERE
    np.maximum.accumulate(totals[:-1], out=best[1:])
    np.maximum.accumulate(
        np.where(totals[:-1] >= best[1:], np.arange(len(best) - 1, dtype=np.int32), 0), out=places[1:]
    )
    return best, places


def _after_additions(
    done: np.ndarray, linked: np.ndarray, gains: np.ndarray, additions: Additions | None, number: int, here: slice
) -> tuple[np.ndarray, np.ndarray]:
    """The totals with an addition that ends at each place, where that is better, and where the addition begins, int32.

    number, here    the segment after the addition, whose spans gain `gains`, and the places of its window
    """
    places = np.arange(len(done), dtype=np.int32)
    if additions is None:
        return done, places
    best, begun = _best_before(linked + (gains + additions.apart[number][here]))
    best += additions.until[here] - additions.price
    better = best > done
    return np.where(better, best, done), np.where(better, begun, places)


def _traced(steps: Sequence[_Step], place: int, end: int, prices: Prices) -> Path:
    """The path to the end, the last tokens of which are an addition that begins at `place`, if that is before the end."""
    spans: list[Span | None] = []
    additions = [(place, end)] if place < end else []
    after_span = place < end
    for number in reversed(range(len(steps))):
        step = steps[number]
        at = place - step.low
        if step.omitted[at] and not after_span:
            spans.append(None)
            continue
        length, slope = _length(prices, number)
        ahead = step.ahead[: max(at, 1)]
        totals = ahead - slope * np.abs(at - length - np.arange(len(ahead))) if slope else ahead
        begin = step.low + len(totals) - 1 - int(totals[::-1].argmax())  # the latest of equal ones
        spans.append((begin, place))
        place = step.low + int(step.added[begin - step.low])
        if after_span := place < begin:
            additions.append((place, begin))
    return Path(spans[::-1], additions[::-1])
