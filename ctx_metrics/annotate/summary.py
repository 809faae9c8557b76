"""The summary of a run over tables: counts, scores and their distribution, for each block and for the whole."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from tabulate import tabulate

from ..notices import Notice, counted, merged
from ..run.rows import OfMetric
from ..scale.kept import Line, notice_fits

BIN = 0.5  # width of the bins, in points, in which scores are counted
SHOWN_BINS = 12
QUANTILES = (0.1, 0.5, 0.9)
BAR = 40  # length of the longest bar, in characters


class BlockOfMetric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stored summary of one metric's scores for a block: enough to summarise the whole run.

    scored       number of rows with a score
    total, least, most    sum, minimum and maximum of these scores; the latter two are None without scores
    bins         number of scores in each bin of width BIN, by bin number
    sums         column sums of the rows' statistics
    """

    signature: Line
    higher_is_better: bool
    scored: int
    total: float
    least: float | None
    most: float | None
    bins: dict[int, int]
    sums: list[float]
    counts: dict[Line, int]
    notices: list[Notice]

    def fits(self, rows: int) -> bool:
        """Whether this can belong to so many rows."""
        return (
            0 <= self.scored <= rows
            and (self.scored > 0) == (self.least is not None) == (self.most is not None)
            and (self.least is None or self.most is None or self.least <= self.most)
            and all(count > 0 for count in self.bins.values())
            and sum(self.bins.values()) == self.scored
            and all(notice_fits(each, rows) for each in self.notices)
        )


def of_block(scored: OfMetric) -> BlockOfMetric:
    values = scored.scores[~np.isnan(scored.scores)]
    bins, numbers = np.unique(np.floor(values / BIN).astype(np.int64), return_counts=True)
    return BlockOfMetric(
        scored.signature,
        scored.higher_is_better,
        len(values),
        math.fsum(values),
        float(values.min()) if len(values) else None,
        float(values.max()) if len(values) else None,
        dict(zip(bins.tolist(), numbers.tolist(), strict=True)),
        list(scored.sums),
        scored.counts,
        scored.notices,
    )


def of_whole(blocks: Sequence[BlockOfMetric], befores: Sequence[int], score: float | None) -> dict[str, Any]:
    """The entry of one metric in the summary; `befores` has the number of rows that precede each block."""
    bins: Counter[int] = Counter()
    counts: Counter[str] = Counter()
    for each in blocks:
        bins.update(each.bins)
        counts.update(each.counts)
    scored = sum(each.scored for each in blocks)
    least, most = (
        choose((value for each in blocks if (value := getattr(each, name)) is not None), default=None)
        for choose, name in ((min, "least"), (max, "most"))
    )
    # keeps quantiles within the scores, since a bin is wider than the scores in it
    quantiles = {f"{share:g}": np.clip(quantile(bins, share), least, most).item() for share in QUANTILES if scored}
    return {
        "signature": blocks[0].signature,
        "score": score,
        "scored": scored,
        "mean": math.fsum(each.total for each in blocks) / scored if scored else None,
        "least": least,
        "most": most,
        "quantiles": quantiles,
        "histogram": [[number * BIN, (number + 1) * BIN, bins[number]] for number in sorted(bins)],
        "counts": {kind: count for kind, count in counts.items() if count},
        "notices": [
            str(each.of_rows()) for each in merged(zip(befores, (own.notices for own in blocks), strict=False))
        ],
    }


def quantile(bins: Mapping[int, int], share: float) -> float:
    """The value below which this share of the scores lies, assuming that scores are spread evenly within each bin.

    >>> quantile({140: 1, 141: 1}, 0.5)    # one in [70, 70.5), one in [70.5, 71)
    70.5
    """
    left = share * sum(bins.values())
    for number in sorted(bins):
        if left <= bins[number]:
            return BIN * (number + left / bins[number])
        left -= bins[number]
    raise ValueError("no values are counted")


def shown(summary: Mapping[str, Any]) -> str:
    tables = counted(summary["tables"], "table", "tables")
    parts = f"{counted(summary['rows'], 'row', 'rows')} of {tables} scored; {summary['written']:,} written"
    last = summary["worst_of_top"] or summary["best_of_bottom"]
    which = "worst" if summary["worst_of_top"] else "best"
    best = "" if last is None else f"; the {which} of them has {last[0]} {last[1]:.1f}"
    lines = [f"{parts} in {counted(summary['parts'], 'part', 'parts')}{best}"]
    for key, whose in (("dropped", "the dropped rows"), ("faults", "the rows (none was dropped)")):
        if summary.get(key):
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in summary[key].items())
            lines[0] += f"\nfaults of {whose}: {kinds}"
    rows = []
    for name, of_metric in summary["metrics"].items():
        numbers = [of_metric[key] for key in ("score", "mean", "least")]
        numbers += [of_metric["quantiles"].get(f"{share:g}") for share in QUANTILES] + [of_metric["most"]]
        cells = ["-" if number is None else f"{number:.1f}" for number in numbers]
        rows.append([name, f"{of_metric['scored']:,}", *cells])
    headers = ["Metric", "Scored", "Corpus", "Mean", "Least", *(f"{share:.0%}" for share in QUANTILES), "Most"]
    lines.append(tabulate(rows, headers, "simple", colalign=("left",), stralign="right", disable_numparse=True))
    for name, of_metric in summary["metrics"].items():
        if of_metric["histogram"]:
            lines.append("\n".join([f"Rows by {name}:", *_bars(of_metric["histogram"])]))
    return "\n\n".join(lines) + "\n"


def _bars(histogram: Iterable[Sequence[float]]) -> list[str]:
    """The lines of a histogram: one bar per bin, with bins of a round width."""
    bins = {start: int(count) for start, _, count in histogram}
    span = max(bins) - min(bins)
    width = next(
        (w for power in range(9) for w in (10**power, 2 * 10**power, 5 * 10**power) if span / w < SHOWN_BINS - 1), 1
    )
    wide: Counter[int] = Counter()
    for start, count in bins.items():
        wide[math.floor(start / width)] += count
    most = max(wide.values())
    lines = []
    for number in range(min(wide), max(wide) + 1):
        bar = "#" * math.ceil(BAR * (wide[number] / most))
        lines.append(f"{number * width:>4} to {(number + 1) * width:<4} {bar:<{BAR}} {wide[number]:,}")
    return lines
