"""Writes a Report for programs: TSV and CSV with one line per value, and JSON with everything."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...separated import separated
from ..report import Agreement, Report

COLUMNS = ("protocol", "metric", "set", "value", "low", "high", "rank", "within", "n", "seen")
NOTHING = "-"


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


def seen_somewhere(agreement: Agreement, metric: str) -> bool:
    """Whether the metric was trained on one of the sets, which makes its overall value incomparable too."""
    return any((metric, name) in agreement.seen for name in agreement.sets)


def capital(title: str) -> str:
    """Capitalise the first letter of a title: "soft accuracy" becomes "Soft accuracy"."""
    return title[:1].upper() + title[1:]


def one_line(name: str) -> str:
    """A name without tabs and line ends."""
    return " ".join(name.split())


def as_rows(report: Report, form: str, decimals: int) -> str:
    """Format a report as tsv or csv: one line per protocol, metric and set, and one for "overall", with the interval and
    rank. NaN becomes an empty cell.

    For correlations over all outputs, the column "within" contains the mean agreement within segments (documents).
    """

    def text(value: Any) -> str:
        if isinstance(value, str):
            return one_line(value)
        return "" if value is None or math.isnan(value) else f"{value:.{decimals}f}"

    rows: list[Sequence[Any]] = [COLUMNS]
    for each in report.agreements:
        nothing = np.full(each.values.shape, np.nan)
        within = nothing if each.within is None else each.within
        for m, metric in enumerate(each.metrics):
            for k, (name, size) in enumerate(zip(each.sets, each.sizes, strict=True)):
                seen = "yes" if (metric, name) in each.seen else "no"
                row = [each.protocol, metric, name, each.values[m, k], None, None, None, within[m, k], str(size), seen]
                rows.append(row)
            ends = (None, None) if each.intervals is None else each.intervals[m]
            rank = str(each.ranks[m]) if each.ranks is not None and each.ranks[m] else None
            seen = "yes" if seen_somewhere(each, metric) else "no"
            of_all = [*ends, rank, within[m].mean(), str(sum(each.sizes)), seen]
            rows.append([each.protocol, metric, "overall", each.overall[m], *of_all])
    return separated(form, [[*map(text, row)] for row in rows])


def as_json(report: Report, decimals: int | None) -> str:
    """Format the whole report as JSON, in its order; non-finite numbers become null. decimals None: full precision."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): plain(each) for key, each in value.items()}
        if isinstance(value, (set, frozenset)):
            value = sorted(value)
        if isinstance(value, (list, tuple)):
            return [plain(each) for each in value]
        if hasattr(value, "tolist"):  # NumPy scalars and arrays
            return plain(value.tolist())
        if isinstance(value, float):
            return None if not math.isfinite(value) else value if decimals is None else round(value, decimals)
        return value

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
            "p_values": [{"better": a, "worse": b, "p": p} for (a, b), p in each.p_values.items()],
        }
        for each in report.agreements
    ]
    whole = {"settings": report.settings, "sets": report.sets, "signatures": report.signatures}
    return json.dumps(plain({**whole, "agreements": agreements}), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
