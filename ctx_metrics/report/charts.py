"""The charts of a report: Vega-Lite specifications, whose data are in the page, and the numbers of each chart as a table.

Vega uses values as keys of JavaScript objects, where names such as constructor have a special meaning. Therefore the charts'
data identify systems, metrics and documents by number, and names are only added to what is shown.
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


class Chart(NamedTuple):
    """A chart's caption, its Vega-Lite specification, and the header and rows of its table."""

    caption: str
    spec: dict[str, Any]
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


def charts(content: Content) -> list[Chart]:
    drawn = [_distribution(content), _by_length(content)]
    if content.documents:
        drawn.append(_by_document(content))
    if len(content.columns) > 1:
        drawn.append(_metrics(content))
    if len(content.names) > 1:
        drawn += [_systems(content), _wins(content)]
    return drawn


def lengths(content: Content) -> np.ndarray:
    """The words in each segment, int64 [N]: of the first reference, else of the source, else of the first output."""
    context = content.context
    texts = [*(context.references or []), context.sources, *context.systems]
    stream = next(stream for stream in texts if stream is not None)
    return np.array([len((text or "").split()) for text in stream])


def _base(content: Content, *params: Any) -> Any:
    return alt.Chart(alt.NamedData("segments")).add_params(*params, *_names(content)).properties(width=640, height=320)


def _names(content: Content) -> list[Any]:
    """The Vega parameters `names`, of the systems, and `titles`, of the metrics, for the charts' expressions."""
    titles = [each.heading for each in content.columns]
    return [alt.param(name="names", value=[*content.names]), alt.param(name="titles", value=titles)]


def _choice(name: str, labels: Sequence[str], value: int, words: str) -> Any:
    """A Vega parameter: the reader chooses one of the labels, and its value is the label's number."""
    bind = alt.binding_select(options=[*range(len(labels))], labels=[*labels], name=f"{words} ")
    return alt.param(name=name, value=value, bind=bind)


def _metric(content: Content) -> Any:
    return _choice("metric", [each.heading for each in content.columns], 0, "Metric")


def _color(content: Content) -> Any:
    scale = alt.Scale(scheme="tableau10" if len(content.names) <= 10 else "category20")
    return alt.Color("system:N", scale=scale, legend=alt.Legend(labelExpr="names[datum.value]"))


def _judged(content: Content) -> list[int]:
    """The systems' numbers; those with a score by the first metric come first."""
    first = content.columns[0].scores
    return sorted(range(len(first)), key=lambda s: math.isnan(first[s].system))


def _distribution(content: Content) -> Chart:
    chart = (
        _base(content, _metric(content))
        .transform_calculate(score="datum.scores[metric]")
        .transform_filter("isValid(datum.score)")
        .transform_density("score", groupby=["system"], as_=["score", "density"])
        .mark_line()
        .encode(x=alt.X("score:Q", title="segment score"), y=alt.Y("density:Q", title=None), color=_color(content))
    )
    rows = [
        [each.heading, name, *_quantiles(of_system.segments)]
        for each in content.columns
        for name, of_system in zip(content.names, each.scores, strict=True)
    ]
    header = ["Metric", "System", *(f"{100 * q:.0f} % below" for q in QUANTILES)]
    return Chart("Distribution of segment scores", chart.to_dict(validate=False), header, rows)


def _quantiles(scores: Sequence[float]) -> list[float]:
    known = [score for score in scores if not math.isnan(score)]
    return np.quantile(known, QUANTILES).tolist() if known else [math.nan] * len(QUANTILES)


def classes(content: Content) -> tuple[list[str], np.ndarray]:
    """The names of the length classes, and the class of each segment, int64 [N]."""
    ends = [f"{end - 1}" for end in LENGTHS[1:]]
    names = [f"{begin}-{end}" for begin, end in zip(LENGTHS, ends, strict=False)] + [f"{LENGTHS[-1]} and more"]
    return names, np.maximum(np.searchsorted(LENGTHS, lengths(content), side="right") - 1, 0)


def _by_length(content: Content) -> Chart:
    names, of_segments = classes(content)
    chart = (
        _base(content, _metric(content))
        .transform_calculate(score="datum.scores[metric]")
        .mark_line(point=True)
        .encode(
            x=alt.X("words:O", title="words", sort=names),
            y=alt.Y("mean(score):Q", title="mean segment score", scale=alt.Scale(zero=False)),
            color=_color(content),
        )
    )
    rows = []
    for each in content.columns:
        for name, of_system in zip(content.names, each.scores, strict=True):
            scores = np.array(of_system.segments)
            own = [scores[(of_segments == k) & ~np.isnan(scores)] for k in range(len(names))]
            rows.append([each.heading, name, *(float(part.mean()) if len(part) else float("nan") for part in own)])
    return Chart("Score by length", chart.to_dict(validate=False), ["Metric", "System", *names], rows)


