"""The figures of an evaluation: agreement with intervals, by document length, by window and stride, and systems' scores."""

import os
import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..judgements.judged import JudgedSet, MetricScores
from ..judgements.measures.correlation import mad_outliers, pearson
from ..notices import counted, notice
from ..plots.figure import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    GREY,
    LETTER,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Axes,
    Figure,
    colour_scale,
    draw_cells,
    draw_rows,
    label,
    new_figure,
    save,
    style,
    title,
)
from ..scoring.names import written_name
from .lengths import LengthCurves, agreement_by_length
from .output import NOTHING, capital, fixed, titled
from .protocols import PreferenceTau, Protocol
from .report import Agreement, Report

PANELS = 12  # more would be illegible on a page
GRID_CELL = re.compile(r"slide(?:-embedded)?\((\d+),(\d+)\)")
ROW = 0.155  # inches per metric
PAGE = 6.5  # inches: the width of a paper's text
# colour, marker and dashes of lines
LINES = (
    (BLUE, "o", "-"),
    (VERMILION, "s", "-"),
    (GREEN, "^", "-"),
    (PURPLE, "D", "-"),
    (ORANGE, "v", "--"),
    (SKY, "P", "--"),
    (BLACK, "X", "--"),
)
SYSTEM, OUTLIER = "o", "D"  # markers
# for the labels next to points
SIZE = 5.5  # font size
DOT = 2.0  # half the size of a marker, in points
# gaps between point and label, in points, and directions, in the order of trial; beyond the first gap a line joins them
GAPS = (2.5, 8, 13, 19, 26)
TURNS = np.arange(24) * np.pi / 12


def draw(
    report: Report,
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores]],
    protocols: Sequence[Protocol],
    path: str,
    largest: int | None,
) -> None:
    """Draw every figure for which this evaluation has data, and say which files were written.

    path       of all figures: x.png becomes x.agreement.sys-acc.png, and so on
    largest    the largest window of --slide-grid; without it, the grid comes from score files
    """
    scores = {
        of_set: [replace(each, name=written_name(each.name, report.signatures.get(each.name, ""))) for each in own]
        for of_set, own in scores.items()
    }
    report, written = titled(report), []
    stem, ending = os.path.splitext(path)
    for name, figure in _figures(report, sets, scores, protocols, largest):
        shown = re.sub(r"[^\w.-]", "_", name)
        written.append(f"{stem}.{shown}{ending}")
        save(figure, written[-1])
    notice(f"figures: {', '.join(written)}" if written else "--plot: there is nothing to draw")


