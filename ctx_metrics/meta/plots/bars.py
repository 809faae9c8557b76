"""Metrics by their agreement, with intervals and significance clusters."""

from typing import TYPE_CHECKING

import numpy as np

from ..output.serialize import NOTHING, capital, fixed, seen_somewhere
from ..report import Agreement
from .figure import BLUE, COLUMN, GREY, LETTER, SKY, label, new_figure, style, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 0.155  # inches a metric


def agreement_bars(agreement: Agreement) -> "Figure":
    """One row a metric, best at the top: its overall agreement with the 95 % interval, the value and the rank in print.

    A bar's length is read from 0, so bars would need an axis from 0, on which metrics that agree from .82 to .86 look all
    the same, and they point both ways where some are negative. So the value is a dot and the bar is the interval, on an
    axis that spans what there is. Significance clusters are bands, shaded in turn. A metric that was trained on one of
    the sets has a hollow dot and a hatched row; one without a value keeps its row.

    Raises CtxMetricsError if matplotlib is missing.
    """
    with style():
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
        clusters = [rank for rank in dict.fromkeys(ranks) if rank]
        seen = [seen_somewhere(agreement, metric) for metric in agreement.metrics]
        for row in range(count):
            if ranks[row] and clusters.index(ranks[row]) % 2 == 0:
                axes.axhspan(row - 0.5, row + 0.5, facecolor="0.92", linewidth=0, zorder=0)
            if seen[row]:
                axes.axhspan(row - 0.5, row + 0.5, fill=False, hatch="/////", edgecolor="0.75", linewidth=0, zorder=0.5)
            if agreement.intervals is not None and not np.isnan(agreement.intervals[row]).any():
                axes.plot(
                    agreement.intervals[row], [row, row], color=SKY, linewidth=2.5, solid_capstyle="butt", zorder=2
                )
            face = "white" if seen[row] else BLUE
            axes.plot(
                overall[row], row, "o", color=BLUE, markerfacecolor=face, markersize=3.6, markeredgewidth=0.9, zorder=3
            )
        _print_values(axes, agreement, overall)
        axes.set_ylim(max(count, 1) - 0.5, -0.5)
        axes.set_yticks(range(count), names)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x", color="0.85", linewidth=0.5, zorder=1)
        _set_range(axes, agreement, overall)
        sets = (
            label(agreement.sets[0], 30)
            if len(agreement.sets) == 1
            else f"{agreement.overall_is} over {len(agreement.sets)} sets"
        )
        figure.suptitle(heading, fontsize=7.5)
        axes.set_xlabel(f"{agreement.protocol}, {sets}")
        handles: list[Line2D | Patch] = []
        if agreement.intervals is not None and not np.isnan(agreement.intervals).all():
            handles.append(Line2D([], [], color=SKY, linewidth=2.5, label="95 % interval"))
        if clusters:
            handles.append(Patch(facecolor="0.92", label="clusters"))
        if any(seen):
            handles.append(Patch(facecolor="white", edgecolor="0.75", hatch="/////", label="trained on a set"))
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, handlelength=1.4)
    return figure


def _print_values(axes, agreement: Agreement, overall: np.ndarray) -> None:
    """Values and ranks in columns at the right of the axes."""

    def write(row: float, text: str, points: int, **look) -> None:
        axes.annotate(
            text,
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(points, 0),
            textcoords="offset points",
            ha="right",
            fontsize=6,
            **look,
        )

    heads = {"va": "bottom", "color": GREY}
    write(-0.6, "value", 25, **heads)
    if agreement.ranks is not None:
        write(-0.6, "rank", 44, **heads)
    for row, value in enumerate(overall):
        write(row, fixed(value, 3), 25, va="center_baseline")
        if agreement.ranks is not None:
            write(row, str(agreement.ranks[row] or NOTHING), 44, va="center_baseline")


def _set_range(axes, agreement: Agreement, overall: np.ndarray) -> None:
    """The axis spans all values and intervals; a line marks 0 where it is among them."""
    ends = [] if agreement.intervals is None else list(np.ravel(agreement.intervals))
    there = np.array([value for value in [*overall, *ends] if not np.isnan(value)])
    if not len(there):
        axes.set_xlim(0, 1)
        return
    low, high = there.min(), there.max()
    room = max(0.06 * (high - low), 0.02 - (high - low) / 2)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlim(low - room, high + room)
    if low < 0 < high:
        axes.axvline(0, color="0.4", linewidth=0.7, zorder=1.5)
