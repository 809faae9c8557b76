"""Scoring windows of a corpus with an estimator: what `comet` (windows of one segment) and `slide` share."""

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, islice
from typing import Any

import numpy as np

from ..corpus import Corpus
from ..errors import InputError
from ..models.estimator import Estimate, Estimator, Example, Penalty
from ..notices import counted, told
from ..run.context import Stream
from ..windows import Window, credit
from ..wording import setting_named, worded
from .base import best_reference
from .results import ScoredWindow, SystemResult

TEXTS = {"mt": "hypothesis", "src": "source", "ref": "reference"}
READ_TOGETHER = 4096  # windows of systems that share no text: more are read one system after another


def window_examples(corpus: Corpus, window: Window, inputs: str) -> list[Example]:
    """The example of a window for each reference that is there in all its lines (one, if no reference is read).

    The window's sentences are joined by one space on every side, whatever the language (paper, section 3).
    """

    def joined(stream: Stream) -> str:
        return " ".join(line for line in stream[window.start : window.end] if line is not None)

    source = joined(corpus.sources) if corpus.sources is not None and "src" in inputs else None
    hypothesis = joined(corpus.hypotheses)
    if "ref" not in inputs:
        return [Example(hypothesis, None, source)]
    return [
        Example(hypothesis, joined(stream), source)
        for stream in corpus.references
        if None not in stream[window.start : window.end]
    ]


ExamplesOf = Callable[[Corpus, Window, str], list[Example]]


def estimate_windows(
    metric: str,
    estimator: Estimator,
    corpora: Sequence[Corpus],
    windows: Sequence[Sequence[Window]],
    *,
    on_long: str,
    examples_of: ExamplesOf = window_examples,
) -> list[list[Sequence[Estimate]]]:
    """The estimates of every system's every window, one for each of its whole references (one, if none is read); all windows
    of all systems go through the estimator in one pass.

    on_long        "truncate" counts what is cut to the model's length, "error" refuses it before anything is scored
    examples_of    makes a window's examples, one for each reference that it has whole
    """
    if "ref" in estimator.inputs and not corpora[0].references:
        raise InputError(_needs(metric, estimator, "ref", "a reference"))

    def examples(systems: Sequence[int]) -> Iterator[tuple[int, int, list[Example]]]:
        """The system, the window and its examples; systems side by side, so that the texts they share are."""
        for k in range(max(map(len, windows))):
            for system in systems:
                if k < len(windows[system]):
                    yield system, k, examples_of(corpora[system], windows[system][k], estimator.inputs)

    systems = range(len(corpora))
    if on_long == "error":
        places = [(system, k) for system, k, own in examples(systems) for _ in own]
        cut = estimator.is_cut([example for _, _, own in examples(systems) for example in own])
        _refuse_long(metric, estimator, windows, list(compress(places, cut)))
    unit = unit_of(windows)
    apart = not estimator.shares_texts and sum(map(len, windows)) > READ_TOGETHER
    estimates_of: list[list[Sequence[Estimate]]] = [[] for _ in windows]
    for together in [[system] for system in systems] if apart else [list(systems)]:
        owners, sizes, flat = [], [], []
        for system, _, own in examples(together):
            owners.append(system)
            sizes.append(len(own))
            flat += own
        estimates = iter(estimator.estimate(flat, metric, unit))
        for system, size in zip(owners, sizes, strict=True):
            estimates_of[system].append(tuple(islice(estimates, size)))
    return estimates_of


def _refuse_long(
    metric: str, estimator: Estimator, windows: Sequence[Sequence[Window]], long: list[tuple[int, int]]
) -> None:
    """Raise InputError, naming the first, if windows (system, number) are longer than the model reads."""
    if long:
        system, k = long[0]
        start, end, _ = windows[system][k]
        unit, lines = ("window", f"lines {start + 1} to {end}") if end - start > 1 else ("segment", f"line {start + 1}")
        which = f" of system {system + 1}" if len(windows) > 1 else ""
        raise InputError(
            f"{metric}: {counted(len(long), f'{unit} is', f'{unit}s are')} longer than the model reads ({estimator.limit}), "
            f"first {lines}{which}; shorten them, or allow cutting with "
            + setting_named(f"--{metric}-on-long", "on_long", "truncate")
        )


