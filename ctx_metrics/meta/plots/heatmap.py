"""Accuracy of SLIDE by window and stride, as in figure 2 of the paper (Raunak et al. 2023)."""

from collections.abc import Mapping

import numpy as np

from ...plots.figure import COLUMN, VERMILION, Figure, colour_scale, draw_cells, label, new_figure, style
from ...plots.figure import title as title_of
from ..output.serialize import fixed


@style()
def window_heatmap(
    accuracies: Mapping[tuple[int, int], float],
    largest: int,
    title: str | None = None,
    measure: str = "pairwise system accuracy",
) -> Figure:
    """Draw windows as rows and strides as columns, with a cell and its value for every 1 <= stride <= window <= largest.

    The cell (1, 1), the metric on single sentences, is outlined, and a line marks its value on the colour scale: lighter
    cells agree better than single sentences do. The best values are bold.

    accuracies  {(window, stride): value}; a NaN or missing cell has a dash
    measure     label of the colour scale: what the values are
    """
    from matplotlib.patches import Rectangle

    grid = np.full((largest, largest), np.nan)
    for (window, stride), value in accuracies.items():
        if 1 <= stride <= window <= largest:
            grid[window - 1, stride - 1] = value
    known = grid[~np.isnan(grid)]
    best = low, high = (known.min(), known.max()) if len(known) else (0.0, 1.0)
    if low == high:
        low, high = low - 0.005, high + 0.005
    side = max(COLUMN, 0.29 * largest + 0.9)
    heading = title_of(title or "", side)
    figure = new_figure(side, 0.86 * side + 0.12 * len(heading.splitlines()))
    axes = figure.subplots()
    texts = {
        place: (fixed(grid[place], 3), (grid[place] - low) / (high - low) < 0.45, grid[place] == best[1])
        for place in zip(*np.tril_indices(largest), strict=True)
    }
    image = draw_cells(axes, grid, colours="cividis", ends=(low, high), texts=texts, va="center")
    axes.add_patch(Rectangle((-0.5, -0.5), 1, 1, fill=False, edgecolor=VERMILION, linewidth=1.6, clip_on=False))
    sizes = [str(size) for size in range(1, largest + 1)]
    axes.set_xticks(range(largest), sizes)
    axes.set_yticks(range(largest), sizes)
    axes.set_xlabel("stride (sentences)")
    axes.set_ylabel("window (sentences)")
    if title is not None:
        axes.set_title(heading)
    scale = colour_scale(figure, image, axes, label(measure), fraction=0.05, pad=0.03)
    if not np.isnan(grid[:1, :1]).any() and largest:
        scale.ax.axhline(grid[0, 0], color=VERMILION, linewidth=1.6, clip_on=False)
    return figure
