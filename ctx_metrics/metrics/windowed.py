"""Scoring windows of a corpus with an estimator, for `comet` (windows of one segment) and `slide`."""

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, islice

import numpy as np

from ..corpus import Corpus
from ..errors import InputError
from ..models.estimator import Estimate, Estimator, Example, Penalty
from ..notices import Notice, counted, tallied
from ..run.context import Stream
from ..scoring.results import ScoredWindow, SystemResult, best_reference
from ..windows import Window, credit
from ..wording import setting_named, worded

TEXTS = {"mt": "hypothesis", "src": "source", "ref": "reference"}
READ_TOGETHER = 4096  # with more windows that share no texts, systems are read one after another


def window_examples(corpus: Corpus, window: Window, inputs: str) -> list[Example]:
    """Return one example for each reference that has all lines of the window, or one if the model reads no reference.

    In each text, the window's sentences are joined by one space, whatever the language (paper, section 3).
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
    """Return the estimates of all windows of all systems, as [systems][windows][examples].

    A window has one example for each reference without gaps, or one in all if the model reads no reference. All windows go
    through the estimator in one pass, unless there are more than READ_TOGETHER and they share no texts.

    on_long    "truncate" cuts texts that are too long; "error" raises InputError before anything is scored
    """
    if "ref" in estimator.inputs and not corpora[0].references:
        raise InputError(_needs(metric, estimator, "ref", "a reference"))

    def examples(systems: Sequence[int]) -> Iterator[tuple[int, int, list[Example]]]:
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
    if long:
        system, k = long[0]
        start, end, _ = windows[system][k]
        window, unit = (
            (f"a window of {end - start} segments is ", "from segment") if end - start > 1 else ("", "segment")
        )
        more = f", as {counted(len(long) - 1, 'other is', 'others are')}" if len(long) > 1 else ""
        raise InputError(
            f"{window}longer than the model reads ({estimator.limit}){more}",
            about=f"{metric}: system {system + 1}" if len(windows) > 1 else metric,
            segment=start,
            unit=unit,
            fix=f"shorten it, or allow cutting with {setting_named(f'--{metric}-on-long', 'on_long', 'truncate')}",
        )


def unit_of(windows: Sequence[Sequence[Window]]) -> str:
    return "segment" if all(end - start == 1 for of_system in windows for start, end, _ in of_system) else "window"


def read_texts(inputs: str) -> str:
    """Return the names of the texts that a model reads.

    >>> read_texts("mt+src+ref")
    'hypothesis, source or reference'
    """
    *others, last = (TEXTS[name] for name in inputs.split("+"))
    return f"{', '.join(others)} or {last}"


def check_sources(metric: str, estimator: Estimator, sources: Sequence[str] | None, references: bool) -> None:
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


def system_result(
    estimator: Estimator,
    length: int,
    windows: Sequence[Window],
    estimates_of: Sequence[Sequence[Estimate]],
    multiref: str,
    penalty: Penalty | None = None,
) -> SystemResult:
    """Return one system's result from the estimates of its windows.

    estimates_of    [windows][references]
    """
    values = [best_reference([estimate.value for estimate in estimates], multiref) for estimates in estimates_of]
    rated = [(window, value) for window, value in zip(windows, values, strict=True) if value is not None]
    credited = [value for _, value in rated]
    if penalty is not None:
        credited = (-penalty.penalties(np.array(credited))).tolist()
    rows = credit([window for window, _ in rated], credited, length)
    unit = unit_of([windows])
    scores, score = "is scored as it is", "are scored as they are"
    if (value := estimator.empty_value) is not None:
        scores, score = f"scores {100 * value:.4g}", f"score {100 * value:.4g}"
    starts = [window.start for window in windows]
    cut = [any(each.cut for each in estimates) for estimates in estimates_of]
    empty = [bool(estimates) and all(each.empty for each in estimates) for estimates in estimates_of]
    bare = [not estimates for estimates in estimates_of]
    texts = read_texts(estimator.inputs)

    def about(which: Sequence[bool], one: str, many: str, kind: str) -> Notice:
        places = "segment" if unit == "segment" else "from segment"
        return Notice.at(list(compress(starts, which)), f"{unit} {one}", f"{unit}s {many}", places, kind=kind)

    without = "no whole reference and"
    counts, notices = tallied(
        [
            about(cut, f"was cut to {estimator.limit}", f"were cut to {estimator.limit}", "truncated"),
            about(empty, f"has an empty {texts} and {scores}", f"have an empty {texts} and {score}", "empty"),
            about(bare, f"has {without} is left out", f"have {without} are left out", "unreferenced"),
        ]
    )
    best = [max(estimates, key=lambda e: e.value, default=None) for estimates in estimates_of]
    seen = [ScoredWindow(*each) for each in zip(windows, values, best, strict=True)]
    return SystemResult(rows, counts, notices, seen)
