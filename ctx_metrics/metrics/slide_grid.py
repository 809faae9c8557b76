"""SLIDE's scores for a grid of window sizes and strides, from one pass over the distinct windows."""

import math
from collections.abc import Sequence

import numpy as np

from ..models.estimator import Penalty
from ..notices import counted, notice
from ..scoring.base import best_reference
from ..scoring.windowed import estimate_windows
from ..windows import Window, sentence_windows
from .slide import SLIDE


def slide_grid(
    metric: SLIDE, systems: Sequence[Sequence[str]], references: Sequence[Sequence[str | None]], largest: int
) -> dict[tuple[int, int], list[float]]:
    """Return the scores (x100) of all systems for all windows w of 1 to `largest` sentences and strides 1 <= s <= w.

    metric    provides the model, the context, `partial` and `multiref`; its own window and stride are not used

    The result is {(w, s): one score per system}. A score is NaN if no window is scored, because every document is shorter
    than w and partial windows are dropped.

    A grid of W window sizes has W (W + 1) / 2 cells, but only about W windows per sentence. Each of them is scored once.
    """
    corpora = metric._corpora(systems, references)
    documents = corpora[0].documents()
    settings = [(w, s) for w in range(1, largest + 1) for s in range(1, w + 1)]
    windows = {setting: _windows(documents, *setting, metric.partial) for setting in settings}
    ranges = sorted({(start, end) for of_setting in windows.values() for start, end, _ in of_setting})
    distinct = [Window(start, end, 1.0) for start, end in ranges]
    estimates_of = estimate_windows(
        "slide", metric.estimator, corpora, [distinct] * len(corpora), on_long=metric.options.on_long
    )
    cut = sum(any(estimate.cut for estimate in estimates) for of_system in estimates_of for estimates in of_system)
    if cut:
        windows_were = counted(cut, "window was", "windows were")
        of_all = f"of {len(distinct) * len(corpora)} distinct windows"
        notice(f"{of_all}, {windows_were} cut to {metric.estimator.limit}", metric="slide")
    values = [
        {
            each: best_reference([estimate.value for estimate in estimates], metric.options.multiref)
            for each, estimates in zip(ranges, of_system, strict=True)
        }
        for of_system in estimates_of
    ]
    return {
        (w, s): [_score(windows[w, s], of_system, metric.average_of(w)) for of_system in values] for w, s in settings
    }


def _windows(documents: Sequence[tuple[int, int]], window: int, stride: int, partial: str) -> list[Window]:
    return [
        Window(begin + start, begin + end, weight)
        for begin, stop in documents
        for start, end, weight in sentence_windows(stop - begin, window, stride, partial)
    ]


def _score(windows: Sequence[Window], values: dict[tuple[int, int], float | None], penalty: Penalty | None) -> float:
    scored = [(weight, value) for start, end, weight in windows if (value := values[start, end]) is not None]
    weights = [weight for weight, _ in scored]
    if not scored:
        return math.nan
    if penalty is None:
        return 100 * math.fsum(weight * value for weight, value in scored) / math.fsum(weights)
    penalties = penalty.penalties(np.array([value for _, value in scored]))
    return 100 * float(penalty.value(np.average(penalties, weights=weights)))
