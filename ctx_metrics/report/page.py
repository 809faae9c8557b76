"""Builds the report: a single HTML file that contains everything it shows and loads nothing."""

import base64
import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ..cli.common.comparisons import interval
from ..cli.common.output import number
from ..errors import InputError
from ..meta.measures.spans import UNCOUNTED
from ..notices import counted
from ..scoring.comparison import Column
from .columns import missing_words
from .content import Content, Marked, all_marked, as_data
from .verdict import listed, p_value, verdict

FOLDER = Path(__file__).parent
EXTRA = "pip install 'ctx-metrics[report]'"
# the name by which the page's script calls Vega-Embed
VEGA = "window.vegaEmbed = vegaEmbed;"
SCRIPTS = "page tables marks differences why selection segments documents charts open".split()
PARTS = [("overview", "Overview"), ("segments", "Segments"), ("documents", "Documents"), ("charts", "Charts")]
WORST_FIRST = ("critical", "major", "minor", *UNCOUNTED)  # severities of errors
# Only the page's own scripts run, each known by its hash, and nothing is loaded. Vega writes style attributes.
POLICY = (
    "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)


class Cell(NamedTuple):
    """A system's score by one metric.

    margin, rank      half of its interval's width, and its rank; None if not tested
    low, width, at    of its interval, and of the score, between the lowest and the highest end of all intervals, in %
    """

    score: str
    best: bool
    margin: str | None = None
    rank: int | None = None
    low: float = 0
    width: float = 0
    at: float = 0


class Difference(NamedTuple):
    """What one system is ahead of another by one metric; its 95 % interval and corrected p-value are None if not tested."""

    points: str
    kind: str = ""
    interval: str | None = None
    p: str | None = None


def title_of(content: Content) -> str:
    """A title from the systems' names and the languages; more than three systems are only counted."""
    context, names = content.context, content.names
    pair = " → ".join(each for each in (context.source_lang, context.target_lang) if each)
    systems = listed(names) if len(names) <= 3 else f"{len(names)} systems"
    return f"{systems}, {pair}" if pair else systems


def check_installed() -> None:
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            import_module(name)
        except ImportError as error:
            raise InputError(f"a report needs {name}, which is not installed; install it with: {EXTRA}") from error


def page(content: Content, title: str) -> str:
    """The HTML of a page with this title. Call check_installed first."""
    import vl_convert
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    from .charts import charts, classes  # needs altair

    missing = missing_words(content.context, content.design)
    found = verdict(content.names, content.columns)
    if missing is not None:
        content = replace(content, columns=[*content.columns, missing])
    drawn = charts(content)
    names, of_segments = classes(content)
    data = {**as_data(content), "charts": [chart.spec for chart in drawn], "words": [names[k] for k in of_segments]}
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    own, vega = script(), vl_convert.javascript_bundle(snippet=VEGA).replace("</script", "<\\/script")
    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html").render(
        title=title,
        policy=POLICY.format(" ".join(map(_hash, (own, vega)))),
        parts=[part for part in PARTS if part[0] != "documents" or content.documents],
        content=content,
        facts=[*_facts(content)],
        verdict=found,
        order=content.columns[0].order,
        cells=[cells(each) for each in content.columns],
        leads=[lead(each) for each in content.columns],
        difference=difference,
        tested=[each for each in content.columns if each.comparison],
        marked=[(each, *error_counts(each, len(content.names))) for each in all_marked(content)],
        charts=drawn,
        printed=lambda value: number(value, 1, "-"),
        data=base64.b64encode(
            gzip.compress(text.encode(errors="replace"), mtime=0)
        ).decode(),  # compression reduces texts and scores to about a third
        style=Markup((FOLDER / "page.css").read_text("utf-8")),
        script=Markup(own),
        vega=Markup(vega),
    )


def script() -> str:
    return "\n".join((FOLDER / "script" / f"{name}.js").read_text("utf-8") for name in SCRIPTS)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _facts(content: Content) -> Iterator[str]:
    context = content.context
    yield counted(len(content.names), "system", "systems")
    yield counted(len(context.systems[0]), "segment", "segments")
    if content.documents:
        yield counted(len(content.documents), "document", "documents")
    yield counted(len(context.references or ()), "reference", "references") if context.references else "no reference"


def cells(column: Column) -> list[Cell]:
    """One cell for each system."""
    found = [Cell(number(of.system, 1, "-"), s == column.best) for s, of in enumerate(column.scores)]
    ends = [interval(column.comparison, s) for s in range(len(found))]
    known = [end for both in ends for end in both if not math.isnan(end)]
    if column.comparison is None or not known:
        return found
    least, span = min(known), max(max(known) - min(known), 1e-9)
    for s, (low, high) in enumerate(ends):
        if not math.isnan(low) and not math.isnan(column.scores[s].system):
            places = (
                100 * (low - least) / span,
                100 * (high - low) / span,
                100 * (column.scores[s].system - least) / span,
            )
            found[s] = Cell(
                *found[s][:2],
                number(float(column.comparison.margins[s]), 1),
                column.comparison.ranks[s],
                *(round(place, 2) for place in places),
            )
    return found


def lead(column: Column) -> Difference | None:
    """What the best system is ahead of the second."""
    first, second = [*column.order, 0][:2]
    return difference(column, first, second) if len(column.scores) > 1 else None


def difference(column: Column, i: int, j: int) -> Difference:
    points, comparison = column.scores[i].system - column.scores[j].system, column.comparison
    if math.isnan(points):
        return Difference("-")
    if comparison is None:
        return Difference(_signed(points))
    sure, (low, high) = comparison.differ(i, j), comparison.differences[i, j]
    kind = ("better" if points * column.sign > 0 else "worse") if sure else ""
    ends = f"{_signed(low)} to {_signed(high)}"
    return Difference(_signed(points) + "*" * sure, kind, ends, p_value(float(comparison.adjusted[i, j])))


def _signed(points: float) -> str:
    return f"{round(points, 1) + 0.0:+.1f}"  # no -0.0


def error_counts(marked: Marked, systems: int) -> tuple[list[str], list[list[int]], list[int]]:
    """The severities that occur; for each system, how many spans have each; and how many segments have any."""
    counts: list[Counter[str]] = [Counter() for _ in range(systems)]
    segments = [0] * systems
    for (s, _), spans in marked.spans.items():
        counts[s].update(span.severity for span in spans)
        segments[s] += bool(spans)
    found = [each for each in WORST_FIRST if any(own[each] for own in counts)]
    return found, [[own[each] for each in found] for own in counts], segments
