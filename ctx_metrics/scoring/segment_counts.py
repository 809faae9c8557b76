"""Rows of segments, with what is said of those that could not be scored as they are: cut, empty, without a reference."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from ..corpus import Corpus
from ..notices import told
from .base import Row, SystemResult, best_reference

if TYPE_CHECKING:
    from ..engine.pairs import PairResult

R = TypeVar("R")


def counted_result(
    rows: list[Row],
    empty: Sequence[int],
    unreferenced: Sequence[int],
    truncated: Sequence[int] = (),
    max_length: int | None = None,
) -> SystemResult:
    """Rows of one system with the counts and notices of odd segments, which are given by their places from 0 on.

    max_length    tokens that were kept of each text, for the notice of truncated ones

    >>> result = counted_result([[0.5, 1.0], [0.0, 0.0]], empty=[], unreferenced=[1])
    >>> result.counts, result.notices
    ({'truncated': 0, 'empty': 0, 'unreferenced': 1}, ['1 segment has no reference and is left out (segment 2)'])
    """
    kinds = {
        "truncated": (truncated, f"[segment was|segments were] cut to {max_length} tokens a text"),
        "empty": (empty, "[segment has|segments have] an empty hypothesis or reference and [scores|score] 0"),
        "unreferenced": (unreferenced, "[segment has|segments have] no reference and [is|are] left out"),
    }
    return SystemResult(rows, *told(kinds))


def results_of_segments(
    corpora: Sequence[Corpus], read: Callable[..., R], value: Callable[[str, R], float | None]
) -> list[SystemResult]:
    """Rows and counts of every system by a value of each segment against all of its references.

    read     what is made of a segment's references, which it gets one by one; once for equal ones
    value    of a hypothesis and that, or None where one of them is empty, which scores 0
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
    """Rows and counts of one system by a value of each segment, in [0, 1]; None of an empty one, which scores 0."""
    found = list(values)
    rows = [[value or 0.0, 1.0] for value in found]
    return counted_result(rows, empty=[i for i, value in enumerate(found) if value is None], unreferenced=[])


def places_of_pairs(references: Sequence[Sequence[Sequence[str | None]]]) -> list[tuple[int, int, int]]:
    """The pairs to score, as (system, segment, stream of references): all systems' of one reference are side by side.

    references    each system's streams, as many and as long for all

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
    """Rows and counts of every system by the values of pairs (hypothesis, reference). A pair without a value counts as 0.

    places      those of places_of_pairs, one a result
    shape       the numbers of systems and segments
    multiref    "max" takes the best of several references' values, "mean" their average
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
