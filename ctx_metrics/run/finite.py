"""The check that every metric's rows pass: a value that is no number, or too large for one, is an error, never a score."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric

from ..errors import ModelError

LARGEST = 1e100  # what a score is below: intervals add up squares of such numbers, which a float can hold


def check_finite(metric: str, rows: Sequence[Sequence[float]], system: str = "", dtype: str = "") -> None:
    """Raise ModelError if a row holds NaN, an infinity or a number from LARGEST; the message names the metric and the first
    such segment.

    rows      a row of statistics for each segment
    system    the system's name, for the message
    dtype     number format of the metric's model, "" for another package's metric; where it is a half format, the message
              names fp32 as the mend

    >>> check_finite("toy", [[0.5, 1.0], [float("nan"), 1.0]], "a.txt", "fp16")
    Traceback (most recent call last):
    ctx_metrics.errors.ModelError: toy: a.txt: segment 2 got nan, not a score; fp16 may be too small: use --ctx-dtype fp32
    """
    if (np.abs([value for row in rows for value in row]) < LARGEST).all():
        return
    segment, value = next((i, value) for i, row in enumerate(rows, 1) for value in row if not abs(value) < LARGEST)
    mend = f"{dtype} may be too small: use --ctx-dtype fp32"
    if dtype in ("", "fp32"):
        mend = "the model is broken: fetch or train it again" if dtype else "leave this metric out"
    where = f"{system}: " if system else ""
    raise ModelError(f"{metric}: {where}segment {segment} got {float(value):g}, not a score; {mend}")


def with_finite_rows(cls: type[Metric]) -> type[Metric]:
    """The same class, another package's, whose statistics pass check_finite from now on."""
    extract = cls._extract_corpus_statistics
    if hasattr(extract, "checks_finite") or cls.__module__.startswith("sacrebleu."):
        return cls

    @functools.wraps(extract)
    def checked(self: Metric, hypotheses: Sequence[str], references: Any) -> Any:
        rows = extract(self, hypotheses, references)
        check_finite(cls.__name__.lower(), rows, getattr(hypotheses, "name", ""))
        return rows

    vars(checked)["checks_finite"] = True
    cls._extract_corpus_statistics = checked  # type: ignore[method-assign]
    return cls