def _by_document(content: Content) -> Chart:
    order = [name for name, _, _ in content.documents]
    axis = alt.Axis(labelLimit=120, labelOverlap=True, labelExpr="documents[datum.value]")
    x = alt.X("document:O", title=None, axis=axis)
    y = alt.Y("score:Q", title="mean segment score", scale=alt.Scale(zero=False))
    mean: Any = {"score": "mean(score)"}
    of_all = (
        alt.Chart()
        .transform_aggregate(**mean, groupby=["document"])
        .mark_line(color="gray", strokeWidth=1)
        .encode(x=x, y=y)
    )
    of_one = (
        alt.Chart()
        .transform_filter("datum.system == system")
        .transform_aggregate(**mean, groupby=["document"])
        .transform_calculate(name="documents[datum.document]", of="names[system]")
        .mark_circle(size=60, opacity=1)
        .encode(
            x=x, y=y, tooltip=[alt.Tooltip("name:N", title="document"), alt.Tooltip("of:N", title="system"), "score:Q"]
        )
    )
    chart = (
        alt.layer(of_all, of_one, data=alt.NamedData("segments"))
        .add_params(
            _metric(content),
            _choice("system", content.names, _judged(content)[0], "System (the line is the mean of all)"),
            *_names(content),
            alt.param(name="documents", value=order),
        )
        .transform_calculate(score="datum.scores[metric]")
        .transform_filter("isValid(datum.score)")
        .properties(width=640, height=320)
    )
    rows = [
        [each.heading, order[k], *(of_system.documents[k] for of_system in each.scores)]
        for each in content.columns
        for k in range(len(order))
    ]
    header = ["Metric", "Document", *content.names]
    return Chart("Score by document", chart.to_dict(validate=False), header, rows)


def _scatter(content: Content, x: str, y: str, title: str, *params: Any) -> dict[str, Any]:
    chart = (
        _base(content, *params)
        .transform_calculate(x=x, y=y)
        .transform_filter("isValid(datum.x) && isValid(datum.y)")
        .mark_circle(size=25, opacity=0.4, cursor="pointer")
        .encode(
            x=alt.X("x:Q", title=None, scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", title=None, scale=alt.Scale(zero=False)),
            tooltip=["segment:Q", "x:Q", "y:Q"],
        )
    )
    return {**chart.to_dict(validate=False), "title": {"text": {"expr": title}, "fontWeight": "normal"}}


def _metrics(content: Content) -> Chart:
    titles = [each.heading for each in content.columns]
    spec = _scatter(
        content,
        "datum.system == system ? datum.scores[across] : null",
        "datum.scores[up]",
        "titles[up] + ' against ' + titles[across] + ', ' + names[system]",
        _choice("system", content.names, _judged(content)[0], "System"),
        _choice("across", titles, 0, "Across"),
        _choice("up", titles, 1, "Up"),
    )
    scores = np.array([[of_system.segments for of_system in each.scores] for each in content.columns])
    rows = [[title, *(pearson(scores[i].ravel(), other.ravel()) for other in scores)] for i, title in enumerate(titles)]
    return Chart("Metric against metric, by segment", spec, ["Pearson's r, all systems", *titles], rows)


def _systems(content: Content) -> Chart:
    names, judged = [*content.names], _judged(content)
    spec = _scatter(
        content,
        "datum.system == 0 ? datum.all[metric][across] : null",
        "datum.all[metric][up]",
        "names[up] + ' against ' + names[across] + ', ' + titles[metric]",
        _metric(content),
        _choice("across", names, judged[0], "Across"),
        _choice("up", names, judged[1], "Up"),
    )
    rows = []
    for each in content.columns:
        scores = np.array([of_system.segments for of_system in each.scores])
        rows += [[each.heading, name, *(pearson(scores[i], other) for other in scores)] for i, name in enumerate(names)]
    return Chart("System against system, by segment", spec, ["Pearson's r by", "System", *names], rows)


def _wins(content: Content) -> Chart:
    names, axis = [*content.names], alt.Axis(labelExpr="names[datum.value]")
    rows, cells = [], []
    for number, each in enumerate(content.columns):
        scores = each.sign * np.array([of_system.segments for of_system in each.scores])
        for i, name in enumerate(names):
            shares = [
                float("nan") if i == j else float(np.mean((scores[i] > other) + 0.5 * (scores[i] == other)))
                for j, other in enumerate(scores)
            ]
            rows.append([each.heading, name, *(100 * share for share in shares)])
            cells += [
                {"by": number, "better": i, "other": j, "wins": 100 * share}
                for j, share in enumerate(shares)
                if share == share
            ]
    chart = (
        alt.Chart(alt.InlineData(values=cells))
        .add_params(_metric(content), *_names(content))
        .transform_filter("datum.by == metric")
        .transform_calculate(system="names[datum.better]", against="names[datum.other]")
        .mark_rect()
        .encode(
            x=alt.X("other:O", title="other system", axis=axis),
            y=alt.Y("better:O", title="system", axis=axis),
            color=alt.Color("wins:Q", title="% of segments", scale=alt.Scale(domain=[0, 100], scheme="blueorange")),
            tooltip=["system:N", "against:N", alt.Tooltip("wins:Q", format=".1f")],
        )
        .properties(width=48 * len(names), height=32 * len(names))
    )
    header = ["% of segments won by", "System", *names]
    return Chart("How often a system's segment has the better score", chart.to_dict(validate=False), header, rows)
