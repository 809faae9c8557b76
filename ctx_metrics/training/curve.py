"""The learning curve of a training: loss and agreement with people against rows read, or epochs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..plots.figure import BLACK, BLUE, COLUMN, VERMILION, label, new_figure, style, title
from .card import METRICS
from .quality.task import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..pairwise.training.task import Check as PairwiseCheck

MARKED = 100  # maximum number of steps for which each has a marker


def learning_curve(checks: Sequence[Check], best: int, metric: str, name: str) -> "Figure":
    """Draw the mean loss since the last check and the development score over the rows read, in two panels.

    best      index of the best check, which is marked
    metric    metric of the development score, pearson or darr
    name      name of the model, for the title

    Raises CtxMetricsError if matplotlib is missing.
    """
    points = [(check.rows, check.loss, check.score) for check in checks]
    labels = "rows read", "training loss", f"development\n{METRICS[metric]}"
    return _curve(points, best, labels, f"{name}: best of {len(checks)} checks")


def pairwise_curve(checks: "Sequence[PairwiseCheck]", best: int, name: str) -> "Figure":
    """Draw the mean cost and the strict tau on the development pairs over the epochs of all costs, in two panels.

    Marks the best check, and where training with another cost begins.
    """
    points = [(epoch, check.cost, check.tau) for epoch, check in enumerate(checks, 1)]
    changes = [number for number in range(1, len(checks)) if checks[number].phase != checks[number - 1].phase]
    labels = "epochs", "training cost", "development\nstrict tau"
    figure = _curve(points, best, labels, f"{name}: best of {len(checks)} epochs", changes)
    beside: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (3, -7), "textcoords": "offset points"}
    for number in changes:
        where = number + 0.5, 1
        figure.axes[0].annotate(f"{label(checks[number].phase)} cost", where, **beside, color="0.4", fontsize=6)
    return figure


def _curve(
    points: Sequence[tuple[int, float, float]],
    best: int,
    labels: tuple[str, str, str],
    heading: str,
    changes: Sequence[int] = (),
) -> "Figure":
    """Draw two panels of points (step, loss, score).

    labels    labels of steps, losses and scores;  changes    indices of points at which lines break
    """
    steps, losses, scores = zip(*points, strict=True)
    line: dict[str, Any] = {"color": "0.6", "linewidth": 0.6}
    with style():
        figure = new_figure(COLUMN, 2.9)
        above, below = figure.subplots(2, 1, sharex=True)
        look = "o-" if len(steps) <= MARKED else "-"
        for axes, values, colour, what in ((above, losses, BLUE, labels[1]), (below, scores, VERMILION, labels[2])):
            for start, end in pairwise([0, *changes, len(steps)]):
                axes.plot(steps[start:end], values[start:end], look, color=colour, markersize=2.5)
            for number in changes:
                axes.axvline((steps[number - 1] + steps[number]) / 2, **line, linestyle=":", zorder=0)
            axes.axvline(steps[best], **line, linestyle="--", zorder=0)
            axes.set_ylabel(what)
            axes.grid(axis="y", color="0.9", linewidth=0.5)
        below.plot(steps[best], scores[best], "*", color=BLACK, markersize=7, zorder=3)
        marked = steps[best], scores[best]
        below.annotate(f"{scores[best]:.3f}", marked, xytext=(0, 6), textcoords="offset points", ha="center")
        below.set_xlabel(labels[0])
        below.margins(y=0.2)  # room for the label: nothing is above the best
        below.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        above.set_title(title(heading, COLUMN))
        figure.align_ylabels()
    return figure
