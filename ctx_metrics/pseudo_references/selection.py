"""Selects, line by line, the pseudo-references that join the gold references, and prepares notices about them."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..engine.options import EngineOptions
from ..errors import InputError
from ..notices import Notice, counted
from .filters import shared_filter
from .options import PseudoFilter

Stream = Sequence[str | None]


@dataclass(frozen=True)
class Selection:
    """The filter's result for each pseudo-reference system; all lists are in the systems' order.

    names      the systems' names
    streams    their lines, None where rejected
    scores     the filter's score of each line, None where the line was not scored
    kept, dropped    numbers of lines; their sum is the number of segments
    notices    about pseudo-references that are not kept
    """

    names: list[str]
    streams: list[list[str | None]]
    scores: list[list[float | None]]
    kept: list[int]
    dropped: list[int]
    notices: list[Notice]


def select(
    golds: Sequence[Stream],
    pseudo: Sequence[Stream],
    options: PseudoFilter = PseudoFilter(),
    engine: EngineOptions = EngineOptions(),
    target_lang: str | None = None,
) -> Selection:
    """Keep a pseudo-reference if its score with any of the line's gold references is above the threshold.

    golds     streams of gold references; None marks a missing one
    pseudo    one stream per pseudo-reference system; a stream's attribute `name`, if it has one, is used in messages

    An empty pseudo-reference is rejected by every filter. On a line whose gold references are all missing or empty, there is
    nothing to paraphrase: pseudo-references are rejected unless the filter is none.

    Raises InputError for streams of different lengths, and the errors of shared_filter.

    >>> select([["gold", "two"]], [["other", " "]], PseudoFilter("none")).streams
    [['other', None]]
    """
    names = [getattr(stream, "name", "") or f"pseudo-reference {k}" for k, stream in enumerate(pseudo, 1)]
    _check_lengths(golds, pseudo, names)
    of_line = [[gold for gold in line if gold is not None and gold.strip()] for line in zip(*golds, strict=True)]
    asked = shared_filter(options, engine, target_lang)
    threshold = asked.threshold  # None: all are kept
    # all pairs at once, so that the filter can batch them and reads a file of vectors only once
    pairs = [
        (text, gold)
        for stream in pseudo
        for text, line in zip(stream, of_line, strict=True)
        if text and text.strip()
        for gold in line
    ]
    of_pair = {} if threshold is None else dict(zip(pairs, asked.scores(pairs), strict=True))
    streams, scores = [], []
    for stream in pseudo:
        best = [
            max((of_pair[text, gold] for gold in line), default=None)
            if threshold is not None and text and text.strip()
            else None
            for text, line in zip(stream, of_line, strict=True)
        ]
        scores.append(best)
        streams.append(
            [
                text
                if text and text.strip() and (threshold is None or (score is not None and score > threshold))
                else None
                for text, score in zip(stream, best, strict=True)
            ]
        )
    kept = [sum(text is not None for text in stream) for stream in streams]
    dropped = [len(stream) - number for stream, number in zip(streams, kept, strict=True)]
    notices = _notices(names, pseudo, of_line, kept, threshold is not None)
    return Selection(names, streams, scores, kept, dropped, notices)


def _check_lengths(golds: Sequence[Stream], pseudo: Sequence[Stream], names: list[str]) -> None:
    if not golds:
        raise InputError("pseudo-references are additional references: give gold references too")
    gold_names = [f"reference stream {k}" for k in range(1, len(golds) + 1)]
    for name, stream in zip([*gold_names, *names], [*golds, *pseudo], strict=True):
        if len(stream) != len(golds[0]):
            lines = counted(len(stream), "line", "lines")
            raise InputError(f"{name}: {lines} for {counted(len(golds[0]), 'reference', 'references')}")


def _notices(
    names: list[str], pseudo: Sequence[Stream], of_line: list[list[str]], kept: list[int], filtered: bool
) -> list[Notice]:
    notices = []
    for name, stream, number in zip(names, pseudo, kept, strict=True):
        empty = [i for i, text in enumerate(stream) if not (text and text.strip())]
        one, many = "pseudo-reference is empty and left out", "pseudo-references are empty and left out"
        notices.append(Notice.at(empty, one, many, about=name))
        if stream and not number:
            notices.append(Notice(f"none of its {len(stream)} pseudo-references is kept", about=name))
    why = "no reference to filter by, so no pseudo-reference"
    bare = [i for i, line in enumerate(of_line) if filtered and not line]
    notices.append(Notice.at(bare, f"segment has {why}", f"segments have {why}"))
    return [each for each in notices if each.number != 0]
