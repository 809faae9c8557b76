"""Formats a Report: tables for the terminal, Markdown and LaTeX; TSV, CSV and JSON for programs."""

import json
import math
import os
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from tabulate import tabulate

from ..cli.common.output import WIDTH, cells, plain
from ..markup import latex, latex_row, markdown
from ..notices import counted
from ..scoring.names import written_name
from ..separated import SEPARATED
from .inference.significance import ENOUGH_BETTER, ENOUGH_WORSE
from .report import Agreement, Report

WITHIN = {"segment": "segments", "document": "documents"}  # the units that a correlation is averaged over, by level
PAD = "\ue000"  # placeholder for spaces that tabulate would strip
COLUMNS = ("protocol", "metric", "set", "value", "low", "high", "rank", "within", "n", "seen")
NOTHING = "-"


def render(report: Report, form: str, decimals: int | None = None) -> str:
    """The text of a report, ending in a line feed.

    form      table, markdown, latex, tsv, csv or json, as for --format (docs/meta.md)
    decimals  of the values; by default 3, in tsv and csv 6, in json all
    """
    report = titled(report)
    if form == "json":
        return as_json(report, decimals)
    if form in SEPARATED:
        return as_rows(report, form, 6 if decimals is None else decimals)
    write = {"table": _terminal, "latex": _latex, "markdown": _markdown}[form]
    return write(report, 3 if decimals is None else decimals)


def titled(report: Report) -> Report:
    """The report with metrics that ran the embedded model, which is not a COMET model, renamed comet- or slide-embedded."""

    def title(name: str) -> str:
        return written_name(name, report.signatures.get(name, ""))

    agreements = [
        replace(
            each,
            metrics=[*map(title, each.metrics)],
            seen={(title(name), of_set) for name, of_set in each.seen},
            details={title(name): own for name, own in each.details.items()},
            p_values={(title(a), title(b)): p for (a, b), p in each.p_values.items()},
        )
        for each in report.agreements
    ]
    return replace(report, agreements=agreements, signatures={title(k): text for k, text in report.signatures.items()})


class _Column(NamedTuple):
    heading: str
    size: str
    cells: list[str]
    of_set: bool = False


def _columns(agreement: Agreement, decimals: int, decorate: Callable[[str, bool, bool], str]) -> list[_Column]:
    """The columns after the metrics' names: the sets, then overall, interval and rank, as far as available.

    With a single set, its value is also the overall value, which is not repeated. decorate(text, seen, best) marks a cell.
    """

    def of_values(values: Iterable[float], seen: Sequence[bool], last: bool) -> list[str]:
        marked = zip([fixed(value, decimals) for value in values], seen, _best(agreement), strict=True)
        return [NOTHING if text == NOTHING else decorate(text, seen, best and last) for text, seen, best in marked]

    columns, single = [], len(agreement.sets) == 1
    for k, (name, size) in enumerate(zip(agreement.sets, agreement.sizes, strict=True)):
        seen = [(metric, name) in agreement.seen for metric in agreement.metrics]
        columns.append(_Column(one_line(name), f"{size:,}", of_values(agreement.values[:, k], seen, single), True))
    if not single:
        seen = [agreement.seen_somewhere(metric) for metric in agreement.metrics]
        total = f"{sum(agreement.sizes):,}"
        columns.append(_Column(agreement.overall_is, total, of_values(agreement.overall, seen, True)))
    if agreement.within is not None:
        texts = [fixed(value, decimals) for value in agreement.within.mean(axis=1)]
        columns.append(_Column(f"within {WITHIN[agreement.level]}", "", _without_baseline(agreement, texts)))
    if agreement.intervals is not None:
        both = [[fixed(end, decimals) for end in interval] for interval in agreement.intervals]
        texts = [NOTHING if NOTHING in ends else f"[{ends[0]}, {ends[1]}]" for ends in both]
        columns.append(_Column("95 % interval", "", _without_baseline(agreement, texts)))
    if agreement.ranks is not None:
        texts = [str(rank) if rank else NOTHING for rank in agreement.ranks]
        columns.append(_Column("rank", "", _without_baseline(agreement, texts)))
    return columns


def _without_baseline(agreement: Agreement, cells: list[str]) -> list[str]:
    return [*cells[:-1], ""] if agreement.baseline else cells


def _best(agreement: Agreement) -> list[bool]:
    return [rank == 1 for rank in agreement.ranks or [0] * len(agreement.metrics)]


