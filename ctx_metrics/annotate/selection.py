"""Selects the rows to write: those whose scores pass the limits, and of these the best share or number."""

import math
import operator
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_OPERATORS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_LIMIT = re.compile(r"\s*(?P<name>\S+?)\s*(?P<operator>>=|<=|>|<)\s*(?P<value>[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")
_BINS = 20  # leading bits of a score, by which scores are counted first


class Limit(NamedTuple):
    """A limit that the scores of a row must pass, such as comet >= 70."""

    name: str
    operator: str
    value: float


class Top(NamedTuple):
    """The number of the best rows to select, or of the `worst`: a share of all in (0, 1], or a number."""

    share: float | None
    number: int | None
    worst: bool = False

    def of(self, rows: int) -> int:
        return math.floor(self.share * rows + 1e-9) if self.share is not None else self.number or 0


def limit(text: str) -> Limit:
    """Parse a limit, for argparse.

    >>> limit("comet >= 70")
    Limit(name='comet', operator='>=', value=70.0)
    """
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not a limit such as 'comet >= 70'")
    return Limit(found["name"].lower(), found["operator"], float(found["value"]))


def top(text: str) -> Top:
    """Parse a share such as 20%, or a number of rows, for argparse.

    >>> top("20%"), top("1000").of(50_000)
    (Top(share=0.2, number=None, worst=False), 1000)
    """
    share = text.endswith("%")
    try:
        value = float(text.removesuffix("%")) if share else int(text.replace(",", ""))
    except ValueError:
        value = 0
    if not 0 < value <= (100 if share else math.inf):
        raise ArgumentTypeError(f"{text!r} is neither a share such as 20% nor a number of rows such as 1000")
    return Top(value / 100, None) if share else Top(None, int(value))


def bottom(text: str) -> Top:
    """Parse like top, for the worst rows."""
    return top(text)._replace(worst=True)


def passing(limits: Sequence[Limit], scores: Mapping[str, np.ndarray], rows: int) -> np.ndarray:
    """Which rows pass all limits, bool [rows]; a row without a score passes none."""
    kept = np.ones(rows, bool)
    for name, sign, value in limits:
        kept &= _OPERATORS[sign](scores[name], value)  # comparisons with NaN are false
    return kept


@dataclass
class Best:
    """Selects the best rows of a stream by a threshold; among rows that equal it, the earlier ones.

    threshold    the worst selected value
    equal        how many more rows with exactly this value to select
    """

    threshold: float
    equal: int

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Which of the next rows are selected, bool [rows]. Must be called on all rows, in order."""
        chosen, at = values > self.threshold, np.flatnonzero(values == self.threshold)
        chosen[at[: self.equal]] = True
        self.equal -= min(self.equal, len(at))
        return chosen


def best(values: Callable[[], Iterable[np.ndarray]], number: int) -> Best:
    """Return a Best that selects the `number` largest values of a stream, which is read twice; NaN is never selected.

    Only values whose leading bits equal those of the threshold are held in memory.

    >>> chosen = best(lambda: [np.array([3.0, 1.0]), np.array([2.0, 2.0])], 2)
    >>> chosen(np.array([3.0, 1.0])).tolist(), chosen(np.array([2.0, 2.0])).tolist()
    ([True, False], [True, False])
    """
    if number < 1:
        return Best(math.inf, 0)
    shift = np.uint64(64 - _BINS)
    histogram = np.zeros(1 << _BINS, np.int64)
    for part in values():
        histogram += np.bincount((_keys(part) >> shift).astype(np.int64), minlength=1 << _BINS)
    above = np.cumsum(histogram[::-1])[::-1]  # number of values in this bin or a higher one
    if not above[0]:
        return Best(math.inf, 0)
    number = min(number, int(above[0]))
    bin_ = int(np.flatnonzero(above >= number)[-1])
    left = number - int(above[bin_] - histogram[bin_])
    inside = [part[~np.isnan(part)] for part in values()]
    inside = [part[(_keys(part) >> shift).astype(np.int64) == bin_] for part in inside]
    different, counts = np.unique(np.concatenate(inside), return_counts=True)
    from_above = np.cumsum(counts[::-1])
    place = int(np.flatnonzero(from_above >= left)[0])
    return Best(float(different[::-1][place]), left - int(from_above[place] - counts[::-1][place]))


def _keys(values: np.ndarray) -> np.ndarray:
    """Map the values to uint64 numbers that sort in the same order; NaN values are left out."""
    bits = (values[~np.isnan(values)] + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)
