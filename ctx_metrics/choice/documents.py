"""Chooses whole documents: the best of several translations, or the best path from segment to segment, scored by windows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..corpus import document_ranges, named
from ..errors import InputError
from ..metrics.slide import SLIDE
from ..models.estimator import Example
from ..notices import counted
from ..run.run import Run
from ..scoring.context import MetricSettings, capabilities
from ..scoring.scores import all_scores
from ..windows import Window, sentence_windows
from .candidates import Item

Text = tuple[int, int, tuple[int, ...]]  # a document's number, a window's first segment, and the candidates in it


class OfDocuments(NamedTuple):
    """The scores of all candidates (NaN for those left out), and the metrics' signatures."""

    scores: list[list[float]]
    signatures: dict[str, str]


def best_documents(run: Run, weights: Sequence[float], items: Sequence[Item], doc_ids: Sequence[str]) -> OfDocuments:
    """Score each candidate by the document it is part of: the k-th candidates of all segments form the k-th document."""
    number = len(items[0].candidates)
    for place, item in enumerate(items, 1):
        if len(item.candidates) != number:
            found = counted(len(item.candidates), "candidate", "candidates")
            raise InputError(
                f"source {place} has {found}, but source 1 has {number}",
                fix="the k-th candidates of all segments form the k-th document: give every source the same number",
            )
    systems = [[item.candidates[k] for item in items] for k in range(number)]
    made = _of_documents(run, items, doc_ids, systems).build()
    total = np.zeros((number, len(document_ranges(doc_ids))))
    of_metrics = all_scores(made.values(), systems, doc_ids)
    for weight, metric, of_systems in zip(weights, made.values(), of_metrics, strict=True):
        sign = 1 if capabilities(metric).higher_is_better else -1
        total += sign * weight * np.array([each.documents for each in of_systems])
    of_segments = np.repeat(total, [end - start for start, end in document_ranges(doc_ids)], axis=1)
    signatures = {name: str(each.get_signature().format()) for name, each in made.items()}
    return OfDocuments(of_segments.T.tolist(), signatures)


def best_paths(run: Run, items: Sequence[Item], doc_ids: Sequence[str], beam: int) -> OfDocuments:
    """Choose one candidate per segment by beam search, such that slide scores the windows of each document best. The score
    of a chosen candidate is the mean of its document's windows; the others have NaN.

    beam    how many partial paths of a document are kept at each segment
    """
    [(name, _, settings), *others] = run.metrics
    if name != "slide" or others:
        raise InputError("--documents path needs the windows of slide", fix="give -m slide alone")
    systems = [[item.candidates[0] for item in items]]
    slide = replace(run, metrics=[MetricSettings(name, SLIDE, settings)])
    metric = _of_documents(slide, items, doc_ids, systems).build()[name]
    assert isinstance(metric, SLIDE)
    if metric.tokens is not None:
        raise InputError(
            "--documents path does not work with windows of tokens, which depend on the choices",
            fix="use --slide-window",
        )
    if metric.can.references:
        raise InputError(
            "slide: the model reads references, but candidates have none",
            fix="name one without references with --slide-model",
        )
    sign = 1 if metric.can.higher_is_better else -1
    ranges = document_ranges(doc_ids)
    windows = [sentence_windows(end - start, metric.window, metric.stride, metric.partial) for start, end in ranges]

    def values(texts: Sequence[Text]) -> list[float]:
        examples = []
        for document, first, choices in texts:
            start = ranges[document][0] + first
            own = items[start : start + len(choices)]
            hypothesis = " ".join(item.candidates[k] for item, k in zip(own, choices, strict=True))
            source = " ".join(item.source or "" for item in own) if "src" in metric.estimator.inputs else None
            examples.append(Example(hypothesis, None, source))
        found = np.array([each.value for each in metric.estimated(examples, "window")])
        return (sign * found).tolist()

    numbers = [[len(item.candidates) for item in items[start:end]] for start, end in ranges]
    scores = [[np.nan] * len(item.candidates) for item in items]
    for (start, _), (choices, score) in zip(ranges, search(numbers, windows, values, beam), strict=True):
        for place, k in enumerate(choices, start):
            scores[place][k] = 100 * float(score)
    return OfDocuments(scores, {name: str(metric.get_signature().format())})


class _Beginning(NamedTuple):
    """The choices for the first segments of a document, and the sum of weight * value over the windows they complete."""

    choices: tuple[int, ...]
    total: float


def search(
    numbers: Sequence[Sequence[int]],
    windows: Sequence[Sequence[Window]],
    values: Callable[[Sequence[Text]], Sequence[float]],
    beam: int,
) -> list[tuple[tuple[int, ...], float]]:
    """Find the choices with the best weighted mean over each document's windows, as far as the beam reaches; return the
    choices and that mean for each document.

    At each step, the partial paths of all documents are extended by every candidate of the next segment. The best ones are
    kept, judged by their complete windows and the current value of the longest incomplete one.

    numbers    how many candidates each segment of each document has
    """
    beams = [[_Beginning((), 0.0)] for _ in numbers]
    for place in range(max(map(len, numbers), default=0)):
        going = [d for d in range(len(numbers)) if place < len(numbers[d])]
        longer = {
            d: [_Beginning((*each.choices, k), each.total) for each in beams[d] for k in range(numbers[d][place])]
            for d in going
        }
        parts = {d: _parts(windows[d], place) for d in going}
        asked = {
            (d, start, each.choices[start:]): None for d in going for each in longer[d] for start, _, _ in parts[d]
        }
        known = dict(zip(asked, values(list(asked)), strict=True))
        for d in going:
            rated = []
            for each in longer[d]:
                total, open_value = each.total, 0.0
                for start, weight, full in parts[d]:
                    value = weight * known[d, start, each.choices[start:]]
                    total, open_value = (total + value, open_value) if full else (total, value)
                rated.append((total + open_value, _Beginning(each.choices, total)))
            rated.sort(key=lambda one: -one[0])
            beams[d] = [each for _, each in rated[:beam]]
    weights = [sum(window.weight for window in own) for own in windows]
    return [
        (own[0].choices, own[0].total / weight if weight else np.nan)
        for own, weight in zip(beams, weights, strict=True)
    ]


def _parts(windows: Sequence[Window], place: int) -> list[tuple[int, float, bool]]:
    """Windows to score once a segment is chosen: (first segment, weight, whether it is complete) of each window that ends
    there, and of the longest window that continues beyond it."""
    full = [(start, weight, True) for start, end, weight in windows if end == place + 1]
    going = [window for window in windows if window.start <= place and window.end > place + 1]
    if not going:
        return full
    start, end, weight = min(going)
    return [*full, (start, weight * (place + 1 - start) / (end - start), False)]


def _of_documents(run: Run, items: Sequence[Item], doc_ids: Sequence[str], systems: Sequence[Sequence[str]]) -> Run:
    """The run on candidates that form whole documents."""
    names = [f"candidates {number}" for number in range(1, len(systems) + 1)]
    texts = replace(
        run.texts,
        names=names,
        systems=[named(system, name) for system, name in zip(systems, names, strict=True)],
        sources=None if items[0].source is None else named([item.source or "" for item in items], "the sources"),
        doc_ids=named(doc_ids, "document ids"),
    )
    return replace(run, texts=texts, give_references="candidates have none; use ctx-metrics mbr")
