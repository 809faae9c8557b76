"""A metric's results for a system, and how the results of a corpus's parts are combined."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..models.estimator import Estimate
from ..notices import Notice, merged
from ..windows import Window

if TYPE_CHECKING:
    from .token_matching import SegmentMatch

Row = list[float]


@dataclass(frozen=True)
class ScoredWindow:
    """One input of a learned model: a segment, or a window of several.

    window      its segments and its weight
    value       on the model's own scale (not x100); None if every reference has a gap
    estimate    the model's estimate with the best of several references; None without a value
    """

    window: Window
    value: float | None
    estimate: Estimate | None


@dataclass
class SystemResult:
    """A metric's results for one system.

    rows       a row [sum of weight * value, sum of weight] for each segment; [0, 0] if it was not scored
    counts     numbers of truncated, dropped and empty segments or windows; shown after the score if not zero
    notices    about the same and more
    windows    the inputs of a learned model, in order; empty for other metrics
    of_texts   notices about the texts themselves, printed once per run without the metric's name
    matches    how each segment's tokens match those of the best reference, or None if nothing was matched; empty for
               metrics that do not match tokens, or if matches were not asked for
    """

    rows: list[Row]
    counts: dict[str, Any] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    windows: list[ScoredWindow] = field(default_factory=list)
    of_texts: list[Notice] = field(default_factory=list)
    matches: "list[SegmentMatch | None]" = field(default_factory=list)


def coverage(rows: Sequence[Row]) -> str:
    """Return the share of segments that were scored, as a percentage.

    >>> coverage([[0.5, 1.0], [0.0, 0.0]])
    '50.0%'
    """
    return f"{100 * sum(row[-1] != 0 for row in rows) / len(rows):.1f}%"


def together(parts: Sequence[SystemResult]) -> SystemResult:
    """Return the result of a corpus from those of its parts, in order.

    Rows, windows and matches are concatenated, counts are added, and notices are merged.
    """
    whole = SystemResult([])
    notices, of_texts = [], []
    for part in parts:
        before = len(whole.rows)
        notices.append((before, part.notices))
        of_texts.append((before, part.of_texts))
        whole.rows += part.rows
        for name, count in part.counts.items():
            whole.counts[name] = whole.counts.get(name, 0) + count if isinstance(count, int) else count
        whole.windows += [
            ScoredWindow(
                Window(each.window.start + before, each.window.end + before, each.window.weight),
                each.value,
                each.estimate,
            )
            for each in part.windows
        ]
        whole.matches += part.matches
    whole.notices, whole.of_texts = merged(notices), merged(of_texts)
    if "coverage" in whole.counts:
        whole.counts["coverage"] = coverage(whole.rows)
    return whole
