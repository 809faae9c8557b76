"""Builds the report: a single HTML file that contains everything it shows and loads nothing."""

import base64
import gzip
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..cli.common.output import number
from ..errors import InputError
from ..scoring.comparison import Column, Comparison
from .columns import missing_words
from .content import Content, as_data

FOLDER = Path(__file__).parent
EXTRA = "pip install 'ctx-metrics[report]'"
# the name by which the page's script calls Vega-Embed
VEGA = "window.vegaEmbed = vegaEmbed;"
SCRIPTS = "page tables overview marks differences why selection segments documents charts open".split()
PARTS = [("overview", "Overview"), ("segments", "Segments"), ("documents", "Documents"), ("charts", "Charts")]


def title_of(content: Content) -> str:
    """A title from the languages and the systems' names; more than three systems are only counted."""
    context, names = content.context, content.names
    pair = "-".join(each for each in (context.source_lang, context.target_lang) if each)
    return f"{pair} {', '.join(names) if len(names) <= 3 else f'{len(names)} systems'}".strip()


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
    if missing is not None:
        content = replace(content, columns=[*content.columns, missing])
    drawn = charts(content)
    names, of_segments = classes(content)
    data = {**as_data(content), "charts": [chart.spec for chart in drawn], "words": [names[k] for k in of_segments]}
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    columns = [(each, rows(each, content.names), pairs(each, content.names)) for each in content.columns]
    environment = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("page.html").render(
        title=title,
        parts=[part for part in PARTS if part[0] != "documents" or content.documents],
        content=content,
        columns=columns,
        tested=[column for column in columns if column[2]],
        cell=cell,
        charts=drawn,
        data=base64.b64encode(
            gzip.compress(text.encode(errors="replace"), mtime=0)
        ).decode(),  # compression reduces texts and scores to about a third
        style=Markup((FOLDER / "page.css").read_text("utf-8")),
        script=Markup(script()),
        vega=Markup(vl_convert.javascript_bundle(snippet=VEGA).replace("</script", "<\\/script")),
    )


def script() -> str:
    return "\n".join((FOLDER / "script" / f"{name}.js").read_text("utf-8") for name in SCRIPTS)


def cell(value: Any) -> str:
    """A score, or a name, as the commands print it: one decimal; "-" for NaN."""
    return number(value, 1, "-")


def rows(column: Column, names: Sequence[str]) -> list[list[str]]:
    """One row per system: its score and, if resampled, the mean and half-width of the interval, and the rank."""
    comparison = column.comparison
    found = []
    for s, (name, of_system) in enumerate(zip(names, column.scores, strict=True)):
        row = [name, cell(of_system.system)]
        if comparison is not None and not math.isnan(of_system.system):
            numbers = comparison.means[s], comparison.margins[s]
            row += [*map(cell, numbers), str(comparison.ranks[s])]
        found.append(row)
    return found


def pairs(column: Column, names: Sequence[str]) -> list[list[str]]:
    """One row per system: its difference from each other system, with the corrected p-value."""
    if column.comparison is None:
        return []
    scores, comparison = [each.system for each in column.scores], column.comparison
    return [
        [name, *("" if i == j else _difference(scores[i] - scores[j], comparison, i, j) for j in range(len(names)))]
        for i, name in enumerate(names)
    ]


def _difference(points: float, comparison: Comparison, i: int, j: int) -> str:
    star = "*" * comparison.differ(i, j)
    return "-" if math.isnan(points) else f"{points:+.1f}{star} (p {comparison.adjusted[i, j]:.3f})"
