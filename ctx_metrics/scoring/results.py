"""What a metric found for a system, and the same of a corpus from what was found for its parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..models.estimator import Estimate
from ..notices import Odd
from ..windows import Window
from .matches import SegmentMatch

Row = list[float]


@dataclass(frozen=True)
class ScoredWindow:
    """One input of a learned model: a segment, or a window of several.

    window      its segments and its weight
    value       on the model's own scale (not x100); None if it has no whole reference
    estimate    what the model said of it, beside the best of several references; None without a value
    """

    window: Window
    value: float | None
    estimate: Estimate | None


@dataclass
class SystemResult:
    """What a metric found for one system.

    rows       a row [sum of weight * value, sum of weight] for each segment; [0, 0] where nothing was scored
    counts     what was cut, dropped, empty: shown after the score when not zero
    notices    the same in words, for stderr
    windows    what learned models read as one input, in order; empty for other metrics
    of_texts   what is to be said of the texts, whatever the metric: said once a run, without the metric's name
    matches    how the tokens of each segment match those of the reference that counts, None where nothing was matched;
               empty for metrics that match none, and where nobody asked
    """

    rows: list[Row]
    counts: dict[str, Any] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    windows: list[ScoredWindow] = field(default_factory=list)
    of_texts: list[str] = field(default_factory=list)
    matches: list[SegmentMatch | None] = field(default_factory=list)


def coverage(rows: Sequence[Row]) -> str:
    """The share of segments that were scored, in percent.

    >>> coverage([[0.5, 1.0], [0.0, 0.0]])
    '50.0%'
    """
    return f"{100 * sum(row[-1] != 0 for row in rows) / len(rows):.1f}%"


def together(parts: Sequence[SystemResult]) -> SystemResult:
    """The result of a corpus from those of its parts, in their order: rows behind each other, counts added, lines on odd
    segments made one."""
    whole = SystemResult([])
    for part in parts:
        before = len(whole.rows)
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
        for lines, more in ((whole.notices, part.notices), (whole.of_texts, part.of_texts)):
            for line in more:
                _add(lines, line, before)
    if "coverage" in whole.counts:
        whole.counts["coverage"] = coverage(whole.rows)
    return whole


def _add(lines: list[str], line: str, before: int) -> None:
    """Add a line on a part that has so many segments before it; to the one that says the same, if there is one."""
    if not isinstance(line, Odd):
        lines += [line] if line not in lines else []
        return
    moved = line.after(before)
    for number, other in enumerate(lines):
        if isinstance(other, Odd) and (other.words, other.where) == (line.words, line.where):
            lines[number] = other.with_more(moved)
            return
    lines.append(moved)