def unit_of(windows: Sequence[Sequence[Window]]) -> str:
    """ "segment" if no system has a window of several segments, else "window"."""
    return "segment" if all(end - start == 1 for of_system in windows for start, end, _ in of_system) else "window"


def read_texts(inputs: str) -> str:
    """The texts that a model reads, in words.

    >>> read_texts("mt+src+ref")
    'hypothesis, source or reference'
    """
    *others, last = (TEXTS[name] for name in inputs.split("+"))
    return f"{', '.join(others)} or {last}"


def check_sources(metric: str, estimator: Estimator, sources: Sequence[str] | None, references: bool) -> None:
    """Raise InputError, naming what to add, when a model reads sources and there are none.

    references    whether there are any
    """
    if "src" in estimator.inputs and sources is None:
        if "ref" in estimator.inputs and not references:
            both = f"the model reads {estimator.inputs}, and neither sources nor references are given"
            raise InputError(
                f"{metric}: {both}: give "
                + worded("--source FILE and a reference (-r FILE)", "sources, and references when you score")
            )
        if estimator.choices and not references:
            give = worded("--source FILE, or a reference (-r FILE)", "sources, or references when you score")
            reads = f"without references the model reads {estimator.inputs} and needs the sources"
            raise InputError(f"{metric}: {reads}: give {give}")
        raise InputError(_needs(metric, estimator, "src", worded("--source FILE", "sources")))


def _needs(metric: str, estimator: Estimator, name: str, flag: str) -> str:
    others = [choice for choice in estimator.choices if name not in choice.split("+")]
    inputs = setting_named(f"--{metric}-inputs", "inputs", others[0] if others else "")
    without = f", or score without it with {inputs}" if others else ""
    return f"{metric}: the model reads {estimator.inputs} and needs the {TEXTS[name]}s: give {flag}{without}"


def system_results(
    metric: str,
    estimator: Estimator,
    corpora: Sequence[Corpus],
    windows: Sequence[Sequence[Window]],
    *,
    multiref: str,
    penalty: Penalty | None = None,
    **reading: Any,
) -> list[SystemResult]:
    """All systems' results by their windows, `reading` as estimate_windows takes it; against several references a window
    takes the best value, or their mean. With `penalty`, rows hold penalties (negated) in the values' place."""
    estimates_of = estimate_windows(metric, estimator, corpora, windows, **reading)
    return [
        system_result(estimator, len(corpus), of_system, estimates, multiref, penalty)
        for corpus, of_system, estimates in zip(corpora, windows, estimates_of, strict=True)
    ]


def system_result(
    estimator: Estimator,
    length: int,
    windows: Sequence[Window],
    estimates_of: Sequence[Sequence[Estimate]],
    multiref: str,
    penalty: Penalty | None = None,
) -> SystemResult:
    """Rows, counts and notices of one system from the estimates of its windows, [windows][references]."""
    values = [best_reference([estimate.value for estimate in estimates], multiref) for estimates in estimates_of]
    rated = [(window, value) for window, value in zip(windows, values, strict=True) if value is not None]
    credited = [value for _, value in rated]
    if penalty is not None:
        credited = (-penalty.penalties(np.array(credited))).tolist()
    rows = credit([window for window, _ in rated], credited, length)
    unit = unit_of([windows])
    scored = "[is scored as it is|are scored as they are]"
    if estimator.empty_value is not None:
        scored = f"[scores|score] {100 * estimator.empty_value:.4g}"
    starts = [window.start for window in windows]
    cut = [any(each.cut for each in estimates) for estimates in estimates_of]
    empty = [bool(estimates) and all(each.empty for each in estimates) for estimates in estimates_of]
    bare = [not estimates for estimates in estimates_of]
    texts = read_texts(estimator.inputs)
    kinds = {
        "truncated": (list(compress(starts, cut)), f"[{unit} was|{unit}s were] cut to {estimator.limit}"),
        "empty": (list(compress(starts, empty)), f"[{unit} has|{unit}s have] an empty {texts} and {scored}"),
        "unreferenced": (
            list(compress(starts, bare)),
            f"[{unit} has|{unit}s have] no whole reference and [is|are] left out",
        ),
    }
    counts, notices = told(kinds, "segment" if unit == "segment" else "from segment")
    best = [max(estimates, key=lambda e: e.value, default=None) for estimates in estimates_of]
    seen = [ScoredWindow(*each) for each in zip(windows, values, best, strict=True)]
    return SystemResult(rows, counts, notices, seen)
