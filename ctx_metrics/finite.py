"""Checks of the rows of all metrics, and of other packages' metrics: a value that is not a number, or is too large, is an
error and never a score."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sacrebleu.metrics.base import Metric

from .errors import ModelError, as_line
from .wording import setting_named

LARGEST = 1e100  # limit of a score; intervals sum the squares of scores, which must fit into a float


def check_finite(metric: str, rows: Sequence[Sequence[float]], system: str = "", dtype: str = "") -> None:
    """Raise ModelError if a row holds a NaN, an infinity, an absolute value of at least LARGEST, or anything but numbers.

    rows     one row of statistics per segment
    dtype    number format of the metric's model, "" for another package's metric; for a half format, the message
             suggests fp32

    >>> check_finite("toy", [[0.5, 1.0], [float("nan"), 1.0]], "a.txt", "fp16")
    Traceback (most recent call last):
    ctx_metrics.errors.ModelError: toy: a.txt, segment 2: nan is not a score; fp16 may be too small: use dtype='fp32'
    """
    values = np.array([value for row in rows for value in row])
    if values.dtype.kind in "biuf" and (np.abs(values) < LARGEST).all():
        return
    in_order = ((segment, value) for segment, row in enumerate(rows) for value in row)
    bad = ((segment, value) for segment, value in in_order if not (isinstance(value, Real) and abs(value) < LARGEST))
    segment, value = next(bad, (None, None))
    if segment is None:
        return
    fix = f"{dtype} may be too small: use {setting_named('--ctx-dtype', 'dtype', 'fp32')}"
    if dtype in ("", "fp32"):
        fix = "the model is broken: fetch or train it again" if dtype else "leave this metric out"
    got = f"{float(value):g}" if isinstance(value, Real) else repr(value)
    about = ": ".join(filter(None, (metric, system)))
    raise ModelError(f"{got} is not a score", about=about, segment=segment, fix=fix)


def checked(cls: type[Metric]) -> type[Metric]:
    """Return another package's class, changed in place so that its rows are checked by check_finite and its scores must be
    numbers; its exceptions become ModelErrors of one line."""
    extract, scores = cls._extract_corpus_statistics, ("_aggregate_and_compute", "_compute_score_from_stats")
    if hasattr(extract, "checks_finite") or cls.__module__.startswith("sacrebleu."):
        return cls
    name = cls.__name__.lower()

    @functools.wraps(extract)
    def checked_rows(self: Metric, hypotheses: Sequence[str], references: Any) -> Any:
        with of_package(name):
            rows = extract(self, hypotheses, references)
            check_finite(name, rows, getattr(hypotheses, "name", ""))
        return rows

    def with_number(method: Callable) -> Callable:
        @functools.wraps(method)
        def checked_score(self: Metric, stats: Any) -> Any:
            with of_package(name):
                found = method(self, stats)
                if not isinstance(value := getattr(found, "score", found), Real) or value is found:
                    raise ModelError(
                        f"{name}: its score is {value!r}, not a Score with a number", fix="leave this metric out"
                    )
            return found

        return checked_score

    vars(checked_rows)["checks_finite"] = True
    cls._extract_corpus_statistics = checked_rows  # type: ignore[method-assign]
    for method in scores:
        setattr(cls, method, with_number(getattr(cls, method)))
    return cls


@contextmanager
def of_package(metric: str) -> Iterator[None]:
    """Context that turns the exceptions of another package's metric into ModelErrors of one line, except for those that a
    user can fix."""
    try:
        yield
    except Exception as error:
        if as_line(error) is not None:
            raise
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelError(
            f"{metric}: the metric fails: {why}", fix="leave it out, or report it to its authors"
        ) from error
