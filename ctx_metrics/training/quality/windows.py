"""Additional training rows: windows of consecutive sentences of a document, with their mean judgement."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from ...errors import InputError
from .examples import Place, TrainingSet


def with_windows(training: TrainingSet, longest: int, seed: int) -> TrainingSet:
    """Return the training set with rows for windows of 2 to `longest` sentences appended.

    Each document is split once into consecutive windows of random lengths, the same for all systems, so that outputs of a
    window can be compared. A window has the joined texts, the mean target and the mean weight of its rows. It is left out
    for a system that lacks one of its sentences, or one of their references (or sources). Rows without a document are not
    used.
    """
    segments: dict[tuple[str, str], set[int]] = {}
    rows: dict[Place, list[int]] = {}
    for row, place in enumerate(training.places):
        if place.document is not None:
            segments.setdefault((place.dataset, place.document), set()).add(place.segment)
            rows.setdefault(place, []).append(row)
    systems = {(place.dataset, place.document): dict[str, None]() for place in rows}
    for place in rows:
        systems[place.dataset, place.document][place.system] = None
    columns: list[tuple] = []
    for number, ((dataset, document), numbers) in enumerate(segments.items()):
        draw = np.random.default_rng([seed, number])
        for run in runs(sorted(numbers)):
            for begin, end in drawn(len(run), longest, draw):
                for system in systems[dataset, document]:
                    places = [Place(dataset, system, document, segment) for segment in run[begin:end]]
                    if all(place in rows for place in places):
                        of_window = [rows[place] for place in places]
                        columns += _window(training, of_window, f"{dataset}:{run[begin]}-{run[end - 1]}", places[0])
    if not columns:
        raise InputError("--window: no document has two outputs of one system in a row; leave it out")
    hypotheses, references, sources, targets, weights, groups, starts = map(list, zip(*columns, strict=True))
    return replace(
        training,
        hypotheses=[*training.hypotheses, *hypotheses],
        references=[*training.references, *references],
        sources=[*training.sources, *sources],
        targets=np.concatenate([training.targets, targets]),
        weights=np.concatenate([training.weights, weights]),
        groups=[*training.groups, *groups],
        places=[*training.places, *starts],
    )


def _window(training: TrainingSet, rows: Sequence[Sequence[int]], group: str, start: Place) -> list[tuple]:
    """Return the row of a window, given the rows of each sentence, or an empty list if a text is missing."""
    firsts = [of_sentence[0] for of_sentence in rows]
    columns = training.hypotheses, training.references, training.sources
    hypothesis, reference, source = (_joined(column, firsts) for column in columns)
    if reference is None and source is None:
        return []
    target, weight = (np.mean([column[own].mean() for own in rows]) for column in (training.targets, training.weights))
    return [(hypothesis, reference, source, target, weight, group, start)]


def runs(numbers: Sequence[int]) -> list[list[int]]:
    """Split ascending numbers into runs without gaps.

    >>> runs([3, 4, 7])
    [[3, 4], [7]]
    """
    pairs = enumerate(numbers)
    return [[number for _, number in group] for _, group in groupby(pairs, key=lambda pair: pair[1] - pair[0])]


def drawn(length: int, longest: int, draw: np.random.Generator) -> list[tuple[int, int]]:
    """Draw consecutive windows (start, end) of 2 to `longest` sentences from a run; a last single sentence is left out.

    >>> drawn(7, 2, np.random.default_rng(1))
    [(0, 2), (2, 4), (4, 6)]
    """
    windows, begin = [], 0
    while length - begin >= 2:
        end = min(length, begin + int(draw.integers(2, longest + 1)))
        windows.append((begin, end))
        begin = end
    return windows


def _joined(texts: Sequence[str | None], rows: Sequence[int]) -> str | None:
    """Join the texts of some rows by spaces; None if one is missing."""
    own = [texts[row] for row in rows]
    return None if None in own else " ".join(text for text in own if text is not None)
