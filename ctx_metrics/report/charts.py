"""The charts of a report: Vega-Lite specifications, whose data are in the page, and the numbers of each chart as a table.

Vega uses values as keys of JavaScript objects, where names such as constructor have a special meaning. Therefore the charts'
data identify systems, metrics and documents by number, and names are only added to what is shown. The reader selects the
parameters `metric`, `other` (a second metric), `system` and `against` (another system) above the charts.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from ..meta.measures.correlation import pearson
from .content import Content

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# where each length class begins, in words of the first reference, else of the source or the output
LENGTHS = (1, 6, 11, 21, 31, 51)
WORST = 30  # documents in a chart
OPENS = "A point is a segment: click it to open the segment. The numbers are correlations."
FONTS: dict[str, Any] = {
    "labelFont": "system-ui, sans-serif",
    "titleFont": "system-ui, sans-serif",
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
}
CONFIG: dict[str, Any] = {
    "axis": {**FONTS, "gridOpacity": 0.4, "domain": False, "ticks": False, "labelPadding": 6, "labelLimit": 240},
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


def _drawn(content: Content, chart: Any, caption: str) -> dict[str, Any]:
    """A chart's specification, as wide as the page, with the parameters that its expressions use."""
    titles = [each.heading for each in content.columns]
    values: dict[str, Any] = {
        "names": [*content.names],
        "titles": titles,
        "documents": [name for name, _, _ in content.documents],
    }
    values |= {"metric": 0, "other": 0, "system": 0, "against": 0}
    params = [alt.param(name=name, value=value) for name, value in values.items()]
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
    scale = alt.Scale(scheme="tableau10" if len(content.names) <= 10 else "category20")
    legend = alt.Legend(labelExpr="names[datum.value]", orient="top", columns=4, title=None, labelLimit=240)
    return alt.Color("system:N", scale=scale, legend=legend)


def _distribution(content: Content) -> Chart:
    caption = "How many segments have low scores?"
    chart = (
        _segments()
        .transform_window(share="cume_dist()", groupby=["system"], sort=[alt.SortField("score")])
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("score:Q", axis=_axis("titles[metric]")),
            y=alt.Y("share:Q", title="segments with at most this score", axis=alt.Axis(format="%")),
            color=_color(content),
        )
    )
    rows = [
        [each.heading, name, *_quantiles(of_system.segments)]
        for each in content.columns
        for name, of_system in zip(content.names, each.scores, strict=True)
    ]
    header = ["Metric", "System", *(f"{100 * q:.0f} % below" for q in QUANTILES)]
    note = "A higher line means more segments at or below that score."
    return Chart(caption, note, _drawn(content, chart, caption), header, rows)


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
    chart = (
        _segments()
        .transform_calculate(name="names[datum.system]")
        .mark_line(point=True)
        .encode(
            x=alt.X("words:O", title="words", sort=names, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("mean(score):Q", axis=_axis("'mean ' + titles[metric]"), scale=alt.Scale(zero=False)),
            color=_color(content),
            tooltip=[
                alt.Tooltip("name:N", title="system"),
                "words:O",
                alt.Tooltip("mean(score):Q", title="mean", format=".1f"),
                alt.Tooltip("count()", title="segments"),
            ],
        )
    )
    rows = []
    for each in content.columns:
        for name, of_system in zip(content.names, each.scores, strict=True):
            scores = np.array(of_system.segments)
            own = [scores[(of_segments == k) & ~np.isnan(scores)] for k in range(len(names))]
            rows.append([each.heading, name, *(float(part.mean()) if len(part) else float("nan") for part in own)])
    counts = [
        f"{int((of_segments == k).sum()):,} of {name}" for k, name in enumerate(names) if (of_segments == k).any()
    ]
    note = f"Mean score of segments by number of words. Segments: {', '.join(counts)} words."
    return Chart(caption, note, _drawn(content, chart, caption), ["Metric", "System", *names], rows)


def _by_document(content: Content) -> Chart:
    order = [name for name, _, _ in content.documents]
    shown = min(len(order), WORST)
    few = shown == len(order)
    caption = "Which documents are hard, and for which system?"
    y = alt.Y("document:O", title=None, sort=alt.SortField("place"), axis=alt.Axis(labelExpr="documents[datum.value]"))
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
    points = means.mark_circle(size=90, opacity=0.9).encode(x=x, y=y, color=_color(content), tooltip=tooltip)
    spread = means.mark_rule(opacity=0.35).encode(x=alt.X("min(score):Q"), x2="max(score):Q", y=y)
    rows = [
        [each.heading, order[k], *(of_system.documents[k] for of_system in each.scores)]
        for each in content.columns
        for k in range(len(order))
    ]
    which = "the worst document first" if few else f"the {shown} worst of {len(order):,} documents"
    return Chart(
        caption,
        f"Mean segment score of each system in a document, {which}.",
        _drawn(content, spread + points, caption),
        ["Metric", "Document", *content.names],
        rows,
    )


def _scatter(content: Content, caption: str, x: tuple[str, str], y: tuple[str, str], diagonal: bool) -> dict[str, Any]:
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
        return _drawn(content, points, caption)
    line = (
        _segments(y[0])
        .transform_calculate(x=x[0])
        .transform_filter("isValid(datum.x)")
        .transform_fold(["x", "score"], as_=["which", "end"])
        .transform_aggregate(low="min(end)", high="max(end)")
        .mark_rule(strokeDash=[4, 4], opacity=0.6)
        .encode(x="low:Q", x2="high:Q", y="low:Q", y2="high:Q")
    )
    return _drawn(content, line + points, caption)


def _metrics(content: Content) -> Chart:
    caption = "Do two metrics agree about segments?"
    titles = [each.heading for each in content.columns]
    spec = _scatter(
        content,
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
        content,
        caption,
        ("datum.system == 0 ? datum.all[metric][against] : null", "titles[metric] + ', ' + names[against]"),
        ("datum.all[metric][system]", "titles[metric] + ', ' + names[system]"),
        True,
    )
    rows = []
    for each in content.columns:
        scores = np.array([of_system.segments for of_system in each.scores])
        rows += [[each.heading, name, *(pearson(scores[i], other) for other in scores)] for i, name in enumerate(names)]
    note = f"On the dashed line, the scores are equal. {OPENS}"
    return Chart(caption, note, spec, ["Pearson's r by", "System", *names], rows)


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
        .transform_calculate(name="names[datum.second]", what=f"{kinds}[datum.kind]")
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                axis=_axis("['segments of ' + names[system], 'by ' + titles[metric]]", format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("second:O", title=None, axis=alt.Axis(labelExpr="names[datum.value]", labelLimit=240)),
            color=alt.Color(
                "kind:O",
                scale=alt.Scale(domain=[0, 1, 2], range=["#2a78b8", "#b9bfc6", "#d9822b"]),
                legend=alt.Legend(labelExpr=f"{kinds}[datum.value]", orient="top", title=None, labelLimit=240),
            ),
            order=alt.Order("kind:O"),
            tooltip=[alt.Tooltip("name:N", title="other system"), "what:N", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    header = ["% of segments won by", "System", *names]
    note = "Compared with each other system. In the numbers, an equal segment is half a win."
    return Chart(caption, note, _drawn(content, chart, caption), header, rows)
