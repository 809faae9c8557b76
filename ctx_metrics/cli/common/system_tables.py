"""One table of systems by metrics, with the ranks of the tests of all pairs: for the terminal, papers and other programs."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from tabulate import tabulate

from ...markup import latex, latex_row, markdown
from ...notices import Notice, notice
from ...scoring.autorank import METHODS, autorank
from ...scoring.comparison import Column
from ...separated import SEPARATED
from . import output
from .comparisons import SystemComparisons, interval

PREAMBLE = r"""% A table for \input, alone or within \begin{table} ... \caption{...} ... \end{table}.
% With \usepackage{booktabs}, its lines are those of booktabs.
"""
# lines of booktabs, if the package is not loaded; they hold for this table alone
LINES = r"\providecommand\toprule{\hline}\providecommand\midrule{\hline}\providecommand\bottomrule{\hline}"


def render(found: SystemComparisons, form: str, decimals: int | None = None, method: str | None = None) -> str:
    """Return the table, with the best system by AutoRank, or else by the first metric, in its first row.

    method    of AutoRank, which becomes a column; None leaves it out
    """
    overall = None if method is None else overall_ranks(found, method)
    order = found.columns[0].order if overall is None else order_of(overall)
    objects = [_object(found, s, method, overall) for s in order]
    if form in SEPARATED:
        return _separated(objects, form, output.decimals_of(form, decimals))
    if form in ("json", "jsonl"):
        return output.as_json(
            objects if decimals is None else [_rounded(each, decimals) for each in objects], form, None
        )
    write = {"table": _terminal, "latex": _latex, "markdown": _markdown}[form]
    return write(found, objects, output.decimals_of("table", decimals), method)


def order_of(overall: Sequence[float]) -> list[int]:
    """The systems' numbers, the best AutoRank first, those without one last."""
    return sorted(range(len(overall)), key=lambda s: (math.isnan(overall[s]), overall[s]))


def overall_ranks(found: SystemComparisons, method: str) -> list[float]:
    """Each system's AutoRank; NaN, with a notice, without a score by each metric."""
    scores = np.array([[each.sign * of.system for of in each.scores] for each in found.columns])
    if lacking := [found.names[s] for s in np.flatnonzero(np.isnan(scores).any(axis=0))]:
        one, many = (
            "system lacks the score of a metric and gets no AutoRank",
            "systems lack the score of a metric and get no AutoRank",
        )
        notice(Notice(f"{one}: {lacking[0]}", f"{many}: {', '.join(lacking)}", len(lacking), about="--autorank"))
    return autorank(method, scores).tolist()


def _object(found: SystemComparisons, s: int, method: str | None, overall: Sequence[float] | None) -> dict[str, Any]:
    own = {} if overall is None else {f"autorank_{method}": overall[s]}
    metrics = {}
    for each in found.columns:
        low, high = interval(each.comparison, s)
        metrics[each.written_name] = {
            "title": each.title,
            "score": each.scores[s].system,
            "low": low,
            "high": high,
            "rank": (each.comparison and each.comparison.ranks[s]) or None,
            "higher_is_better": each.sign > 0,
            "signature": each.signature,
        }
    return {"system": found.names[s], **own, "metrics": metrics, **found.design.facts()}


def _rounded(row: dict[str, Any], decimals: int) -> dict[str, Any]:
    def rounded(values: dict[str, Any]) -> dict[str, Any]:
        return {
            key: round(value, decimals) if isinstance(value, float) and key != "alpha" else value
            for key, value in values.items()
        }

    return rounded(row) | {"metrics": {name: rounded(values) for name, values in row["metrics"].items()}}


def _separated(objects: Sequence[dict[str, Any]], form: str, decimals: int) -> str:
    rows = []
    for each in objects:
        row = {**each, "exact": str(each["exact"]).lower(), "alpha": f"{each['alpha']:g}"}
        cells = {}
        for key, value in row.items():
            if key != "metrics":
                cells[key] = value
                continue
            for name, values in value.items():
                cells |= {name: values["score"], **{f"{name}_{end}": values[end] for end in ("low", "high", "rank")}}
        rows.append(cells)
    return output.cells(form, [*rows[0]], [[*row.values()] for row in rows], decimals)


def _terminal(found: SystemComparisons, objects: Sequence[dict[str, Any]], decimals: int, method: str | None) -> str:
    heads = ["System", *_autorank_head(method), *(f"{each.title} {_arrow(each)}" for each in found.columns)]
    rows = [[each["system"], *_autorank(each, decimals, method)] for each in objects]
    for row, each in zip(rows, objects, strict=True):
        for values in each["metrics"].values():
            rank = f" ({values['rank']})" if values["rank"] else ""
            row.append(output.number(values["score"], decimals, "-") + rank)
    notes = [textwrap.fill(note, output.WIDTH, subsequent_indent="  ") for note in _notes(found, method)]
    below = output.signatures((column.title, column.signature) for column in found.columns)
    return "\n\n".join([output.table(heads, rows), "\n".join(notes), below]) + "\n"