def _prefix(columns: Sequence[_Column]) -> str:
    """The common prefix of all set names up to a dot or slash, such as "wmt22."."""
    names = [column.heading for column in columns if column.of_set]
    common = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071
    return common[: max(common.rfind("."), common.rfind("/")) + 1]


def _headline(agreement: Agreement, sizes: bool) -> str:
    """Title, unit and sizes, with the size of each set if the table has no room for it."""
    title = one_line(capital(agreement.title))
    total = f"{title} ({agreement.protocol}): {sum(agreement.sizes):,} {agreement.unit}"
    names = [one_line(name) for name in agreement.sets]
    if len(names) == 1:
        return f"{total} in {names[0]}"
    of_sets = ", ".join(f"{name} {size:,}" for name, size in zip(names, agreement.sizes, strict=True))
    return f"{total} in {len(names)} sets" + (f" ({of_sets})" if sizes and names else "")


def _notes(report: Report) -> list[str]:
    """The notes below all tables, each printed once: marks, significance tests, settings."""
    agreements = report.agreements
    notes = []
    if any(agreement.seen_somewhere(metric) for agreement in agreements for metric in agreement.metrics):
        notes.append("* The metric was trained on this set or on one of these sets, so the value is not comparable.")
    if any(map(_has_gaps, agreements)):
        notes.append(f"{NOTHING} The metric has no value here; it has no overall value if a set is missing.")
    if any(agreement.baseline for agreement in agreements):
        notes.append(
            "length is a baseline: minus the number of characters in the source. Long segments are hard to translate, so "
            "a value over all outputs together rewards a metric for length alone. Compare it with the agreement within "
            "segments or documents."
        )
    if any(agreement.ranks is not None for agreement in agreements):
        notes.append("Metrics that share a rank form one significance cluster.")
    tests: dict[str, list[str]] = {}
    for agreement in agreements:
        if agreement.test:
            tests.setdefault(agreement.test, []).append(agreement.protocol)
    if tests:
        named = [f"{test} ({', '.join(protocols)})" if len(tests) > 1 else test for test, protocols in tests.items()]
        notes.append("Significance: " + "; ".join(named) + ".")
    asked, draws = report.settings.get("resamples", 0), [n for each in agreements for n in each.draws.values()]
    if early := [n for n in draws if n < asked]:
        notes.append(
            f"{len(early):,} of {counted(len(draws), 'p-value uses', 'p-values use')} fewer than {asked:,} draws (at least "
            f"{min(early):,}): PERM-BOTH stops once p is below {fixed(ENOUGH_BETTER, 2)} or above {fixed(ENOUGH_WORSE, 2)}. "
            "JSON has the draws of each."
        )
    # switches are listed by name if they are on
    settings = [name if on is True else f"{name} {on}" for name, on in report.settings.items() if on is not False]
    notes += ["Settings: " + ", ".join(settings).replace("_", " ") + "."] * bool(settings)
    return [one_line(note) for note in notes]


def _has_gaps(agreement: Agreement) -> bool:
    within = () if agreement.within is None else agreement.within[: len(agreement.metrics) - bool(agreement.baseline)]
    return any(np.isnan(values).any() for values in (agreement.overall, agreement.values, within))


def _signatures(report: Report) -> dict[str, str]:
    """The signatures to print; metrics with the same signature, such as the cells of a grid, are listed together."""
    sharing: dict[str, list[str]] = {}
    for metric, signature in report.signatures.items():
        if signature:
            sharing.setdefault(signature, []).append(one_line(metric))
    short = [names if len(names) < 4 else [names[0], "...", names[-1]] for names in sharing.values()]
    return dict(zip(map(", ".join, short), sharing, strict=True))


