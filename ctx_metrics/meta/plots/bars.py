"""Metrics sorted by agreement, with intervals and significance clusters."""

import numpy as np

from ...plots.figure import (
    BLUE,
    COLUMN,
    GREY,
    LETTER,
    SKY,
    Figure,
    draw_rows,
    label,
    legend_below,
    new_figure,
    style,
    title,
)
from ..output.serialize import NOTHING, capital, fixed, seen_somewhere
from ..report import Agreement

ROW = 0.155  # inches per metric


@style()
def agreement_bars(agreement: Agreement) -> Figure:
    """Draw one row per metric, best at the top: its overall agreement with the 95 % interval, and value and rank as text.

    The value is a dot and the interval a bar, on an axis that is limited to their range. (Bars for the values would have to
    start at 0, and metrics with .82 to .86 would look alike.) Significance clusters are bands with alternating shades. A
    metric that was trained on one of the sets has a hollow dot and a hatched row; a metric without a value keeps its row.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    count = len(agreement.metrics)
    names = [label(metric, 34) for metric in agreement.metrics]
    width = COLUMN + LETTER * max(max(map(len, names), default=0) - 16, 0)
    heading = title(capital(agreement.title), width)
    figure = new_figure(width, ROW * max(count, 3) + 0.85 + 0.12 * heading.count("\n"))
    axes = figure.subplots()
    overall = np.asarray(agreement.overall, dtype=float)
    ranks = agreement.ranks or [0] * count
    seen = [seen_somewhere(agreement, metric) for metric in agreement.metrics]
    faces = ["white" if each else BLUE for each in seen]
    draw_rows(axes, overall, agreement.intervals, ranks, markerfacecolor=faces, markeredgewidth=0.9)
    for row in np.flatnonzero(seen):
        axes.axhspan(row - 0.5, row + 0.5, fill=False, hatch="/////", edgecolor="0.75", linewidth=0, zorder=0.5)
    _print_values(axes, agreement, overall)
    axes.set_ylim(max(count, 1) - 0.5, -0.5)
    axes.set_yticks(range(count), names)
    _set_range(axes, agreement, overall)
    several = f"{agreement.overall_is} over {len(agreement.sets)} sets"
    sets = label(agreement.sets[0], 30) if len(agreement.sets) == 1 else several
    figure.suptitle(heading, fontsize=7.5)
    axes.set_xlabel(f"{agreement.protocol}, {sets}")
    handles: list[Line2D | Patch] = []
    if agreement.intervals is not None and not np.isnan(agreement.intervals).all():
        handles.append(Line2D([], [], color=SKY, linewidth=2.5, label="95 % interval"))
    if any(ranks):
        handles.append(Patch(facecolor="0.92", label="clusters"))
    if any(seen):
        handles.append(Patch(facecolor="white", edgecolor="0.75", hatch="/////", label="trained on a set"))
    if handles:
        legend_below(figure, 3, handles=handles, handlelength=1.4)
    return figure


def _print_values(axes, agreement: Agreement, overall: np.ndarray) -> None:
    """Print the values (M,) and ranks in columns to the right of the axes."""

    columns = [(25, "value", *(fixed(value, 3) for value in overall))]
    if agreement.ranks is not None:
        columns.append((44, "rank", *(str(rank or NOTHING) for rank in agreement.ranks)))
    for row in range(-1, len(overall)):
        look = {"va": "bottom", "color": GREY} if row < 0 else {"va": "center_baseline"}
        for points, *texts in columns:
            place = {"xycoords": ("axes fraction", "data"), "xytext": (points, 0), "textcoords": "offset points"}
            axes.annotate(texts[row + 1], (1, max(row, -0.6)), ha="right", fontsize=6, **place, **look)


def _set_range(axes, agreement: Agreement, overall: np.ndarray) -> None:
    """Set the axis to the range of all values (M,) and intervals; a line marks 0 if it is in the range."""
    ends = [] if agreement.intervals is None else list(np.ravel(agreement.intervals))
    known = [value for value in [*overall, *ends] if not np.isnan(value)]
    if not known:
        axes.set_xlim(0, 1)
        return
    low, high = min(known), max(known)
    room = max(0.06 * (high - low), 0.02 - (high - low) / 2)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlim(low - room, high + room)
    if low < 0 < high:
        axes.axvline(0, color="0.4", linewidth=0.7, zorder=1.5)
