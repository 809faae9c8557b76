"""What is said of the segments that a metric could not score as they are: cut, empty, without a reference."""

from collections.abc import Sequence

from ..notices import counted, place
from .base import Row, SystemResult


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
