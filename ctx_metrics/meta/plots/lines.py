"""Agreement by document length."""

from typing import Any

from ...notices import counted
from ...plots.figure import COLUMN, LETTER, LINES, Figure, label, legend_below, new_figure, style, title
from ..lengths import LengthCurves
from ..output.serialize import capital


@style()
def agreement_by_length(curves: LengthCurves) -> Figure:
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
