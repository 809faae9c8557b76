"""Document windows (SLIDE, Raunak et al. 2023): pure functions of integers.

A window is a half-open range of sentences within one document. Windows never cross a document's end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .errors import InputError

PARTIAL = ("drop", "include", "weight")


class Window(NamedTuple):
    """Sentences start..end-1 of a corpus, counted in the corpus score with `weight`."""

    start: int
    end: int
    weight: float


def sentence_windows(length: int, window: int, stride: int, partial: str = "weight") -> list[Window]:
    """The windows over one document of `length` sentences (paper, section 3).

    Full windows start at 0, stride, 2*stride, ... while start + window <= length. What they leave uncovered, or a shorter
    document, makes one partial window from the next start to the document's end, of which `partial` says what it becomes:
      drop     it is left out (the paper's setting); full windows weigh 1
      include  it is scored and weighs 1, as much as a full window
      weight   it is scored, and every window weighs its number of sentences

    That agrees with the paper's figure 1 (w=4, s=2), while its "d mod (w - s)" fails for w = s and s = 1.

    Raises InputError unless 1 <= stride <= window.

    >>> [(w.start, w.end) for w in sentence_windows(7, 4, 2)]
    [(0, 4), (2, 6), (4, 7)]
    >>> [(w.start, w.end) for w in sentence_windows(7, 4, 2, "drop")]
    [(0, 4), (2, 6)]
    """
    if window < 1:
        raise InputError(f"window {window}: a window must hold at least 1 sentence")
    if not 1 <= stride <= window:
        wanted = "the stride must be from 1 to the window, or sentences are skipped"
        raise InputError(f"window {window}, stride {stride}: {wanted}")
    if partial not in PARTIAL:
        raise InputError(f"partial windows: {partial!r} is none of {', '.join(PARTIAL)}")
    ranges = [(start, start + window) for start in range(0, length - window + 1, stride)]
    covered = ranges[-1][1] if ranges else 0
    if covered < length and partial != "drop":
        ranges.append((ranges[-1][0] + stride if ranges else 0, length))
    return [Window(start, end, float(end - start) if partial == "weight" else 1.0) for start, end in ranges]


def token_windows(tokens: Sequence[int], budget: int, stride: int = 0, overhead: int = 0) -> list[Window]:
    """Windows over one document that hold as many sentences as fit a budget of tokens (paper, appendix A.2).

    tokens    tokens of each sentence, all the texts that the model reads of it together
    budget    most tokens of a window; a sentence that exceeds it alone makes a window of its own
    stride    sentences from one window's start to the next; 0 starts each where the last one ended. A stride never
              skips a sentence: it is cut to the last window's length
    overhead  tokens that every window costs beside its sentences (special tokens)

    Every window weighs its number of sentences.

    >>> [(w.start, w.end) for w in token_windows([4, 4, 4, 9, 1], budget=9)]
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    >>> [(w.start, w.end) for w in token_windows([4, 4, 4], budget=9, stride=1)]
    [(0, 2), (1, 3)]
    """
    if budget < 1 or stride < 0:
        wanted = "the budget must be at least 1, the stride at least 0"
        raise InputError(f"token budget {budget}, stride {stride}: {wanted}")
    windows: list[Window] = []
    start = 0
    while start < len(tokens):
        end, total = start + 1, tokens[start] + overhead
        while end < len(tokens) and total + tokens[end] <= budget:
            total += tokens[end]
            end += 1
        windows.append(Window(start, end, float(end - start)))
        if end == len(tokens):
            break
        start = min(start + stride, end) if stride else end
    return windows


def credit(windows: Sequence[Window], values: Sequence[float], length: int) -> list[list[float]]:
    """Each sentence's share in the windows that cover it, as rows [sum of weight * value, sum of weight].

    A window of n sentences gives each of its rows 1/n of its weighted value and of its weight. So the ratio of the columns'
    sums is the exact SLIDE score, and a row's the weighted mean of the windows over that sentence; [0, 0] where none is.

    windows, values    as many of each; length    number of sentences in the corpus

    >>> credit([Window(0, 2, 2.0), Window(1, 3, 2.0)], [0.5, 1.0], 4)
    [[0.5, 1.0], [1.5, 2.0], [1.0, 1.0], [0.0, 0.0]]
    """
    rows = [[0.0, 0.0] for _ in range(length)]
    for (start, end, weight), value in zip(windows, values, strict=True):
        share = weight / (end - start)
        for row in rows[start:end]:
            row[0] += share * value
            row[1] += share
    return rows
