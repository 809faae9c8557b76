"""Document windows (SLIDE, Raunak et al. 2023), as pure functions of numbers.

A window is a half-open range of sentences within one document. Windows never cross a document's end.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .errors import InputError

PARTIAL = ("drop", "include", "weight")


class Window(NamedTuple):
    """Sentences start to end - 1 of a corpus, and their weight in the corpus score."""

    start: int
    end: int
    weight: float

    def after(self, sentences: int) -> "Window":
        """The same window where so many more sentences come before it."""
        return Window(self.start + sentences, self.end + sentences, self.weight)


def check_window(window: int, stride: int, metric: str = "") -> None:
    """Raise InputError unless 1 <= stride <= window; the metric's name, if any, begins the message."""
    where = f"{metric}: " * bool(metric)
    if window < 1:
        raise InputError(f"{where}window {window}: a window must hold at least 1 sentence")
    if not 1 <= stride <= window:
        wanted = "the stride must be from 1 to the window, or sentences are skipped"
        raise InputError(f"{where}window {window}, stride {stride}: {wanted}")


def sentence_windows(length: int, window: int, stride: int, partial: str = "weight") -> list[Window]:
    """Return the windows over one document of `length` sentences (paper, section 3).

    Full windows start at 0, stride, 2*stride, ... while start + window <= length. If they leave sentences uncovered, or the
    document is shorter than a window, one partial window runs from the next start to the document's end. `partial` says
    how it is treated:
      drop     it is left out (the paper's setting); full windows have weight 1
      include  it is scored with weight 1, like a full window
      weight   it is scored, and the weight of every window is its number of sentences

    This agrees with the paper's figure 1 (w=4, s=2). The paper's formula "d mod (w - s)" fails for w = s and s = 1.

    Raises InputError unless 1 <= stride <= window.

    >>> [(w.start, w.end) for w in sentence_windows(7, 4, 2)]
    [(0, 4), (2, 6), (4, 7)]
    >>> [(w.start, w.end) for w in sentence_windows(7, 4, 2, "drop")]
    [(0, 4), (2, 6)]
    """
    check_window(window, stride)
    if partial not in PARTIAL:
        raise InputError(f"partial windows: {partial!r} is not one of {', '.join(PARTIAL)}")
    ranges = [(start, start + window) for start in range(0, length - window + 1, stride)]
    covered = ranges[-1][1] if ranges else 0
    if covered < length and partial != "drop":
        ranges.append((ranges[-1][0] + stride if ranges else 0, length))
    return [Window(start, end, float(end - start) if partial == "weight" else 1.0) for start, end in ranges]


def token_windows(tokens: Sequence[int], budget: int, stride: int = 0, overhead: int = 0) -> list[Window]:
    """Return windows over one document, each with as many sentences as fit into a token budget (paper, appendix A.2).

    tokens    number of tokens of each sentence, summed over all its texts that the model reads
    budget    most tokens per window; a sentence that alone exceeds it gets a window of its own
    stride    sentences from one window's start to the next; with 0, each starts where the last one ended. A stride never
              skips a sentence: it is cut to the last window's length
    overhead  extra tokens in every window (special tokens)

    The weight of a window is its number of sentences.

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
    """Return each sentence's share of the windows that cover it, as `length` rows [sum of weight * value, sum of weight].

    A window of n sentences gives each of its rows 1/n of its weighted value and of its weight. The ratio of the column
    sums is therefore the exact SLIDE score. The ratio within a row is the weighted mean of the windows over that sentence;
    the row is [0, 0] if no window covers it.

    windows, values    equally many of each; length    number of sentences in the corpus

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
