"""The cells of the tables of systems: scores with their intervals and ranks, and differences."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..cli.common.comparisons import interval
from ..cli.common.output import number
from ..scoring.comparison import Column
from .verdict import p_value


class Cell(NamedTuple):
    """A system's score by one metric.

    margin, rank      half of its interval's width, and its rank; None if not tested
    low, width, at    of its interval, and of the score, between the lowest and the highest end of all intervals, in %
    """

    score: str
    best: bool
    margin: str | None = None
    rank: int | None = None
    low: float = 0
    width: float = 0
    at: float = 0


class Difference(NamedTuple):
    """The lead of one system over another by one metric; its 95 % interval and corrected p-value are None if not tested."""

    points: str
    kind: str = ""
    interval: str | None = None
    p: str | None = None


def cells(column: Column) -> list[Cell]:
    """One cell for each system."""
    found = [Cell(number(of.system, 1, "-"), s == column.best) for s, of in enumerate(column.scores)]
    ends = [interval(column.comparison, s) for s in range(len(found))]
    known = [end for both in ends for end in both if not math.isnan(end)]
    if column.comparison is None or not known:
        return found
    least, span = min(known), max(max(known) - min(known), 1e-9)
    for s, (low, high) in enumerate(ends):
        if not math.isnan(low) and not math.isnan(column.scores[s].system):
            places = (
                100 * (low - least) / span,
                100 * (high - low) / span,
                100 * (column.scores[s].system - least) / span,
            )
            found[s] = Cell(
                *found[s][:2],
                number(float(column.comparison.margins[s]), 1),
                column.comparison.ranks[s],
                *(round(place, 2) for place in places),
            )
    return found


def overall_cells(overall: Sequence[float]) -> list[Cell]:
    """One cell for each system's AutoRank."""
    least = min((each for each in overall if not math.isnan(each)), default=math.nan)
    return [Cell(number(each, 1, "-"), each == least) for each in overall]


def lead(column: Column) -> Difference | None:
    """The lead of the best system over the second."""
    first, second = [*column.order, 0][:2]
    return difference(column, first, second) if len(column.scores) > 1 else None


def difference(column: Column, i: int, j: int) -> Difference:
    points, comparison = column.scores[i].system - column.scores[j].system, column.comparison
    if math.isnan(points):
        return Difference("-")
    if comparison is None:
        return Difference(_signed(points))
    sure, (low, high) = comparison.differ(i, j), comparison.differences[i, j]
    kind = ("better" if points * column.sign > 0 else "worse") if sure else ""
    ends = f"{_signed(low)} to {_signed(high)}"
    return Difference(_signed(points) + "*" * sure, kind, ends, p_value(float(comparison.adjusted[i, j])))


def _signed(points: float) -> str:
    return f"{round(points, 1) + 0.0:+.1f}"  # no -0.0
