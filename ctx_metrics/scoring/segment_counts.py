"""Rows of segments, with what is said of those that could not be scored as they are: cut, empty, without a reference."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..corpus import Corpus
from ..notices import counted, place
from .base import Row, SystemResult, best_reference

if TYPE_CHECKING:
    from ..engine.pairs import PairResult


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
    kinds = {"truncated": truncated, "empty": empty, "unreferenced": unreferenced}
    words = {
        "truncated": [f"{was} cut to {max_length} tokens a text" for was in ("segment was", "segments were")],
        "empty": [
            "segment has an empty hypothesis or reference and scores 0",
            "segments have an empty hypothesis or reference and score 0",
        ],
        "unreferenced": ["segment has no reference and is left out", "segments have no reference and are left out"],
    }
    return SystemResult(
        rows,
        {kind: len(places) for kind, places in kinds.items()},
        [f"{counted(len(places), *words[kind])} (segment {place(places)})" for kind, places in kinds.items() if places],
    )


def results_of_pairs(
    corpora: Sequence[Corpus],
    results_of: "Callable[[list[tuple[str, str]]], Sequence[PairResult[float]]]",
    multiref: str,
    max_length: int | None,
) -> list[SystemResult]:
    """Rows and counts of every system by the values of pairs (hypothesis, reference), in one pass for all.

    results_of    gives what comes of pairs, in their order; all systems' of one reference are side by side. A pair
                  without a value counts as 0
    multiref      "max" takes the best of several references' values, "mean" their average
    """
    places, pairs = [], []
    for i in range(len(corpora[0])):
        for stream in range(len(corpora[0].references)):
            for system, corpus in enumerate(corpora):
                if (reference := corpus.references[stream][i]) is not None:
                    places.append((system, i))
                    pairs.append((corpus.hypotheses[i], reference))
    found: list[list[list[PairResult[float]]]] = [[[] for _ in corpus.hypotheses] for corpus in corpora]
    for (system, i), result in zip(places, results_of(pairs), strict=True):
        found[system][i].append(result)
    return [_result_of_pairs(segments, multiref, max_length) for segments in found]


def _result_of_pairs(
    segments: "Sequence[Sequence[PairResult[float]]]", multiref: str, max_length: int | None
) -> SystemResult:
    """Rows and counts of one system from the results of each segment against each of its references."""
    values = [best_reference([result.value or 0.0 for result in results], multiref) for results in segments]
    return counted_result(
        [[0.0, 0.0] if value is None else [value, 1.0] for value in values],
        empty=[i for i, results in enumerate(segments) if results and all(any(r.empty) for r in results)],
        unreferenced=[i for i, results in enumerate(segments) if not results],
        truncated=[i for i, results in enumerate(segments) if any(any(r.cut) for r in results)],
        max_length=max_length,
    )
