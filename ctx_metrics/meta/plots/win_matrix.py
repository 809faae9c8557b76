"""Systems compared in pairs: who beats whom, and how strong each is."""

import os
from collections.abc import Sequence

import numpy as np

from ..measures.bradley_terry import Ranking
from .figure import BLUE, LETTER, VERMILION, Axes, Figure, colour_scale, draw_cells, draw_rows, label, new_figure, style

ROW = 0.21  # inches a system
STRENGTHS = 1.35  # inches of the panel of strengths
NARROWEST = 10  # the colours span at least 50 -+ this many points, so that systems that are alike look it
DARK = 0.6  # of the span, from where on white print is read better
ONE_DECIMAL = 10  # systems, up to which cells have room for one


@style()
def win_matrix(names: Sequence[str], ranking: Ranking) -> Figure:
    """Systems from the strongest, down and across; beside each row its strength with the interval.

    A cell is the mean chance, in %, that the row's system beats the column's: blue above 50, white at 50, vermilion below.
    It is bold where either system is significantly stronger than the other. A dot is a Bradley-Terry strength and its bar
    the interval; bands, shaded in turn, are the significance clusters, whose rank stands before the name.

    names    the systems', in the ranking's order of strengths
    """
    count, order = len(names), ranking.order
    cell = ROW if count > ONE_DECIMAL else 0.29
    # the rank before a row's name, and room for the labels of both panels
    down, across = short_names(names, 28), short_names(names, 18)
    longest = min(max(map(len, down)), 28)
    width = LETTER * (longest + 4) + cell * count + STRENGTHS + 0.75
    height = cell * count + LETTER * min(max(map(len, across)), 18) + 0.85
    figure = new_figure(width, height)
    cells, dots = figure.subplots(1, 2, sharey=True, width_ratios=[max(cell * count, 0.6), STRENGTHS])
    image = _draw_cells(cells, ranking, order)
    cells.set_yticks(range(count), [f"{ranking.ranks[i]}  {label(down[i], 28)}" for i in order])
    cells.set_xticks(range(count), [label(across[i], 18) for i in order], rotation=90)
    _draw_strengths(dots, ranking, order)
    place = {"location": "bottom", "fraction": 0.05, "pad": 0.02, "aspect": 30}
    scale = colour_scale(figure, image, cells, "row beats column (%)", **place)
    scale.ax.tick_params(length=2)
    scale.ax.locator_params(nbins=5)
    return figure


def short_names(names: Sequence[str], longest: int) -> list[str]:
    """The names as they are where all have at most `longest` letters; else without the parts, up to a point or slash, that
    all of them start or end with.

    >>> short_names(["newstest2019.online-A.gu-en", "newstest2019.online-B.gu-en"], 18)
    ['online-A', 'online-B']
    >>> short_names(["newstest2019.online-A.gu-en", "newstest2019.online-B.gu-en"], 30)[0]
    'newstest2019.online-A.gu-en'
    """
    if max(map(len, names)) <= longest or len(set(names)) < len(names):
        return list(names)
    for _ in range(2):  # what they start with, then, turned round, what they end with
        common = os.path.commonprefix(list(names))  # noqa: RUF071
        start = max(common.rfind("."), common.rfind("/")) + 1
        names = [name[start:][::-1] for name in names]
    return list(names)


def _draw_cells(axes: Axes, ranking: Ranking, order: Sequence[int]):
    from matplotlib.colors import LinearSegmentedColormap

    percent = 100 * ranking.win_matrix[np.ix_(order, order)]
    known = percent[~np.isnan(percent)]
    span = max(NARROWEST, np.abs(known - 50).max(initial=0))
    colours = LinearSegmentedColormap.from_list("wins", [VERMILION, "white", BLUE])
    decimals, texts = 1 if len(order) <= ONE_DECIMAL else 0, {}
    for row, column in np.argwhere(~np.isnan(percent)):
        value, i, j = percent[row, column], order[row], order[column]
        bold = ranking.better(i, j) or ranking.better(j, i)
        texts[row, column] = f"{value:.{decimals}f}", bool(abs(value - 50) > DARK * span), bold
    image = draw_cells(axes, percent, colours=colours, ends=(50 - span, 50 + span), texts=texts, va="center_baseline")
    axes.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False)
    return image


def _draw_strengths(axes: Axes, ranking: Ranking, order: Sequence[int]) -> None:
    draw_rows(axes, ranking.strengths[order], ranking.intervals[order], [ranking.ranks[i] for i in order])
    axes.axvline(0, color="0.4", linewidth=0.7, zorder=1.5)
    axes.tick_params(axis="y", labelleft=False)
    axes.locator_params(axis="x", nbins=5)
    axes.margins(x=0.08)
    axes.set_xlabel(f"strength, {100 * ranking.confidence:g} % interval")
