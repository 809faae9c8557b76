"""The learning curve of a training: loss and agreement with people against the rows that were read, or the epochs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..meta.plots.figure import BLACK, BLUE, COLUMN, VERMILION, label, new_figure, style, title
from .quality.task import Check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .pairwise.task import Check as PairwiseCheck

MARKED = 100  # most steps that have a dot each
NAMES = {"pearson": "Pearson's r", "darr": "tau (DARR)"}


def learning_curve(checks: Sequence[Check], best: int, metric: str, name: str) -> "Figure":
    """Two panels over the rows read: the mean loss since the check before, and the development score; the best check, of
    number `best`, is marked.

    metric    of the development score, pearson or darr
    name      the model's, for the title

    Raises CtxMetricsError if matplotlib is missing.
    """
    return _curve(
        [check.rows for check in checks],
        [check.loss for check in checks],
        [check.score for check in checks],
        best,
        ("rows read", "training loss", f"development\n{NAMES[metric]}"),
        title(f"{name}: best of {len(checks)} checks", COLUMN),
    )


def pairwise_curve(checks: "Sequence[PairwiseCheck]", best: int, name: str) -> "Figure":
    """Two panels over the epochs of all costs in a row: the mean cost, and the strict tau on the development pairs; the best
    epoch, of number `best`, is marked, and so is where another cost begins.

    name      the model's, for the title

    Raises CtxMetricsError if matplotlib is missing.
    """
    costs = [check.cost for check in checks]
    changes = [number for number in range(1, len(checks)) if checks[number].phase != checks[number - 1].phase]
    figure = _curve(
        list(range(1, len(checks) + 1)),
        costs,
        [check.tau for check in checks],
        best,
        ("epochs", "training cost", "development\nstrict tau"),
        title(f"{name}: best of {len(checks)} epochs", COLUMN),
        changes,
    )
    for number in changes:
        figure.axes[0].annotate(
            f"{label(checks[number].phase)} cost",
            (number + 0.5, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -7),
            textcoords="offset points",
            color="0.4",
            fontsize=6,
        )
    return figure


def _curve(
    steps: Sequence[int],
    losses: Sequence[float],
    scores: Sequence[float],
    best: int,
    names: tuple[str, str, str],
    heading: str,
    changes: Sequence[int] = (),
) -> "Figure":
    """The panels of losses and scores over steps. names: of the three; changes: numbers of steps at which lines break."""
    with style():
        figure = new_figure(COLUMN, 2.9)
        above, below = figure.subplots(2, 1, sharex=True)
        look = "o-" if len(steps) <= MARKED else "-"
        for axes, values, colour, what in ((above, losses, BLUE, names[1]), (below, scores, VERMILION, names[2])):
            for start, end in pairwise([0, *changes, len(steps)]):
                axes.plot(steps[start:end], values[start:end], look, color=colour, markersize=2.5)
            for number in changes:
                axes.axvline(
                    (steps[number - 1] + steps[number]) / 2, color="0.6", linewidth=0.6, linestyle=":", zorder=0
                )
            axes.axvline(steps[best], color="0.6", linewidth=0.6, linestyle="--", zorder=0)
            axes.set_ylabel(what)
            axes.grid(axis="y", color="0.9", linewidth=0.5)
        below.plot(steps[best], scores[best], "*", color=BLACK, markersize=7, zorder=3)
        below.annotate(
            f"{scores[best]:.3f}",
            (steps[best], scores[best]),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
        )
        below.set_xlabel(names[0])
        below.margins(y=0.2)  # nothing is above the best
        below.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        above.set_title(heading)
        figure.align_ylabels()
    return figure
