"""A metric's results for a system: how they are made from segments and pairs, and combined from the parts of a corpus."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from ..corpus import Corpus
from ..models.estimator import ErrorSpan, Estimate
from ..notices import Notice, merged, tallied
from ..windows import Window

if TYPE_CHECKING:
    from ..engine.pairs import PairResult
    from .token_matching import SegmentMatch

Row = list[float]
R = TypeVar("R")


@dataclass(frozen=True)
class ScoredWindow:
    """One input of a learned model: a segment, or a window of several.

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
    windows    the inputs of a learned model, in order; empty for other metrics
    of_texts   notices about the texts themselves, printed once per run without the metric's name
    matches    how each segment's tokens match those of the best reference, or None if nothing was matched; empty for
               metrics that do not match tokens, or if matches were not asked for
    failed     whether a later run may score segments that this one could not, so that the result is not kept
    """

    rows: list[Row]
    counts: dict[str, Any] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    windows: list[ScoredWindow] = field(default_factory=list)
    of_texts: list[Notice] = field(default_factory=list)
    matches: "list[SegmentMatch | None]" = field(default_factory=list)
    failed: bool = False


def coverage(rows: Sequence[Row]) -> str:
    """Return the share of segments that were scored, as a percentage.

    >>> coverage([[0.5, 1.0], [0.0, 0.0]])
    '50.0%'
    """
    return f"{100 * sum(row[-1] != 0 for row in rows) / len(rows):.1f}%"


def together(parts: Sequence[SystemResult]) -> SystemResult:
    """Return the result of a corpus from those of its parts, in order."""
    whole = SystemResult([])
    notices, of_texts = [], []
    for part in parts:
        before = len(whole.rows)
        notices.append((before, part.notices))
        of_texts.append((before, part.of_texts))
        whole.rows += part.rows
        for name, count in part.counts.items():
            whole.counts[name] = whole.counts.get(name, 0) + count if isinstance(count, int) else count
        whole.windows += [replace(each, window=each.window.after(before)) for each in part.windows]
        whole.matches += part.matches
        whole.failed |= part.failed
    whole.notices, whole.of_texts = merged(notices), merged(of_texts)
    if "coverage" in whole.counts:
        whole.counts["coverage"] = coverage(whole.rows)
    return whole


def best_reference(values: Sequence[float | None], multiref: str) -> float | None:
    """Return the best or the mean of the values against several references; None if there is none.

    >>> best_reference([0.2, None, 0.6], "max"), best_reference([0.2, 0.6], "mean"), best_reference([None], "max")
    (0.6, 0.4, None)
    """
    given = [value for value in values if value is not None]
    if not given:
        return None
    if not all(map(math.isfinite, given)):  # max() could drop a NaN, which check_finite must see
        return math.nan
    if multiref == "mean":
        return math.fsum(given) / len(given)
    return max(given) if multiref == "max" else min(given)


def counted_result(
    rows: list[Row],
    empty: Sequence[int],
    unreferenced: Sequence[int],
    truncated: Sequence[int] = (),
    max_length: int | None = None,
) -> SystemResult:
    """Return one system's rows, with counts and notices of odd segments, which are given by their 0-based positions.

    >>> result = counted_result([[0.5, 1.0], [0.0, 0.0]], empty=[], unreferenced=[1])
    >>> result.counts, [str(each) for each in result.notices]
    ({'truncated': 0, 'empty': 0, 'unreferenced': 1}, ['1 segment has no reference and is left out (segment 2)'])
    """
    tokens = f"truncated ({max_length} tokens per text)"
    either = "an empty hypothesis or reference"
    kinds = [
        Notice.at(truncated, f"segment was {tokens}", f"segments were {tokens}", kind="truncated"),
        Notice.at(empty, f"segment has {either} and scores 0", f"segments have {either} and score 0", kind="empty"),
        without_reference(unreferenced),
    ]
    return SystemResult(rows, *tallied(kinds))


def with_left_out(result: SystemResult, segments: Sequence[int]) -> SystemResult:
    """Return a result with the count and the notice of segments with an empty reference among several."""
    if not segments:
        return result
    ignored = "an empty reference among several, which is left out"
    left_out = Notice.at(segments, f"segment has {ignored}", f"segments have {ignored}", kind="ignored")
    counts = {**result.counts, "ignored": result.counts.get("ignored", 0) + len(segments)}
    return replace(result, counts=counts, notices=[*result.notices, left_out])


def without_reference(segments: Sequence[int]) -> Notice:
    one, many = "segment has no reference and is left out", "segments have no reference and are left out"
    return Notice.at(segments, one, many, kind="unreferenced")


def results_of_segments(
    corpora: Sequence[Corpus], read: Callable[..., R], value: Callable[[str, R], float | None]
) -> list[SystemResult]:
    """Return each system's result, from one value for each segment against all of its references.

    read     called with a segment's references as arguments; the result is cached for equal references
    value    called with a hypothesis and the result of `read`; returns None, which scores 0, if either is empty
    """
    read, results = cache(read), []
    for corpus in corpora:
        rows, empty, unreferenced = [], [], []
        of_segments = list(zip(*corpus.references, strict=True)) or [()] * len(corpus)
        for i, (hypothesis, texts) in enumerate(zip(corpus.hypotheses, of_segments, strict=True)):
            references = [text for text in texts if text is not None]
            scored = value(hypothesis, read(*references)) if references else 0.0
            rows.append([scored or 0.0, float(bool(references))])
            unreferenced += [] if references else [i]
            empty += [i] if scored is None else []
        results.append(counted_result(rows, empty, unreferenced))
    return results


def result_of_values(values: Iterable[float | None]) -> SystemResult:
    """Return one system's result from the segments' values in [0, 1]; None marks an empty segment, which scores 0.

    >>> result = result_of_values([0.5, None])
    >>> result.rows, str(result.notices[0])
    ([[0.5, 1.0], [0.0, 1.0]], '1 segment has an empty hypothesis or reference and scores 0 (segment 2)')
    """
    found = list(values)
    rows = [[value or 0.0, 1.0] for value in found]
    return counted_result(rows, empty=[i for i, value in enumerate(found) if value is None], unreferenced=[])


def places_of_pairs(references: Sequence[Sequence[Sequence[str | None]]]) -> list[tuple[int, int, int]]:
    """Return the pairs to score, as (system, segment, reference stream); pairs with the same reference are adjacent.

    references    [systems][streams][segments]; every system has equally many streams of equal length

    >>> places_of_pairs([[["a", None]], [["a", "b"]]])
    [(0, 0, 0), (1, 0, 0), (1, 1, 0)]
    """
    segments = max((len(stream) for stream in references[0]), default=0)
    return [
        (system, i, k)
        for i in range(segments)
        for k in range(len(references[0]))
        for system, streams in enumerate(references)
        if streams[k][i] is not None
    ]


def results_of_pairs(
    places: Sequence[tuple[int, int, int]],
    results: "Sequence[PairResult[float]]",
    shape: tuple[int, int],
    multiref: str,
    max_length: int | None,
) -> list[SystemResult]:
    """Return each system's result from the values of (hypothesis, reference) pairs. A pair without a value counts as 0.

    places    from places_of_pairs, one for each of the results
    shape     (number of systems, number of segments)
    """
    systems, segments = shape
    pairs: list[list[list[PairResult[float]]]] = [[[] for _ in range(segments)] for _ in range(systems)]
    for (system, i, _), result in zip(places, results, strict=True):
        pairs[system][i].append(result)
    made = []
    for of_system in pairs:
        values = [best_reference([result.value or 0.0 for result in of_segment], multiref) for of_segment in of_system]
        made.append(
            counted_result(
                [[0.0, 0.0] if value is None else [value, 1.0] for value in values],
                empty=[i for i, own in enumerate(of_system) if own and all(any(result.empty) for result in own)],
                unreferenced=[i for i, own in enumerate(of_system) if not own],
                truncated=[i for i, own in enumerate(of_system) if any(any(result.cut) for result in own)],
                max_length=max_length,
            )
        )
    return made


def segment_details(result: SystemResult, scale: int) -> dict[int, dict[str, Any]]:
    """Return the parts and error spans, by 0-based segment, of segments that the model read alone and in no other window."""
    reads = Counter(i for scored in result.windows for i in range(scored.window.start, scored.window.end))
    details: dict[int, dict[str, Any]] = {}
    for scored in result.windows:
        (start, end, _), estimate = scored.window, scored.estimate
        if estimate is None or end - start > 1 or reads[start] > 1:
            continue
        of_segment = details.setdefault(start, {})
        if estimate.untranslated:
            of_segment["untranslated"] = True
        if estimate.parts:
            of_segment["parts"] = {part: value * scale for part, value in estimate.parts.items()}
        if estimate.spans is not None:
            of_segment["error_spans"] = [span._asdict() for span in estimate.spans]
    return details


def error_spans(result: SystemResult | None) -> dict[int, list[ErrorSpan]]:
    """Return a system's error spans by 0-based segment, as far as they were looked for."""
    of_segments = {} if result is None else segment_details(result, 1)
    return {
        i: [ErrorSpan(**span) for span in own["error_spans"]] for i, own in of_segments.items() if "error_spans" in own
    }