def _terminal(report: Report, decimals: int) -> str:
    texts = []
    for agreement in report.agreements:
        headline = textwrap.fill(_headline(agreement, sizes=False), WIDTH, break_on_hyphens=False)
        tables = [_draw(agreement, columns) for columns in _blocks(agreement, decimals, _starred)]
        texts.append("\n".join([headline, *tables]))
    notes = [textwrap.fill(note, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for note in _notes(report)]
    texts += ["\n".join(notes)] * bool(notes)
    if signatures := _signatures(report):
        width = max(map(len, signatures))
        lines = [f" - {metric:<{width}} {signature}" for metric, signature in signatures.items()]
        texts.append("\n".join(["Metric signatures", *lines]))
    return "\n\n".join(texts) + "\n"


def _starred(text: str, seen: bool, best: bool) -> str:
    return text + "*" * seen


def _blocks(agreement: Agreement, decimals: int, decorate: Callable[[str, bool, bool], str]) -> list[list[_Column]]:
    """The columns of each table: as many sets as fit into WIDTH; the columns that concern all sets stay together."""
    columns, sets = _columns(agreement, decimals, _starred), len(agreement.sets)
    blocks = [slice(0, 0)]
    for end in [*range(1, sets + 1), len(columns)]:
        start = blocks[-1].start
        both = slice(start, end)
        if blocks[-1].stop > start and _draw(agreement, columns[both]).index("\n") > WIDTH:
            blocks.append(slice(blocks[-1].stop, end))
        else:
            blocks[-1] = both
    decorated = _columns(agreement, decimals, decorate)
    return [decorated[block] for block in blocks]


def _draw(agreement: Agreement, columns: Sequence[_Column]) -> str:
    """A table in sacrebleu's style, but with lines only between significance clusters."""
    prefix = _prefix(columns)
    headers = [f"{prefix or PAD}\n{agreement.unit}"]
    padded = []
    for heading, size, texts, of_set in columns:
        pad = PAD * any(text.endswith("*") for text in texts)
        headers.append(f"{heading[len(prefix) * of_set :]}{pad}\n{size}{pad}")
        padded.append([text if text.endswith("*") else text + pad for text in texts])
    rows = list(zip(map(one_line, agreement.metrics), *padded, strict=True))
    # as headers, tabulate would make columns two characters wider, so they are passed as a row
    drawn = tabulate([headers, *rows], tablefmt="fancy_grid", colalign=["right"] * len(headers), disable_numparse=True)
    lines = drawn.replace(PAD, " ").split("\n")
    lines[3] = lines[3].translate(str.maketrans("├─┼┤", "╞═╪╡"))
    ranks = agreement.ranks or [0] * len(rows)
    above = 4  # the frame, two header lines, and the line below them; after these, rows and lines alternate
    kept = [k for k in range(len(lines)) if k < above or (k - above) % 2 == 0 or k == len(lines) - 1]
    clusters = [i for i in range(len(rows) - 1) if ranks[i] != ranks[i + 1]]
    kept += [above + 2 * i + 1 for i in {*clusters, *([len(rows) - 2] if agreement.baseline else ())}]
    return "\n".join(lines[k] for k in sorted(kept))


def _grid(agreement: Agreement, columns: Sequence[_Column], name: Callable[[str, bool], str]) -> list[list[str]]:
    """Rows of cells, with the headings first, for formats that escape names with name(text, bold)."""
    prefix = _prefix(columns)
    heads = [name(column.heading[len(prefix) * column.of_set :], False) for column in columns]
    metrics = [name(one_line(metric), best) for metric, best in zip(agreement.metrics, _best(agreement), strict=True)]
    rows = zip(metrics, *(each.cells for each in columns), strict=True)
    return [[name(prefix or "metric", False), *heads], *map(list, rows)]


def _markdown(report: Report, decimals: int) -> str:
    def name(text: str, bold: bool) -> str:
        return f"**{markdown(text)}**" if bold else markdown(text)

    def decorate(text: str, seen: bool, best: bool) -> str:
        return (f"**{text}**" if best else text) + "\\*" * seen

    texts = []
    for agreement in report.agreements:
        texts.append(name(_headline(agreement, sizes=True), False))
        for columns in _blocks(agreement, decimals, decorate):
            headings, *rows = _grid(agreement, columns, name)
            align = ["left"] + ["right"] * (len(headings) - 1)
            texts.append(tabulate(rows, headings, "pipe", colalign=align, disable_numparse=True))
    # a dash, star or number at the start of a line would make it a list
    texts += ["\\-" + note[1:] if note.startswith("-") else name(note, False) for note in _notes(report)]
    if any(any(_best(agreement)) for agreement in report.agreements):
        texts.append("Bold: the best significance cluster.")
    signatures = [f"- {name(metric, False)}: `{signature}`" for metric, signature in _signatures(report).items()]
    texts += ["\n".join(["Metric signatures:", "", *signatures])] * bool(signatures)
    return "\n\n".join(texts) + "\n"


def _latex(report: Report, decimals: int) -> str:
    def name(text: str, bold: bool = False) -> str:
        return rf"\textbf{{{latex(text)}}}" if bold else latex(text)

    def decorate(text: str, seen: bool, best: bool) -> str:
        return (rf"\textbf{{{text}}}" if best else text) + r"\rlap{*}" * seen

    def minus(cell: str) -> str:
        return "--" if cell == NOTHING else cell.replace("-", "$-$")

    lines = ["% needs \\usepackage{booktabs}"]
    for agreement in report.agreements:
        bold = " Bold: the best significance cluster." * any(_best(agreement))
        lines += ["", f"% \\caption{{{name(_headline(agreement, sizes=True))}.{bold}}}"]
        lines.append("% \\label{tab:" + "".join(c if c.isalnum() else "-" for c in agreement.protocol) + "}")
        for block, columns in enumerate(_blocks(agreement, decimals, decorate)):
            headings, *rows = _grid(agreement, columns, name)
            body = [latex_row([row[0], *map(minus, row[1:])]) for row in rows]
            lines += [""] * (block > 0)
            lines.append(f"\\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}")
            if agreement.baseline:
                body.insert(-1, "\\midrule")
            lines += ["\\toprule", latex_row(headings), "\\midrule", *body, "\\bottomrule", "\\end{tabular}"]
    notes = [*_notes(report), *(f"{metric}: {signature}" for metric, signature in _signatures(report).items())]
    return "\n".join([*lines, *[""] * bool(notes), *(f"% {name(note)}" for note in notes)]) + "\n"


def fixed(value: float, decimals: int) -> str:
    """Format a number as papers do, without the zero before the point; "-" for NaN.

    >>> fixed(0.6154, 3), fixed(-0.25, 2), fixed(1.0, 3), fixed(-0.0001, 3), fixed(float("nan"), 3)
    ('.615', '-.25', '1.000', '.000', '-')
    """
    if math.isnan(value):
        return NOTHING
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def capital(title: str) -> str:
    return title[:1].upper() + title[1:]


def one_line(name: str) -> str:
    return " ".join(name.split())


def as_rows(report: Report, form: str, decimals: int) -> str:
    """Format a report as tsv or csv: one line per protocol, metric and set, and one for "overall", with the interval and
    rank. NaN becomes an empty cell."""
    rows: list[Sequence[Any]] = []
    for each in report.agreements:
        nothing = np.full(each.values.shape, np.nan)
        within = nothing if each.within is None else each.within
        for m, metric in enumerate(each.metrics):
            for k, (name, size) in enumerate(zip(each.sets, each.sizes, strict=True)):
                seen = "yes" if (metric, name) in each.seen else "no"
                of_set = [each.values[m, k], None, None, None, within[m, k], size, seen]
                rows.append([each.protocol, one_line(metric), one_line(name), *of_set])
            ends = (None, None) if each.intervals is None else each.intervals[m]
            rank = each.ranks[m] or None if each.ranks is not None else None
            seen = "yes" if each.seen_somewhere(metric) else "no"
            of_all = [each.overall[m], *ends, rank, within[m].mean(), sum(each.sizes), seen]
            rows.append([each.protocol, one_line(metric), "overall", *of_all])
    return cells(form, COLUMNS, rows, decimals)


def as_json(report: Report, decimals: int | None) -> str:
    """Format the whole report as JSON, in its order; non-finite numbers become null. decimals None: full precision."""

    agreements = [
        {
            **{name: getattr(each, name) for name in ("protocol", "title", "level", "unit", "overall_is", "test")},
            "sizes": dict(zip(each.sets, each.sizes, strict=True)),
            "metrics": [
                {
                    "metric": metric,
                    "overall": each.overall[m],
                    "interval": None if each.intervals is None else each.intervals[m],
                    "rank": None if each.ranks is None else each.ranks[m] or None,
                    "values": dict(zip(each.sets, each.values[m], strict=True)),
                    "seen": [name for name in each.sets if (metric, name) in each.seen],
                    "within": None if each.within is None else dict(zip(each.sets, each.within[m], strict=True)),
                    "baseline": metric == each.baseline,
                    "details": each.details.get(metric, {}),
                }
                for m, metric in enumerate(each.metrics)
            ],
            "p_values": [
                {"better": a, "worse": b, "p": p, "draws": each.draws.get((a, b))}
                for (a, b), p in each.p_values.items()
            ],
        }
        for each in report.agreements
    ]
    whole = {name: getattr(report, name) for name in ("settings", "sets", "signatures")} | {"agreements": agreements}
    return json.dumps(plain(whole, decimals), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
