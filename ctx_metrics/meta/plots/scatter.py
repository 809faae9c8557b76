"""Metric against human score, a point a system: what an agreement is made of, and what outliers do to it."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...notices import counted
from ..output.serialize import fixed
from .figure import BLUE, COLUMN, LETTER, PAGE, VERMILION, label, legend_below, new_figure, style
from .labels import place_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SYSTEM, OUTLIER = "o", "D"  # markers


@style()
def system_scatter(
    judged_name: str,
    systems: Sequence[str],
    human: np.ndarray,
    metrics: Mapping[str, np.ndarray],
    outliers: Collection[str] = (),
) -> "Figure":
    """One test set: a panel a metric, a point a system.

    Points carry a number, 1 for the system that people rate best, and a key below the panels has the names. Outliers are
    diamonds and named beside the point. A panel's title has Pearson's r of all its systems, and without outliers.

    judged_name     the test set's
    systems, human  S names and human scores (S,), NaN where nobody judged
    metrics         {metric: scores (S,)}, NaN where it scored nothing; such a system is missing from the panel
    outliers        names of systems that people rate far from the rest
    """
    human = np.asarray(human, dtype=float)
    columns = min(len(metrics), 3 if len(metrics) <= 9 else 4) or 1
    rows = -(-len(metrics) // columns) or 1
    width = COLUMN if columns == 1 else PAGE
    side = width / max(columns, 1.5)
    height = min(0.92 * side, 2.3)
    order = np.argsort(np.where(np.isnan(human), np.inf, -human), kind="stable")
    numbers = {systems[i]: str(rank + 1) for rank, i in enumerate(order)}
    key = [systems[i] for i in order]
    key_columns = max(1, int(width / 0.055 / (max(map(len, key), default=0) + 7)))
    key_height = 0.13 * -(-len(key) // key_columns) + 0.3
    figure = new_figure(width, rows * (height + 0.1) + key_height + 0.2)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True)
    figure.suptitle(label(judged_name, int(width / 0.075)))
    is_outlier = np.array([name in outliers for name in systems], dtype=bool)
    for panel, (metric, scores) in zip(panels.flat, metrics.items(), strict=False):  # the grid may be larger
        _draw_panel(panel, human, np.asarray(scores, dtype=float), is_outlier)
        panel.set_title(_title(metric, human, scores, is_outlier, int(side / LETTER) - 2))
    for panel in list(panels.flat)[len(metrics) :]:
        panel.remove()
    for panel in list(panels.flat)[max(len(metrics) - columns, 0) : len(metrics)]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel("human score")
    for panel in panels[:, 0]:
        panel.set_ylabel("metric's score")
    _add_key(figure, key, numbers, outliers, key_columns)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # `save` says it
        figure.draw_without_rendering()  # labels are placed by where things are on the page
    for panel, scores in zip(panels.flat, metrics.values(), strict=False):
        texts = [label(name, 24) if name in outliers else numbers[name] for name in systems]
        _label_points(panel, human, np.asarray(scores, dtype=float), texts, is_outlier)
    return figure


def _draw_panel(panel: "Axes", human: np.ndarray, scores: np.ndarray, is_outlier: np.ndarray) -> None:
    for group, marker, colour, name in (
        (~is_outlier, SYSTEM, BLUE, "systems"),
        (is_outlier, OUTLIER, VERMILION, "outliers"),
    ):
        shown = group & ~np.isnan(human + scores)
        panel.plot(human[shown], scores[shown], marker, color=colour, markersize=3, linestyle="", label=name)
    if np.isnan(human + scores).all():
        panel.text(0.5, 0.5, "no scores", transform=panel.transAxes, ha="center", va="center")
        panel.set_yticks([])
        return
    panel.margins(0.14)
    panel.locator_params(nbins=4)
    panel.grid(color="0.93", linewidth=0.5)
    panel.set_axisbelow(True)


def _title(metric: str, human: np.ndarray, scores: np.ndarray, is_outlier: np.ndarray, longest: int) -> str:
    lines = [f"r = {_pearson(human, scores)}"]
    left_out = int((is_outlier & ~np.isnan(human) & ~np.isnan(scores)).sum())
    if left_out:
        rest = _pearson(human[~is_outlier], np.asarray(scores)[~is_outlier])
        lines.append(f"{rest} without " + counted(left_out, "outlier", "outliers"))
        if len(", ".join(lines)) <= longest:
            lines = [", ".join(lines)]
    return "\n".join([label(metric, longest), *lines])


def _pearson(human: np.ndarray, scores: np.ndarray) -> str:
    known = ~np.isnan(human) & ~np.isnan(scores)
    x, y = human[known], np.asarray(scores, dtype=float)[known]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:  # of two points it is 1 or -1, whatever they are
        return "-"
    return fixed(float(np.corrcoef(x, y)[0, 1]), 3)


def _add_key(figure: "Figure", key: Sequence[str], numbers: Mapping[str, str], outliers: Collection[str], columns: int):
    from matplotlib.lines import Line2D

    looks = [(OUTLIER, VERMILION) if name in outliers else (SYSTEM, BLUE) for name in key]
    handles = [Line2D([], [], linestyle="", marker=marker, markersize=3, color=colour) for marker, colour in looks]
    texts = [f"{numbers[name]} {label(name, 44)}" for name in key]
    spaces = {"handlelength": 0.8, "handletextpad": 0.3, "columnspacing": 1.2, "labelspacing": 0.25}
    legend_below(figure, columns, handles=handles, labels=texts, fontsize=6, **spaces)


def _label_points(panel: "Axes", human: np.ndarray, scores: np.ndarray, texts: Sequence[str], is_outlier) -> None:
    """The names of outliers, which are longest, then the numbers of the others."""
    known = [i for i in np.argsort(~is_outlier, kind="stable") if not np.isnan(human[i] + scores[i])]
    colours = [VERMILION if is_outlier[i] else "0.2" for i in known]
    place_labels(panel, np.column_stack([human, scores])[known], [texts[i] for i in known], colours)
