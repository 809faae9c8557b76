"""Scoring windows of a corpus with an estimator: what `comet` (windows of one segment) and `slide` share."""

from collections.abc import Sequence
from typing import Optional

from ..corpus import Corpus
from ..errors import InputError
from ..models.estimator import Estimate, Estimator, Example
from ..notices import counted, place
from ..windows import Window, credit
from .base import ScoredWindow, SystemResult, best_reference


def window_examples(corpus: Corpus, window: Window, inputs: str) -> list[Example]:
    """The example of a window for each reference that is there in all its lines (one, if no reference is read).

    The window's sentences are joined by one space on every side, whatever the language (paper, section 3).
    """

    def joined(stream: Optional[Sequence[str]]) -> Optional[str]:
        return None if stream is None else " ".join(stream[window.start : window.end])

    source = joined(corpus.sources) if "src" in inputs else None
    hypothesis = joined(corpus.hypotheses)
    if "ref" not in inputs:
        return [Example(hypothesis, None, source)]
    return [
        Example(hypothesis, joined(stream), source)
        for stream in corpus.references
        if None not in stream[window.start : window.end]
    ]


def score_windows(
    metric: str, estimator: Estimator, corpora: Sequence[Corpus], windows: Sequence[Sequence[Window]], multiref: str
) -> list[SystemResult]:
    """Rows, counts and notices of every system; all windows of all systems go through the estimator in one pass.

    windows    the windows of each corpus. Against several references a window takes the best value, or their mean;
               a window none of whose references is whole is left out and counted
    """
    if "src" in estimator.inputs and corpora[0].sources is None:
        raise InputError(f"{metric}: the model reads {estimator.inputs} and needs the sources: give --source FILE")
    places, examples = [], []
    # window by window over all systems, so that the texts they share lie side by side
    for k in range(max(map(len, windows))):
        for system, corpus in enumerate(corpora):
            if k < len(windows[system]):
                for example in window_examples(corpus, windows[system][k], estimator.inputs):
                    places.append((system, k))
                    examples.append(example)
    found: list[list[list[Estimate]]] = [[[] for _ in of_system] for of_system in windows]
    for (system, k), estimate in zip(places, estimator.estimate(examples, metric)):
        found[system][k].append(estimate)
    return [
        _system_result(estimator, len(corpus), of_system, estimates, multiref)
        for corpus, of_system, estimates in zip(corpora, windows, found)
    ]


def _system_result(
    estimator: Estimator, length: int, windows: Sequence[Window], found: list[list[Estimate]], multiref: str
) -> SystemResult:
    values = [best_reference([estimate.value for estimate in estimates], multiref) for estimates in found]
    scored = [(window, value) for window, value in zip(windows, values) if value is not None]
    rows = credit([window for window, _ in scored], [value for _, value in scored], length)
    unit = "segment" if all(end - start == 1 for start, end, _ in windows) else "window"
    kinds = {
        "truncated": [k for k, estimates in enumerate(found) if any(e.cut for e in estimates)],
        "empty": [k for k, estimates in enumerate(found) if estimates and all(e.empty for e in estimates)],
        "unreferenced": [k for k, estimates in enumerate(found) if not estimates],
    }
    words = {
        "truncated": [f"{was} cut to {estimator.max_length} tokens a text" for was in (f"{unit} was", f"{unit}s were")],
        "empty": [
            f"{unit} has an empty hypothesis or reference and scores 0",
            f"{unit}s have an empty hypothesis or reference and score 0",
        ],
        "unreferenced": [
            f"{unit} has no whole reference and is left out",
            f"{unit}s have no whole reference and are left out",
        ],
    }
    notices = []
    for kind, which in kinds.items():
        if which:
            where = ("segment " if unit == "segment" else "from segment ") + place([windows[k].start for k in which])
            notices.append(f"{counted(len(which), *words[kind])} ({where})")
    best = [max(estimates, key=lambda e: e.value, default=None) for estimates in found]
    seen = [ScoredWindow(*each) for each in zip(windows, values, best)]
    return SystemResult(rows, {kind: len(which) for kind, which in kinds.items()}, notices, seen)
