"""The learning curve of a training run: loss and agreement with people against rows read, or epochs."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..plots.figure import BLACK, BLUE, COLUMN, VERMILION, Figure, label, new_figure, style, title

MARKED = 100  # maximum number of steps for which each has a marker


def learning_curve(
    points: Sequence[tuple[int, float, float]],
    best: int,
    labels: tuple[str, str, str],
    heading: str,
    phases: Mapping[int, str] | None = None,
) -> Figure:
    """Return two panels of points (step, loss, development score).

    labels    labels of steps, losses and scores
    phases    points at which a new phase begins, where lines break, with the label of the phase
    """
    steps, losses, scores = zip(*points, strict=True)
    line: dict[str, Any] = {"color": "0.6", "linewidth": 0.6}
    beside: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (3, -7), "textcoords": "offset points"}
    changes = phases or {}
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
    for number, name in changes.items():
        above.annotate(label(name), ((steps[number - 1] + steps[number]) / 2, 1), **beside, color="0.4", fontsize=6)
    return figure
