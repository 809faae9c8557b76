"""Agreement by the length of documents."""

from typing import TYPE_CHECKING

from ..lengths import LengthCurves
from ..output.serialize import capital
from .figure import (
    BLACK,
    BLUE,
    COLUMN,
    GREEN,
    LETTER,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    label,
    new_figure,
    style,
    title,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = (
    (BLUE, "o", "-"),
    (VERMILION, "s", "-"),
    (GREEN, "^", "-"),
    (PURPLE, "D", "-"),
    (ORANGE, "v", "--"),
    (SKY, "P", "--"),
    (BLACK, "X", "--"),
)


def agreement_by_length(curves: LengthCurves) -> "Figure":
    """One line a metric, one place on the x axis a bucket of documents, labelled with its lengths and what it holds.

    The first seven metrics have a colour and a marker of their own; any more are thin grey lines, since nobody tells
    more colours apart. A NaN is a gap in the line.

    Raises CtxMetricsError if matplotlib is missing.
    """
    with style():
        names = list(curves.values)
        width = max(COLUMN, 0.62 * len(curves.buckets) + 0.6)
        shown = min(len(names), len(LINES))
        longest = max(map(len, (label(name, 28) for name in names[:shown])), default=0)
        columns = max(1, int(width / (LETTER * longest + 0.5)))
        figure = new_figure(width, 2.15 + 0.14 * -(-(shown + (len(names) > shown)) // columns))
        axes = figure.subplots()
        places = range(len(curves.buckets))
        for k, name in enumerate(names):
            if k < len(LINES):
                colour, marker, dashes = LINES[k]
                axes.plot(
                    places, curves.values[name], marker + dashes, color=colour, markersize=3.5, label=label(name, 28)
                )
            else:
                others = f"{len(names) - len(LINES)} others" if k == len(LINES) else "_"
                axes.plot(
                    places, curves.values[name], ".-", color="0.75", linewidth=0.5, markersize=2, label=others, zorder=1
                )
        texts = []
        of_buckets = zip(curves.buckets, curves.documents, curves.segments, strict=True)
        for (first, last), documents, segments in of_buckets:
            lengths = str(first) if first == last else f"{first}–{last}"
            texts.append(
                f"{lengths}\n{documents:,} doc{'s' * (documents != 1)}\n{segments:,} seg{'s' * (segments != 1)}"
            )
        axes.set_xticks(places, texts)
        axes.margins(x=0.08)
        axes.grid(axis="y", color="0.9", linewidth=0.5)
        axes.set_xlabel("segments in a document")
        axes.set_ylabel(label(curves.protocol))
        axes.set_title(title(capital(curves.title), width))
        if names:
            figure.legend(loc="outside lower center", ncols=columns, frameon=False, handlelength=2.2, columnspacing=1.2)
    return figure
