"""Pairwise comparison of systems: a matrix of all pairs, and next to it a value for each system."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..scoring.comparison import Comparison
from ..system_names import short_names
from .figure import BLUE, LETTER, VERMILION, Axes, Figure, colour_scale, draw_cells, draw_rows, label, new_figure, style

ROW = 0.21  # inches per system
STRENGTHS = 1.35  # width in inches of the panel with the systems' values
CLOSE = 2  # the colours span differences of at least 0 -+ this many points, so that similar systems look similar
DARK = 0.6  # share of the span from which white text is easier to read
ONE_DECIMAL = 10  # most systems for which cells have room for one decimal


class Matrix(NamedTuple):
    """The data of a figure for S systems.

    cells      float64 (S, S), row against column; NaN for empty cells
    sure       bool (S, S): whether the two systems differ significantly; such cells are bold
    values, intervals, ranks    of each system, (S,), (S, 2) and S
    middle, span      the value that is white, and the least distance from it to the ends of the colour scale
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
    """Draw the systems from best to worst, down and across; next to each row is its score with the interval.

    A cell is the row's score minus the column's: blue if the row's system is better, white at 0, vermilion if it is worse.
    It is bold if the two differ significantly.

    title    the metric's;  order    the systems' numbers, the best first;  sign    -1 if smaller scores are better
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
    """Draw a matrix of pairs, and next to it a panel with the systems' values.

    A dot is a value, and its bar the interval. Bands, every other one shaded, are the significance clusters; their rank
    precedes the name. A `sign` of -1 reverses the colours.
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
