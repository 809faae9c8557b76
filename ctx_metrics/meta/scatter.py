"""Metric scores against human scores, one point per system: what an agreement rests on, and how outliers affect it."""

import warnings
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..notices import counted
from ..plots.figure import (
    BLUE,
    COLUMN,
    GREY,
    LETTER,
    PAGE,
    VERMILION,
    Axes,
    Figure,
    label,
    legend_below,
    new_figure,
    style,
)
from .measures.correlation import pearson
from .output import fixed

SYSTEM, OUTLIER = "o", "D"  # markers
# for the labels beside points
SIZE = 5.5  # font size
DOT = 2.0  # half the size of a marker, in points
# gaps between point and label, in points, and directions, in the order of trial; beyond the first gap a line joins them
GAPS = (2.5, 8, 13, 19, 26)
TURNS = np.arange(24) * np.pi / 12


@style()
def system_scatter(
    judged_name: str,
    systems: Sequence[str],
    human: np.ndarray,
    metrics: Mapping[str, np.ndarray],
    outliers: Collection[str] = (),
) -> Figure:
    """Draw one test set: a panel per metric, with a point per system.

    Points are numbered, from 1 for the system with the highest human score, and a key below the panels lists the names.
    Outliers are diamonds with their name beside them. A panel's title has Pearson's r of all its systems, and without
    outliers.

    systems, human  S names and human scores (S,), NaN where nobody judged
    metrics         {metric: scores (S,)}, NaN where there is no score; such a system is missing from the panel
    outliers        names of systems whose human scores are far from the rest
    """
    human = np.asarray(human, dtype=float)
    of_metrics = {metric: np.asarray(scores, dtype=float) for metric, scores in metrics.items()}
    columns = min(len(metrics), 3 if len(metrics) <= 9 else 4) or 1
    rows = -(-len(metrics) // columns) or 1
    width = COLUMN if columns == 1 else PAGE
    side = width / max(columns, 1.5)
    height = min(0.92 * side, 2.3)
    key = [systems[i] for i in np.argsort(np.where(np.isnan(human), np.inf, -human), kind="stable")]
    numbers = {name: str(rank) for rank, name in enumerate(key, 1)}
    key_columns = max(1, int(width / 0.055 / (max(map(len, key), default=0) + 7)))
    key_height = 0.13 * -(-len(key) // key_columns) + 0.3
    figure = new_figure(width, rows * (height + 0.1) + key_height + 0.2)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
    figure.suptitle(label(judged_name, int(width / 0.075)))
    is_outlier = np.array([name in outliers for name in systems], dtype=bool)
    panels, spare = grid.flat[: len(metrics)], grid.flat[len(metrics) :]
    for panel, (metric, scores) in zip(panels, of_metrics.items(), strict=True):
        _draw_panel(panel, human, scores, is_outlier)
        panel.set_title(_title(metric, human, scores, is_outlier, int(side / LETTER) - 2))
    for panel in spare:
        panel.remove()
    for panel in panels[-columns:]:
        panel.tick_params(labelbottom=True)
        panel.set_xlabel("human score")
    for panel in grid[:, 0]:
        panel.set_ylabel("metric's score")
    _add_key(figure, key, numbers, outliers, key_columns)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # `save` reports missing glyphs
        figure.draw_without_rendering()  # labels are placed by positions on the page
    texts = [label(name, 24) if name in outliers else numbers[name] for name in systems]
    colours = [VERMILION if each else "0.2" for each in is_outlier]
    for panel, scores in zip(panels, of_metrics.values(), strict=True):
        # first the names of outliers, which are longest, then the numbers of the others
        known = [i for i in np.argsort(~is_outlier, kind="stable") if not np.isnan(human[i] + scores[i])]
        points = np.column_stack([human, scores])[known]
        _place_labels(panel, points, [texts[i] for i in known], [colours[i] for i in known])
    return figure


def _draw_panel(panel: Axes, human: np.ndarray, scores: np.ndarray, is_outlier: np.ndarray) -> None:
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
    if left_out := int((is_outlier & ~np.isnan(human + scores)).sum()):
        rest = _pearson(human[~is_outlier], scores[~is_outlier])
        lines.append(f"{rest} without " + counted(left_out, "outlier", "outliers"))
        if len(", ".join(lines)) <= longest:
            lines = [", ".join(lines)]
    return "\n".join([label(metric, longest), *lines])


def _pearson(human: np.ndarray, scores: np.ndarray) -> str:
    few = np.count_nonzero(~np.isnan(human + scores)) < 3  # of two points, it is always 1 or -1
    return fixed(np.nan if few else pearson(human, scores), 3)


def _add_key(figure: Figure, key: Sequence[str], numbers: Mapping[str, str], outliers: Collection[str], columns: int):
    from matplotlib.lines import Line2D

    looks = [(OUTLIER, VERMILION) if name in outliers else (SYSTEM, BLUE) for name in key]
    handles = [Line2D([], [], linestyle="", marker=marker, markersize=3, color=colour) for marker, colour in looks]
    texts = [f"{numbers[name]} {label(name, 44)}" for name in key]
    spaces = {"handlelength": 0.8, "handletextpad": 0.3, "columnspacing": 1.2, "labelspacing": 0.25}
    legend_below(figure, columns, handles=handles, labels=texts, fontsize=6, **spaces)


def _place_labels(axes: Axes, points: np.ndarray, texts: Sequence[str], colours: Sequence[str]) -> None:
    """Write a label beside each point of axes whose position on the page is final (after draw_without_rendering).

    Each label in turn takes the place where it covers least of the points, of earlier labels and of the area outside the
    axes; among equal places, the nearest. So labels that need the most space should come first.

    points   (P, 2), in data coordinates
    """
    points_an_inch = 72 / axes.figure.dpi
    dots = axes.transData.transform(points) * points_an_inch
    frame = np.asarray(axes.get_window_extent().extents) * points_an_inch
    taken = [np.array([x - DOT, y - DOT, x + DOT, y + DOT]) for x, y in dots]
    for point, dot, text, colour in zip(points, dots, texts, colours, strict=True):
        half = np.array([0.3 * SIZE * len(text) + 1, 0.42 * SIZE + 0.3])  # leave some space between labels
        places = []
        for gap in GAPS:
            for x, y in zip(np.cos(TURNS), np.sin(TURNS), strict=True):
                offset = np.array([x * (gap + half[0]), y * (gap + half[1])])
                box = np.concatenate([dot + offset - half, dot + offset + half])
                places.append((_covered(box, taken, frame) + 0.3 * gap, gap, offset, box))
        _, gap, offset, box = min(places, key=lambda place: place[0])
        taken.append(box)
        joined = {"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 1}
        axes.annotate(
            text,
            point,
            xytext=tuple(offset),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=SIZE,
            color=colour,
            arrowprops=joined if gap > GAPS[0] else None,
        ).set_in_layout(False)  # otherwise the axes would shrink, and points move away from their labels


def _covered(box: np.ndarray, taken: Sequence[np.ndarray], frame: np.ndarray) -> float:
    """The area of `taken` boxes that a box covers, plus twice its own area outside the frame, in square points.

    >>> near, far, frame = (np.array(each) for each in ([1, 1, 3, 3], [5, 5, 6, 6], [0, 0, 9, 9]))
    >>> _covered(np.array([0, 0, 2, 2]), [near, far], frame), _covered(np.array([-1, 0, 2, 2]), [far], frame)
    (1.0, 4.0)
    """
    others = np.array(taken)
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    inside = np.clip(np.minimum(box[2:], frame[2:]) - np.maximum(box[:2], frame[:2]), 0, None).prod()
    return float(np.clip(sides, 0, None).prod(axis=1).sum() + 2 * ((box[2:] - box[:2]).prod() - inside))
