"""The figures of an evaluation: agreement with intervals, by document length, by window and stride, and systems' scores."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..notices import counted, notice
from ..plots.figure import (
    BLUE,
    COLUMN,
    GREY,
    LETTER,
    LINES,
    SKY,
    VERMILION,
    Figure,
    colour_scale,
    draw_cells,
    draw_rows,
    label,
    legend_below,
    new_figure,
    save,
    style,
    title,
)
from .judgements.judged import JudgedSet, MetricScores
from .lengths import LengthCurves, agreement_by_length
from .measures.correlation import mad_outliers
from .output import NOTHING, capital, fixed
from .protocols import PreferenceTau, Protocol
from .report import Agreement, Report
from .scatter import system_scatter

PANELS = 12  # more would be illegible on a page
GRID_CELL = re.compile(r"slide\((\d+),(\d+)\)")
ROW = 0.155  # inches per metric


def draw(
    report: Report,
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores | None]],
    protocols: Sequence[Protocol],
    folder: str,
    form: str,
    largest: int | None,
) -> None:
    """Draw every figure for which this evaluation has data, and say which files were written.

    form       png, pdf or svg
    largest    the largest window of --slide-grid; without it, the grid comes from score files
    """
    written = []
    for name, figure in _figures(report, sets, scores, protocols, largest):
        written.append(re.sub(r"[^\w.-]", "_", name) + f".{form}")
        save(figure, os.path.join(folder, written[-1]))
    notice(f"figures in {folder}: {', '.join(written)}" if written else "--plot: there is nothing to draw")


def _figures(
    report: Report,
    sets: Sequence[JudgedSet],
    scores: Mapping[str, Sequence[MetricScores | None]],
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
        {each.name for of_set in scores.values() for each in of_set if each and not GRID_CELL.fullmatch(each.name)},
        key=lambda name: best.index(name) if name in best else len(best),
    )
    if len(shown) > PANELS:
        notice(
            f"--plot: figures of systems show the {PANELS} best of {len(shown)} metrics by {report.agreements[0].protocol}"
        )
    for judged in sets:
        of_set = {each.name: each for each in scores[judged.name] if each}
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
    for protocol in protocols:
        if isinstance(protocol, PreferenceTau):
            continue
        ordered = {
            name: [next((each for each in of_set if each and each.name == metric), None) for metric in shown]
            for name, of_set in scores.items()
        }
        curves = agreement_by_length(sets, ordered, protocol)
        if curves:
            yield f"document-length.{protocol.name}", length_lines(curves)


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
