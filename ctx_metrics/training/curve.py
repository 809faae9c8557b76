"""The learning curve of a training: loss and agreement with people against the rows that were read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..meta.plots.figure import BLACK, BLUE, COLUMN, VERMILION, new_figure, style, title
from .trainer import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"pearson": "Pearson's r", "darr": "tau (DARR)"}


def learning_curve(checks: Sequence[Check], best: int, metric: str, name: str) -> "Figure":
    """Two panels over the rows read: the mean loss since the check before, and the development score; the best check, of
    number `best`, is marked.

    metric    of the development score, pearson or darr
    name      the model's, for the title

    Raises CtxMetricsError if matplotlib is missing.
    """
    with style():
        figure = new_figure(COLUMN, 2.9)
        above, below = figure.subplots(2, 1, sharex=True)
        rows = [check.rows for check in checks]
        for axes, values, colour, what in (
            (above, [check.loss for check in checks], BLUE, "training loss"),
            (below, [check.score for check in checks], VERMILION, f"development\n{NAMES[metric]}"),
        ):
            axes.plot(rows, values, "o-", color=colour, markersize=2.5)
            axes.axvline(rows[best], color="0.6", linewidth=0.6, linestyle="--", zorder=0)
            axes.set_ylabel(what)
            axes.grid(axis="y", color="0.9", linewidth=0.5)
        below.plot(rows[best], checks[best].score, "*", color=BLACK, markersize=7, zorder=3)
        below.annotate(
            f"{checks[best].score:.3f}",
            (rows[best], checks[best].score),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
        )
        below.set_xlabel("rows read")
        below.margins(y=0.2)  # nothing is above the best
        below.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        above.set_title(title(f"{name}: best of {len(checks)} checks", COLUMN))
        figure.align_ylabels()
    return figure
