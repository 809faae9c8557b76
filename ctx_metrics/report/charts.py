"""The charts of a report: Vega-Lite specifications, whose data are in the page, and the numbers of each chart as a table.

Vega uses values as keys of JavaScript objects, where names such as constructor have a special meaning. Therefore the charts'
data identify systems, metrics and documents by number, and names are only added to what is shown. The page's script sets
the parameters of LISTS and of SELECTED, which the expressions use.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from ..judgements.measures.correlation import pearson
from .content import Content

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# where each length class begins, in words of the first reference, else of the source or the output
LENGTHS = (1, 6, 11, 21, 31, 51)
WORST = 30  # documents in a chart
# texts by number, in full or as short as axes and legends need them; and the numbers of the systems, best first
LISTS = ("names", "titles", "documents", "shortNames", "shortDocuments", "legendNames", "order")
# what the reader selects above the charts; `compared` is the second system, -1 for none; `against` then is the best other
SELECTED = ("metric", "other", "system", "compared", "against")
CHOSEN = "datum.system == system || datum.system == compared"
GREY = "#888888"  # visible on light and on dark pages
FAINT = 0.45  # opacity of the systems that are not selected
OPENS = "Each point is a segment; click it to open the segment. The table shows correlations."
FONTS: dict[str, Any] = {
    "labelFont": "system-ui, sans-serif",
    "titleFont": "system-ui, sans-serif",
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
}
CONFIG: dict[str, Any] = {
    "axis": {
        **FONTS,
        "gridOpacity": 1,
        "gridColor": "#88888833",
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
        "labelLimit": 240,
    },
    "axisQuantitative": {"tickCount": 8},
    "legend": FONTS,
    "view": {"stroke": None},
}


class Chart(NamedTuple):
    """The question that a chart answers, how to read it, its Vega-Lite specification, and its table's header and rows."""

    caption: str
    note: str
    spec: dict[str, Any]
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


def charts(content: Content) -> list[Chart]:
    drawn = [_distribution(content), _by_length(content)]
    if content.documents:
        drawn.append(_by_document(content))
    if len(content.names) > 1:
        drawn += [_wins(content), _systems(content)]
    if len(content.columns) > 1:
        drawn.append(_metrics(content))
    return drawn


def lengths(content: Content) -> np.ndarray:
    """The words in each segment, int64 [N]: of the first reference, else of the source, else of the first output."""
    context = content.context
    texts = [*(context.references or []), context.sources, *context.systems]
    stream = next(stream for stream in texts if stream is not None)
    return np.array([len((text or "").split()) for text in stream])


