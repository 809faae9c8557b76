"""What other programs read of a report: texts with scores as TSV, JSON for Pearmut and subset2evaluate, tables of pairs."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tabulate import tabulate

from ..notices import notice
from ..scoring.testing import Design
from ..separated import separated
from .content import Column, Content, cell, known

CELLS = "Each cell is the row's score minus the column's."
LATEX = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"}
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}"}
)
SEVERITIES = {"critical": "major"}  # of Pearmut, which has minor and major


def texts_table(content: Content, form: str = "tsv") -> str:
    """A table with a header, as tsv or csv: a row for each output, with its texts and scores in full."""
    context, documents = content.context, _documents_of(content)
    references = context.references or []
    header = ["system", "document", "segment", *(each.title for each in content.columns), "source"]
    header += ["reference" if k == 0 else f"reference {k + 1}" for k in range(len(references))] + ["hypothesis"]
    rows = [header]
    for s, name in enumerate(content.names):
        for i, output in enumerate(context.systems[s]):
            scores = [_shown(each.scores[s].segments[i]) for each in content.columns]
            texts = [
                "" if context.sources is None else context.sources[i],
                *(each[i] or "" for each in references),
                output,
            ]
            rows.append([name, documents[i], str(i + 1), *scores, *texts])
    return separated(form, rows)


def pearmut(content: Content, campaign: str) -> str:
    """A campaign of Pearmut: one task of all documents, whose items hold all systems' outputs, with the error spans that a
    metric marked. Their last character is inclusive there."""
    context = content.context
    ranges = [(start, end) for _, start, end in content.documents] or [
        (i, i + 1) for i in range(len(context.systems[0]))
    ]
    spans = _spans(content)
    documents = [[_item(content, i, spans) for i in range(start, end)] for start, end in ranges]
    if context.sources is None:
        notice("--pearmut: people need the source to judge a translation: give -s FILE")
    name = re.sub(r"\W+", "-", campaign).strip("-")
    info = {"assignment": "task-based", "protocol": "ESA"}
    return _json({"info": info, "campaign_id": name, "data": [documents]})


def subset2evaluate(content: Content) -> str:
    """The items of subset2evaluate: texts, and each system's segment scores by metric."""
    context, documents = content.context, _documents_of(content)
    items = [
        {
            "i": i,
            "doc": documents[i],
            "src": "" if context.sources is None else context.sources[i],
            "ref": (context.references[0][i] or "") if context.references else "",
            "tgt": {name: context.systems[s][i] for s, name in enumerate(content.names)},
            "scores": {
                name: {each.title: known(each.sign * each.scores[s].segments[i]) for each in content.columns}
                for s, name in enumerate(content.names)
            },
        }
        for i in range(len(context.systems[0]))
    ]
    return _json(items)


def pairs_tables(columns: Sequence[Column], names: Sequence[str], kind: str, design: Design, decimals: int = 1) -> str:
    """Each metric's systems from the best, with rank and differences from all others, and how they were tested: `kind` is
    latex or markdown."""
    untested = [each.title for each in columns if each.comparison is None]
    notes = design.notes(intervals=False) if len(untested) < len(columns) else []
    note = " ".join([CELLS, *notes, *[f"Not tested: {', '.join(untested)}."] * bool(untested)])
    formats = {"latex": "latex_raw", "markdown": "github"}
    tables = []
    for each in columns:
        rows, header = _pairs(each, names, kind, decimals)
        align = ["left", *["right"] * (len(header) - 1)]
        tables.append(tabulate(rows, header, tablefmt=formats[kind], disable_numparse=True, colalign=align))
    if kind == "latex":  # a paragraph below the last table
        note = f"{{\\footnotesize\\noindent {note.translate(LATEX)}\\par}}"
    return "\n\n".join([*tables, note]) + "\n"


def _pairs(column: Column, systems: Sequence[str], kind: str, decimals: int) -> tuple[list[list[str]], list[str]]:
    scores, comparison, order = [each.system for each in column.scores], column.comparison, column.order
    names = [_escaped(systems[s], kind) for s in order]
    rows = []
    for s, name in zip(order, names, strict=True):
        score = cell(scores[s], decimals)
        score = _bold(score, kind) if s == column.best else score
        row = [name, score, "" if comparison is None else str(comparison.ranks[s] or "-")]
        for other in order:
            difference = scores[s] - scores[other]
            sure = comparison is not None and comparison.differ(s, other)
            shown = f"{round(difference, decimals) + 0.0:+.{decimals}f}" + "*" * sure
            row.append("" if s == other else "-" if math.isnan(difference) else shown)
        rows.append(row)
    return rows, [_escaped(column.title, kind), "score", "rank", *names]


def _escaped(text: str, kind: str) -> str:
    return text.replace("|", "\\|") if kind == "markdown" else text.translate(LATEX)


def _bold(text: str, kind: str) -> str:
    return f"\\textbf{{{text}}}" if kind == "latex" else f"**{text}**"


def _documents_of(content: Content) -> Sequence[str]:
    ids = content.context.doc_ids
    return [""] * len(content.context.systems[0]) if ids is None else ids


def _item(content: Content, i: int, spans: Mapping[tuple[int, int], list[dict[str, Any]]]) -> dict[str, Any]:
    context = content.context
    item: dict[str, Any] = {"src": "" if context.sources is None else context.sources[i]}
    if context.references:
        item["ref"] = context.references[0][i] or ""
    item["tgt"] = {name: context.systems[s][i] for s, name in enumerate(content.names)}
    if spans:
        item["error_spans"] = {name: spans.get((s, i), []) for s, name in enumerate(content.names)}
    return item


def _spans(content: Content) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Error spans by system and segment, of the first metric that marks any."""
    for column in content.columns:
        found = {
            (s, scored.window.start): [
                {
                    "start_i": span.start,
                    "end_i": span.end - 1,
                    "severity": SEVERITIES.get(span.severity, span.severity),
                    "category": None,
                }
                for span in scored.estimate.spans
            ]
            for s, of_system in enumerate(column.scores)
            for scored in (of_system.result.windows if of_system.result else ())
            if scored.window.end - scored.window.start == 1 and scored.estimate and scored.estimate.spans
        }
        if found:
            return found
    return {}


def _shown(score: float) -> str:
    return "" if math.isnan(score) else repr(score)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