def _figures(
    report: Report,
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores]],
    protocols: Sequence[Protocol],
    largest: int | None,
) -> Iterator[tuple[str, "Figure"]]:
    for agreement in report.agreements:
        yield f"agreement.{agreement.protocol}", agreement_bars(agreement)
        cells = {
            (int(match[1]), int(match[2])): float(value)
            for metric, value in zip(agreement.metrics, agreement.overall, strict=True)
            if (match := GRID_CELL.fullmatch(metric))
        }
        if cells:
            heading = f"slide on {', '.join(agreement.sets)}"
            yield (
                f"slide-grid.{agreement.protocol}",
                window_heatmap(cells, largest or max(cells)[0], heading, agreement.title),
            )
    best = report.agreements[0].metrics  # sorted, best first
    shown = sorted(
        {each.name for of_set in scores.values() for each in of_set if not GRID_CELL.fullmatch(each.name)},
        key=lambda name: best.index(name) if name in best else len(best),
    )
    if len(shown) > PANELS:
        notice(
            f"--plot: figures of systems show the {PANELS} best of {len(shown)} metrics by {report.agreements[0].protocol}"
        )
    for judged in sets:
        of_set = {each.name: each for each in scores[judged.name]}
        metrics = {
            name: array
            for name in shown[:PANELS]
            if name in of_set and (array := of_set[name].system_scores) is not None
        }
        if judged.system_scores is None or not metrics:
            continue
        there = ~np.isnan(judged.system_scores)
        human = judged.system_scores[there]
        systems = [system for system, known in zip(judged.systems, there, strict=True) if known]
        outliers = [system for system, out in zip(systems, mad_outliers(human), strict=True) if out]
        of_known = {name: of_metric[there] for name, of_metric in metrics.items()}
        yield f"systems.{judged.name}", system_scatter(judged.name, systems, human, of_known, outliers)
    ordered = {
        name: sorted((each for each in of_set if each.name in shown), key=lambda each: shown.index(each.name))
        for name, of_set in scores.items()
    }
    for protocol in protocols:
        if isinstance(protocol, PreferenceTau):
            continue
        curves = agreement_by_length(sets, ordered, protocol)
        if curves:
            yield f"document-length.{protocol.name}", length_lines(curves)


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
    Outliers are diamonds with their names next to them. A panel's title has Pearson's r of all its systems, and without
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
    """Write a label next to each point of axes whose position on the page is final (after draw_without_rendering).

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
    seen = [agreement.seen_somewhere(metric) for metric in agreement.metrics]
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


@style()
def window_heatmap(
    accuracies: Mapping[tuple[int, int], float],
    largest: int,
    heading: str | None = None,
    measure: str = "pairwise system accuracy",
) -> Figure:
    """Draw windows as rows and strides as columns, with a cell and its value for every 1 <= stride <= window <= largest.

    The cell (1, 1), the metric on single sentences, is outlined, and a line marks its value on the colour scale: lighter
    cells agree better than single sentences do. The best values are bold.

    accuracies  {(window, stride): value}; a NaN or missing cell has a dash
    measure     label of the colour scale, which names the values
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
    wrapped = title(heading or "", side)
    figure = new_figure(side, 0.86 * side + 0.12 * len(wrapped.splitlines()))
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
    if heading is not None:
        axes.set_title(wrapped)
    scale = colour_scale(figure, image, axes, label(measure), fraction=0.05, pad=0.03)
    if not np.isnan(grid[:1, :1]).any() and largest:
        scale.ax.axhline(grid[0, 0], color=VERMILION, linewidth=1.6, clip_on=False)
    return figure


@style()
def length_lines(curves: LengthCurves) -> Figure:
    """Draw one line per metric. Each bucket of documents has a place on the x axis, labelled with its lengths and sizes.

    The first seven metrics have their own colour and marker; any others are thin grey lines, since more colours are hard to
    tell apart. NaN leaves a gap in the line.
    """
    names = list(curves.values)
    width = max(COLUMN, 0.62 * len(curves.buckets) + 0.6)
    shown = min(len(names), len(LINES))
    longest = max(map(len, (label(name, 28) for name in names[:shown])), default=0)
    columns = max(1, int(width / (LETTER * longest + 0.5)))
    figure = new_figure(width, 2.15 + 0.14 * -(-(shown + (len(names) > shown)) // columns))
    axes = figure.subplots()
    places = range(len(curves.buckets))
    for k, name in enumerate(names):
        others = f"{len(names) - len(LINES)} others" if k == len(LINES) else "_"
        line = ".-"
        look: dict[str, Any] = {"color": "0.75", "linewidth": 0.5, "markersize": 2, "label": others, "zorder": 1}
        if k < len(LINES):
            colour, *shapes = LINES[k]
            line, look = "".join(shapes), {"color": colour, "markersize": 3.5, "label": label(name, 28)}
        axes.plot(places, curves.values[name], line, **look)
    texts = []
    for (first, last), documents, segments in zip(curves.buckets, curves.documents, curves.segments, strict=True):
        lengths = str(first) if first == last else f"{first}–{last}"
        sizes = counted(documents, "doc", "docs"), counted(segments, "seg", "segs")
        texts.append("\n".join([lengths, *sizes]))
    axes.set_xticks(places, texts)
    axes.margins(x=0.08)
    axes.grid(axis="y", color="0.9", linewidth=0.5)
    axes.set_xlabel("segments in a document")
    axes.set_ylabel(label(curves.protocol))
    axes.set_title(title(capital(curves.title), width))
    if names:
        legend_below(figure, columns, handlelength=2.2, columnspacing=1.2)
    return figure


def legend_below(figure: Figure, columns: int, **look: Any) -> None:
    figure.legend(loc="outside lower center", ncols=columns, frameon=False, **look)
