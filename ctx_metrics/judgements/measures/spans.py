"""F1 of error spans over characters, as WMT25's second subtask computes it: half credit for the wrong severity."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

CREDIT = 0.5  # for a character that is marked with the wrong severity
MAJOR, MINOR = ("major", "critical"), ("minor",)
UNCOUNTED = ("undecided",)
SEVERITIES = (*MAJOR, *MINOR, *UNCOUNTED)


class Span(NamedTuple):
    """An error at the characters from start to end - 1; None, if it is missing from the hypothesis and so has no place."""

    start: int | None
    end: int | None
    severity: str


def span_sums(length: int, gold: Sequence[Span], predicted: Sequence[Span]) -> np.ndarray:
    """Return the terms that a hypothesis of `length` characters adds to three sums: credit, gold and predicted characters.

    A character counts once for each span that covers it. Critical errors are major ones; undecided and missing ones do not
    count.

    By hand: the gold marks characters 0 to 3 as major and 2 to 5 as minor, the prediction 0 to 5 as minor. Characters 0 and
    1 have the wrong severity, half a credit each; 2 to 5 have the right one.

    >>> span_sums(8, [Span(0, 4, "major"), Span(2, 6, "minor")], [Span(0, 6, "minor")]).tolist()
    [5.0, 8.0, 6.0]
    """
    one, other = _counts(length, gold), _counts(length, predicted)
    right = np.minimum(one, other)
    unmatched = np.minimum((one - right).sum(axis=0), (other - right).sum(axis=0))
    return np.array([right.sum() + CREDIT * unmatched.sum(), one.sum(), other.sum()])


def _counts(length: int, spans: Sequence[Span]) -> np.ndarray:
    """The numbers of major and minor spans that cover each character, float64 [2, length]."""
    counts = np.zeros((2, length))
    for start, end, severity in spans:
        if start is not None and severity not in UNCOUNTED:
            counts[int(severity in MINOR), start:end] += 1
    return counts


def precision(sums: np.ndarray) -> np.ndarray:
    """Credit by predicted characters; 1 if nothing is predicted. (...,) from (..., 3)."""
    return _share(sums[..., 0], sums[..., 2])


def recall(sums: np.ndarray) -> np.ndarray:
    """Credit by gold characters; 1 if there are none. (...,) from (..., 3)."""
    return _share(sums[..., 0], sums[..., 1])


def f1(sums: np.ndarray) -> np.ndarray:
    """The harmonic mean of precision and recall; 0 if both are 0. (...,) from (..., 3).

    >>> round(float(f1(np.array([5.0, 8.0, 6.0]))), 3)
    0.714
    """
    p, r = precision(sums), recall(sums)
    return np.where(p + r > 0, 2 * p * r / np.where(p + r > 0, p + r, 1), 0.0)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1), 1.0)