def _markdown(found: SystemComparisons, objects: Sequence[dict[str, Any]], decimals: int, method: str | None) -> str:
    heads = ["System", *_autorank_head(method), *(f"{markdown(each.title)} {_arrow(each)}" for each in found.columns)]
    rows = [[markdown(each["system"]), *_autorank(each, decimals, method)] for each in objects]
    for row, each in zip(rows, objects, strict=True):
        for values in each["metrics"].values():
            score, rank = output.number(values["score"], decimals, "-"), values["rank"]
            row.append((f"**{score}**" if rank == 1 else score) + (f" ({rank})" if rank else ""))
    align = ["left", *["right"] * (len(heads) - 1)]
    table = tabulate(rows, heads, "pipe", colalign=align, disable_numparse=True)
    notes = " ".join(markdown(note) for note in _notes(found, method, bold=True))
    signatures = [f"- {markdown(each.title)}: `{each.signature}`" for each in found.columns if each.signature]
    return "\n\n".join([table, *[notes] * bool(notes), *["\n".join(signatures)] * bool(signatures)]) + "\n"


def _latex(found: SystemComparisons, objects: Sequence[dict[str, Any]], decimals: int, method: str | None) -> str:
    heads = [f"\\multicolumn{{2}}{{c}}{{{latex(each.title)} ${_ARROWS[each.sign]}$}}" for each in found.columns]
    heads = ["System", *_autorank_head(method), *heads]
    rows = []
    for each in objects:
        row = [latex(each["system"]), *map(_minus, _autorank(each, decimals, method))]
        for values in each["metrics"].values():
            score, rank = _minus(output.number(values["score"], decimals, "-")), values["rank"]
            row += [f"\\textbf{{{score}}}" if rank == 1 else score, f"({rank})" if rank else ""]
        rows.append(row)
    signed = [each for each in found.columns if each.signature]
    comments = "".join(f"% {each.title}|{' '.join(each.signature.split())}\n" for each in signed)
    footnotes = [latex(note).replace(" \\textless{} ", "~\\textless{}~") for note in _notes(found, method, bold=True)]
    footnotes += [f"{latex(each.title)}: {_breakable(each.signature)}" for each in signed]
    columns = "l" + "r" * len(_autorank_head(method)) + "r@{~}l" * len(found.columns)
    table = [
        *["\\begingroup", "\\centering", LINES, f"\\begin{{tabular}}{{{columns}}}", "\\toprule"],
        *[latex_row(heads), "\\midrule", *map(latex_row, rows), "\\bottomrule"],
        *[
            "\\end{tabular}\\par\\nopagebreak",
            "\\smallskip\\nopagebreak",
            "\\parbox{\\linewidth}{\\footnotesize\\raggedright",
        ],
        *["\\par\n".join(footnotes) + "}\\par", "\\endgroup"],
    ]
    return PREAMBLE + comments + "\n".join(table) + "\n"


_ARROWS = {1: "\\uparrow", -1: "\\downarrow"}


def _arrow(column: Column) -> str:
    return "↑" if column.sign > 0 else "↓"


def _minus(number: str) -> str:
    return "--" if number == "-" else number.replace("-", "$-$")


def _breakable(signature: str) -> str:
    return latex(signature).replace("\\textbar{}", "\\textbar{}\\allowbreak{}")


def _autorank_head(method: str | None) -> list[str]:
    return [] if method is None else ["AutoRank"]


def _autorank(row: dict[str, Any], decimals: int, method: str | None) -> list[str]:
    return [] if method is None else [output.number(row[f"autorank_{method}"], decimals, "-")]


def _notes(found: SystemComparisons, method: str | None, bold: bool = False) -> list[str]:
    """Return the sentences below the table."""
    untested = [each.title for each in found.columns if each.comparison is None]
    notes = []
    if len(untested) < len(found.columns):
        first = "; bold: the first" if bold else ""
        notes.append(
            f"In parentheses: rank. Systems that share a rank form one significance cluster{first}. "
            f"All pairs are tested: {found.design.test}."
        )
    if untested:
        notes.append(f"Not tested: {', '.join(untested)}.")
    return notes + [autorank_note(found, method)] * (method is not None)


def autorank_note(found: SystemComparisons, method: str | None) -> str:
    """How AutoRank is computed, and from which metrics; "" without a method."""
    metrics = ", ".join(each.title for each in found.columns)
    return "" if method is None else f"AutoRank ({method.upper()}): {METHODS[method]} ({metrics})."