def _drawn(chart: Any, caption: str) -> dict[str, Any]:
    """A chart's specification, as wide as the page, with the parameters that its expressions use."""
    params = [alt.param(name=name, value=[]) for name in LISTS] + [alt.param(name=name, value=0) for name in SELECTED]
    chart = chart.add_params(*params).properties(width="container", description=caption)
    chart = chart.configure(**CONFIG, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
    return chart.to_dict(validate=False)


def _segments(score: str = "datum.scores[metric]") -> Any:
    """The rows of all segments, with their score."""
    return (
        alt.Chart(alt.NamedData("segments"), height=320)
        .transform_calculate(score=score)
        .transform_filter("isValid(datum.score)")
    )


def _axis(title: str, **properties: Any) -> Any:
    """An axis whose title is a Vega expression. Vega-Lite has none, so the page's script makes one of a text after "="."""
    return alt.Axis(title=f"={title}", **properties)


def _color(content: Content) -> Any:
    scale = alt.Scale(
        domain=[*range(len(content.names))], scheme="tableau10" if len(content.names) <= 10 else "category20"
    )
    legend = alt.Legend(
        labelExpr="legendNames[datum.value]",
        values=alt.ExprRef("order"),
        orient="top",
        columns=4,
        title=None,
        labelLimit=240,
        symbolOpacity=1,
        symbolStrokeWidth=3,
    )
    return alt.Color("system:N", scale=scale, legend=legend)


def _lines(rows: Any, encoding: dict[str, Any], **mark: Any) -> Any:
    """A line for each system; the selected systems are drawn again, thicker and on top of the others."""
    points = mark.pop("point", False)
    looks = ((FAINT, 1.25, 25), (1, 3, 60))
    faint, strong = (
        {**mark, "opacity": opacity, "strokeWidth": width}
        | ({"point": {"opacity": opacity, "size": size}} if points else {})
        for opacity, width, size in looks
    )
    return rows.mark_line(**faint).encode(**encoding) + rows.transform_filter(CHOSEN).mark_line(**strong).encode(
        **encoding
    )


def _distribution(content: Content) -> Chart:
    caption = "How many segments have low scores?"
    rows = _segments().transform_window(share="cume_dist()", groupby=["system"], sort=[alt.SortField("score")])
    encoding = {
        "x": alt.X("score:Q", axis=_axis("titles[metric]")),
        "y": alt.Y("share:Q", title="segments at or below this score", axis=alt.Axis(format="%")),
        "color": _color(content),
    }
    chart = _lines(rows, encoding, interpolate="step-after")
    numbers = [
        [each.heading, content.names[s], *_quantiles(each.scores[s].segments)]
        for each in content.columns
        for s in each.order
    ]
    header = ["Metric", "System", *(f"{100 * q:.0f} % below" for q in QUANTILES)]
    note = "A higher line means more segments at or below that score."
    return Chart(caption, note, _drawn(chart, caption), header, numbers)


def _quantiles(scores: Sequence[float]) -> list[float]:
    known = [score for score in scores if not math.isnan(score)]
    return np.quantile(known, QUANTILES).tolist() if known else [math.nan] * len(QUANTILES)


def classes(content: Content) -> tuple[list[str], np.ndarray]:
    """The names of the length classes, and the class of each segment, int64 [N]."""
    ends = [f"{end - 1}" for end in LENGTHS[1:]]
    names = [f"{begin}-{end}" for begin, end in zip(LENGTHS, ends, strict=False)] + [f"{LENGTHS[-1]}+"]
    return names, np.maximum(np.searchsorted(LENGTHS, lengths(content), side="right") - 1, 0)


def _by_length(content: Content) -> Chart:
    caption = "Do long segments have lower scores?"
    names, of_segments = classes(content)
    encoding = {
        "x": alt.X("words:O", title="words", sort=names, axis=alt.Axis(labelAngle=0)),
        "y": alt.Y("mean(score):Q", axis=_axis("'mean ' + titles[metric]"), scale=alt.Scale(zero=False)),
        "color": _color(content),
        "tooltip": [
            alt.Tooltip("name:N", title="system"),
            "words:O",
            alt.Tooltip("mean(score):Q", title="mean", format=".1f"),
            alt.Tooltip("count()", title="segments"),
        ],
    }
    chart = _lines(_segments().transform_calculate(name="names[datum.system]"), encoding, point=True)
    rows = []
    for each in content.columns:
        for s in each.order:
            scores = np.array(each.scores[s].segments)
            own = [scores[(of_segments == k) & ~np.isnan(scores)] for k in range(len(names))]
            rows.append(
                [each.heading, content.names[s], *(float(part.mean()) if len(part) else float("nan") for part in own)]
            )
    counts = {name: int((of_segments == k).sum()) for k, name in enumerate(names)}
    found = ", ".join(f"{count:,} with {name}" for name, count in counts.items() if count)
    note = f"Mean score by segment length. Number of segments: {found} words."
    return Chart(caption, note, _drawn(chart, caption), ["Metric", "System", *names], rows)


def _by_document(content: Content) -> Chart:
    order = [name for name, _, _ in content.documents]
    shown = min(len(order), WORST)
    few = shown == len(order)
    caption = "Which documents are hard, and for which systems?"
    y = alt.Y(
        "document:O", title=None, sort=alt.SortField("place"), axis=alt.Axis(labelExpr="shortDocuments[datum.value]")
    )
    x = alt.X("score:Q", axis=_axis("'mean ' + titles[metric]"), scale=alt.Scale(zero=False))
    means = (
        alt.Chart(alt.NamedData("segments"), height=24 * shown)
        .transform_calculate(score="datum.scores[metric]")
        .transform_filter("isValid(datum.score)")
        .transform_aggregate(score="mean(score)", groupby=["document", "system"])
        .transform_joinaggregate(of_all="mean(score)", groupby=["document"])
        .transform_calculate(
            place="datum.of_all * (indexof(titles[metric], '↓') < 0 ? 1 : -1)",
            name="documents[datum.document]",
            of="names[datum.system]",
        )
        .transform_window(rank="dense_rank()", sort=[alt.SortField("place")])
        .transform_filter(f"datum.rank <= {WORST}")
    )
    tooltip = [
        alt.Tooltip("name:N", title="document"),
        alt.Tooltip("of:N", title="system"),
        alt.Tooltip("score:Q", title="mean", format=".1f"),
    ]
    looks = {"x": x, "y": y, "color": _color(content), "tooltip": tooltip}
    points = means.mark_circle(size=60, opacity=FAINT).encode(**looks)
    chosen = means.transform_filter(CHOSEN).mark_circle(size=120, opacity=1).encode(**looks)
    spread = means.mark_rule(opacity=0.5, color=GREY).encode(x=alt.X("min(score):Q"), x2="max(score):Q", y=y)
    rows = [
        [each.heading, order[k], *(of_system.documents[k] for of_system in each.scores)]
        for each in content.columns
        for k in range(len(order))
    ]
    which = "worst documents first" if few else f"in the {shown} worst of {len(order):,} documents"
    return Chart(
        caption,
        f"Each system's mean segment score, {which}.",
        _drawn(spread + points + chosen, caption),
        ["Metric", "Document", *content.names],
        rows,
    )


def _scatter(caption: str, x: tuple[str, str], y: tuple[str, str], diagonal: bool) -> dict[str, Any]:
    """A point for each segment; each axis has an expression of its values and one of its title."""
    points = (
        _segments(y[0])
        .transform_calculate(x=x[0])
        .transform_filter("isValid(datum.x)")
        .mark_circle(size=40, opacity=0.55, color="#2a78b8", cursor="pointer")
        .encode(
            x=alt.X("x:Q", axis=_axis(x[1]), scale=alt.Scale(zero=False)),
            y=alt.Y("score:Q", axis=_axis(y[1]), scale=alt.Scale(zero=False)),
            tooltip=["segment:Q", alt.Tooltip("x:Q", format=".1f"), alt.Tooltip("score:Q", title="y", format=".1f")],
        )
    )
    if not diagonal:
        return _drawn(points, caption)
    line = (
        _segments(y[0])
        .transform_calculate(x=x[0])
        .transform_filter("isValid(datum.x)")
        .transform_fold(["x", "score"], as_=["which", "end"])
        .transform_aggregate(low="min(end)", high="max(end)")
        .mark_rule(strokeDash=[4, 4], color=GREY)
        .encode(x="low:Q", x2="high:Q", y="low:Q", y2="high:Q")
    )
    return _drawn(line + points, caption)


def _metrics(content: Content) -> Chart:
    caption = "Do two metrics agree on segments?"
    titles = [each.heading for each in content.columns]
    spec = _scatter(
        caption,
        ("datum.system == system ? datum.scores[metric] : null", "titles[metric] + ', ' + names[system]"),
        ("datum.scores[other]", "titles[other]"),
        False,
    )
    scores = np.array([[of_system.segments for of_system in each.scores] for each in content.columns])
    rows = [[title, *(pearson(scores[i].ravel(), other.ravel()) for other in scores)] for i, title in enumerate(titles)]
    return Chart(caption, OPENS, spec, ["Pearson's r, all systems", *titles], rows)


def _systems(content: Content) -> Chart:
    caption = "On which segments is one system better than another?"
    names = [*content.names]
    spec = _scatter(
        caption,
        ("datum.system == 0 ? datum.all[metric][against] : null", "titles[metric] + ', ' + names[against]"),
        ("datum.all[metric][system]", "titles[metric] + ', ' + names[system]"),
        True,
    )
    rows = []
    for each in content.columns:
        scores = np.array([of_system.segments for of_system in each.scores])
        rows += [[each.heading, name, *(pearson(scores[i], other) for other in scores)] for i, name in enumerate(names)]
    note = f"On the dashed line, both scores are equal. {OPENS}"
    return Chart(caption, note, spec, ["Metric", "Pearson's r", *names], rows)


def _wins(content: Content) -> Chart:
    caption = "How often does a system have the better segment?"
    names = [*content.names]
    rows, values = [], []
    for number, each in enumerate(content.columns):
        scores = each.sign * np.array([of_system.segments for of_system in each.scores])
        for i, name in enumerate(names):
            shares: list[float] = []
            for j, other in enumerate(scores):
                known = ~np.isnan(scores[i] - other)
                if i == j or not known.any():
                    shares.append(math.nan)
                    continue
                better, equal = (float(np.mean(found[known])) for found in (scores[i] > other, scores[i] == other))
                shares.append(better + equal / 2)
                for kind, share in enumerate((better, equal, 1 - better - equal)):
                    values.append({"by": number, "first": i, "second": j, "kind": kind, "share": share})
            rows.append([each.heading, name, *(100 * share for share in shares)])
    kinds = "['better', 'equal', 'worse']"
    chart = (
        alt.Chart(alt.InlineData(values=values), height=28 * (len(names) - 1))
        .transform_filter("datum.by == metric && datum.first == system")
        .transform_calculate(
            name="names[datum.second]", outcome=f"{kinds}[datum.kind]", place="indexof(order, datum.second)"
        )
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                axis=_axis("['segments of ' + names[system], 'by ' + titles[metric]]", format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y(
                "second:O",
                title=None,
                sort=alt.EncodingSortField("place", op="min"),
                axis=alt.Axis(labelExpr="shortNames[datum.value]"),
            ),
            color=alt.Color(
                "kind:O",
                scale=alt.Scale(domain=[0, 1, 2], range=["#2a78b8", "#b9bfc6", "#d9822b"]),
                legend=alt.Legend(labelExpr=f"{kinds}[datum.value]", orient="top", title=None, labelLimit=240),
            ),
            order=alt.Order("kind:O"),
            tooltip=[alt.Tooltip("name:N", title="other system"), "outcome:N", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    header = ["Metric", "% of segments won by", *(f"against {name}" for name in names)]
    note = "The selected system against every other system. In the table, an equal segment counts as half a win."
    return Chart(caption, note, _drawn(chart, caption), header, rows)
