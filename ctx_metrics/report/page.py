"""Builds the report: a single HTML file that contains everything it shows and loads nothing."""

import base64
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..cli.common.output import number
from ..cli.common.system_tables import autorank_note, order_of, overall_ranks
from ..errors import InputError
from ..judgements.measures.spans import UNCOUNTED
from ..notices import counted
from .cells import Cell, Difference, cells, difference, lead, overall_cells
from .columns import missing_words
from .content import Content, SpanColumn, all_marked, as_data
from .sets import languages, summary
from .verdict import Verdict, listed, verdict

if TYPE_CHECKING:
    from .charts import Chart

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


class View(NamedTuple):
    """A test set on the page: the content of its tables, its charts, and the packed data for the page's script.

    overall    each system's AutoRank; empty if it is not shown
    """

    content: Content
    facts: Sequence[str]
    notes: Sequence[str]
    verdict: Verdict
    order: Sequence[int]
    overall: Sequence[float]
    cells: Sequence[Sequence[Cell]]
    leads: Sequence[Difference | None]
    tested: bool
    marked: Sequence[tuple[SpanColumn, list[str], list[list[int]], list[int]]]
    charts: "Sequence[Chart]"
    data: str

    @property
    def overall_cells(self) -> list[Cell]:
        return overall_cells(self.overall)


def title_of(*sets: Content) -> str:
    """A title from the systems' names, and the languages of a single test set; more than three systems are only counted."""
    names = sets[0].names if len(sets) == 1 else [*dict.fromkeys(name for each in sets for name in each.names)]
    systems = listed(names) if len(names) <= 3 else f"{len(names)} systems"
    if len(sets) > 1:
        return f"{systems} on {len(sets)} test sets"
    pair = languages(sets[0])
    return f"{systems}, {pair}" if pair else systems


def check_installed() -> None:
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            import_module(name)
        except ImportError as error:
            raise InputError(
                f"a report needs {name}, which is not installed", fix=f"install it with: {EXTRA}"
            ) from error


def page(sets: Sequence[Content], title: str) -> str:
    """The HTML of a page with this title. Call check_installed first."""
    import vl_convert
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    views = [_view(each, len(sets) > 1) for each in sets]
    own, vega = script(), vl_convert.javascript_bundle(snippet=VEGA).replace("</script", "<\\/script")
    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html").render(
        title=title,
        policy=POLICY.format(" ".join(map(_hash, (own, vega)))),
        parts=[part for part in PARTS if part[0] != "documents" or any(each.documents for each in sets)],
        views=views,
        summary=summary(
            [each.content for each in views], [each.verdict for each in views], [each.overall for each in views]
        ),
        difference=difference,
        printed=lambda value: number(value, 1, "-"),
        style=Markup((FOLDER / "page.css").read_text("utf-8")),
        script=Markup(own),
        vega=Markup(vega),
    )


def _view(content: Content, several: bool) -> View:
    from .charts import charts, classes  # needs altair

    overall = None if content.autorank is None else overall_ranks(content.compared, content.autorank)
    note = autorank_note(content.compared, content.autorank)
    missing = missing_words(content.context, content.design)
    found = verdict(content.names, content.columns)
    if missing is not None:
        content = replace(content, columns=[*content.columns, missing])
    drawn, tested = charts(content), any(each.comparison for each in content.columns)
    names, of_segments = classes(content)
    data = {**as_data(content), "charts": [chart.spec for chart in drawn], "words": [names[k] for k in of_segments]}
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return View(
        content,
        [*_facts(content, several)],
        [*(content.design.notes() if tested else ()), *[note] * bool(note)],
        found,
        content.columns[0].order if overall is None else order_of(overall),
        overall or [],
        [cells(each) for each in content.columns],
        [lead(each) for each in content.columns],
        tested,
        [(each, *error_counts(each, len(content.names))) for each in all_marked(content)],
        drawn,
        # compression reduces texts and scores to about a third
        base64.b64encode(gzip.compress(text.encode(errors="replace"), mtime=0)).decode(),
    )


def script() -> str:
    return "\n".join((FOLDER / "script" / f"{name}.js").read_text("utf-8") for name in SCRIPTS)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _facts(content: Content, several: bool) -> Iterator[str]:
    """A test set's size in words; with its languages if the page has several, whose title cannot name them."""
    context = content.context
    if several and (pair := languages(content)):
        yield pair
    yield counted(len(content.names), "system", "systems")
    yield counted(len(context.systems[0]), "segment", "segments")
    if content.documents:
        yield counted(len(content.documents), "document", "documents")
    yield counted(len(context.references or ()), "reference", "references") if context.references else "no reference"


def error_counts(marked: SpanColumn, systems: int) -> tuple[list[str], list[list[int]], list[int]]:
    """The severities that occur; for each system, how many spans have each; and how many segments have any."""
    counts: list[Counter[str]] = [Counter() for _ in range(systems)]
    segments = [0] * systems
    for (s, _), spans in marked.spans.items():
        counts[s].update(span.severity for span in spans)
        segments[s] += bool(spans)
    found = [each for each in WORST_FIRST if any(own[each] for own in counts)]
    return found, [[own[each] for each in found] for own in counts], segments
