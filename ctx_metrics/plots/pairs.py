"""Systems compared in pairs: a matrix of the pairs, and beside it a value of each system."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..run.streams import short_names
from ..scoring.comparison import Comparison
from .figure import BLUE, LETTER, VERMILION, Axes, Figure, colour_scale, draw_cells, draw_rows, label, new_figure, style

ROW = 0.21  # inches a system
STRENGTHS = 1.35  # inches of the panel of strengths
CLOSE = 2  # the colours of differences span at least 0 -+ this many points, so that systems that are alike look it
DARK = 0.6  # of the span, from where on white print is read better
ONE_DECIMAL = 10  # systems, up to which cells have room for one


class Matrix(NamedTuple):
    """What a figure shows of S systems in an order.

    cells      float64 (S, S), row against column; NaN where there is nothing
    sure       bool (S, S): whether the two differ significantly, which is bold
    values, intervals, ranks    of each system, (S,), (S, 2) and S
    middle, span      what is white, and how far from it the colours go at least
    signed     whether cells show a sign
    of_cells, of_values    labels
    """

    cells: np.ndarray
    sure: np.ndarray
    values: np.ndarray
    intervals: np.ndarray
    ranks: Sequence[int]
    middle: float
    span: float
    signed: bool
    of_cells: str
    of_values: str


def difference_matrix(
    names: Sequence[str],
    title: str,
    scores: Sequence[float],
    comparison: Comparison,
    order: Sequence[int],
    sign: int = 1,
) -> Figure:
    """Systems from the best, down and across; beside each row its score with the interval.

    A cell is the row's score less the column's: blue where the row's system is the better one, white at 0, vermilion where
    it is the worse. It is bold where the two differ significantly.

    title    the metric's;  order    the systems' numbers from the best;  sign    -1 where a smaller score is the better one
    """
    places, given = range(len(names)), np.asarray(scores, np.float64)
    cells = given[:, None] - given[None, :]
    np.fill_diagonal(cells, np.nan)
    sure = np.array([[comparison.differ(i, j) for j in places] for i in places])
    ends = np.stack([comparison.means - comparison.margins, comparison.means + comparison.margins], 1)
    labels = f"row minus column ({title})", f"{title}, 95 % interval"
    return pair_matrix(names, Matrix(cells, sure, given, ends, comparison.ranks, 0, CLOSE, True, *labels), order, sign)


@style()
def pair_matrix(names: Sequence[str], drawn: Matrix, order: Sequence[int], sign: int = 1) -> Figure:
    """A matrix of pairs, and beside it a panel of the systems' values.

    A dot is a value and its bar the interval; bands, shaded in turn, are the significance clusters, whose rank stands before
    the name. `sign` -1 turns the colours round.
    """
    count = len(names)
    cell = ROW if count > ONE_DECIMAL else 0.29 + 0.08 * drawn.signed
    # the rank before a row's name, and room for the labels of both panels
    down, across = short_names(names, 28), short_names(names, 18)
    longest = min(max(map(len, down)), 28)
    width = LETTER * (longest + 4) + cell * count + STRENGTHS + 0.75
    height = cell * count + LETTER * min(max(map(len, across)), 18) + 0.85
    figure = new_figure(width, height)
    cells, dots = figure.subplots(1, 2, sharey=True, width_ratios=[max(cell * count, 0.6), STRENGTHS])
    image = _draw_cells(cells, drawn, order, sign)
    cells.set_yticks(range(count), [f"{drawn.ranks[i]}  {label(down[i], 28)}" for i in order])
    cells.set_xticks(range(count), [label(across[i], 18) for i in order], rotation=90)
    _draw_values(dots, drawn, order)
    place = {"location": "bottom", "fraction": 0.05, "pad": 0.02, "aspect": 30}
    scale = colour_scale(figure, image, cells, label(drawn.of_cells), **place)
    scale.ax.tick_params(length=2)
    scale.ax.locator_params(nbins=5)
    return figure


def _draw_cells(axes: Axes, drawn: Matrix, order: Sequence[int], sign: int):
    from matplotlib.colors import LinearSegmentedColormap

    cells = drawn.cells[np.ix_(order, order)]
    known = cells[~np.isnan(cells)]
    span = max(drawn.span, np.abs(known - drawn.middle).max(initial=0))
    colours = LinearSegmentedColormap.from_list("wins", [VERMILION, "white", BLUE][::sign])
    decimals, texts = 1 if len(order) <= ONE_DECIMAL else 0, {}
    for row, column in np.argwhere(~np.isnan(cells)):
        value = cells[row, column]
        text = f"{round(value, decimals) + 0.0:{'+' if drawn.signed else ''}.{decimals}f}"
        dark = bool(abs(value - drawn.middle) > DARK * span)
        texts[row, column] = text, dark, bool(drawn.sure[order[row], order[column]])
    ends = drawn.middle - span, drawn.middle + span
    image = draw_cells(axes, cells, colours=colours, ends=ends, texts=texts, va="center_baseline")
    axes.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
    return image


def _draw_values(axes: Axes, drawn: Matrix, order: Sequence[int]) -> None:
    draw_rows(axes, drawn.values[order], drawn.intervals[order], [drawn.ranks[i] for i in order])
    if not drawn.signed:
        axes.axvline(0, color="0.4", linewidth=0.7, zorder=1.5)
    axes.tick_params(axis="y", labelleft=False)
    axes.locator_params(axis="x", nbins=5)
    axes.margins(x=0.08)
    axes.set_xlabel(label(drawn.of_values))
