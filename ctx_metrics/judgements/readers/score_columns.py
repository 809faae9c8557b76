"""Scores that are made of several columns of a table."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...notices import notice

WEIGHTED = re.compile(r"(.+):([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")


class Term(NamedTuple):
    """A column in a sum of z-scores; `weight` None: the column is the score as it is."""

    column: str
    weight: float | None = None

    @property
    def sign(self) -> float:
        return -1.0 if self.column == "hter" else 1.0


def terms_of(formulas: Sequence[Sequence[str]], header: Sequence[str], path: str) -> list[Term]:
    """Return the terms of the first formula whose columns are all in the header; [] if no column of any is there.

    formulas    lists of NAME or NAME:WEIGHT; a text that is itself a column is NAME

    Raises InputError if the header has columns of formulas, but not all of any.

    >>> terms_of([["A", "B:-2"]], ["mt", "A", "B"], "t.tsv"), terms_of([["A"], ["A", "B"]], ["mt", "A"], "t.tsv")
    ([Term(column='A', weight=1.0), Term(column='B', weight=-2.0)], [Term(column='A', weight=None)])
    """
    lacking: list[tuple[str, str]] = []
    for formula in formulas:
        terms = [_term(text, header) for text in formula]
        if not (missing := [term.column for term in terms if term.column not in header]):
            if len(terms) == 1 and formula[0] == terms[0].column:
                return terms
            return [term._replace(weight=1.0 if term.weight is None else term.weight) for term in terms]
        lacking += [(term.column, missing[0]) for term in terms if term.column in header][:1]
    if lacking:
        there, missing_one = lacking[0]
        raise InputError(
            f"{path}, line 1: it has column {there} of --score-column, but no column {missing_one}",
            fix="give --score-column once more for a table with other columns",
        )
    return []


def names_of(formulas: Sequence[Sequence[str]]) -> set[str]:
    """Return every text that may be the name of a column.

    >>> sorted(names_of([["A", "B:-2"]]))
    ['A', 'B', 'B:-2']
    """
    return {name for formula in formulas for text in formula for name in (text, _term(text, ()).column)}


def in_words(terms: Sequence[Term]) -> str:
    """Return the score of a table in words.

    >>> in_words([Term("A", 1.0), Term("B", -0.5)]), in_words([Term("B", -1.0)]), in_words([Term("A")])
    ('z(A) - 0.5 z(B)', '-z(B)', 'A')
    """
    words = ""
    for column, weight in terms:
        if weight is None:
            return column
        size = "" if abs(weight) == 1 else f"{abs(weight):g} "
        sign = (" - " if weight < 0 else " + ") if words else "-" if weight < 0 else ""
        words += f"{sign}{size}z({column})"
    return words


def combined(name: str, terms: Sequence[Term], values: np.ndarray) -> np.ndarray:
    """Return the scores of n rows: the weighted sum of the columns' z-scores, float64 (n,), NaN where one is missing.

    values    float64 (n, k), a column for each term; higher is better

    z = (x - mean) / sd over the rows that have all columns, where sd is the population standard deviation. A column of
    equal values counts as 0, with a notice. A term without a weight is a score as it is.

    >>> terms, nan = [Term("A", 1.0), Term("B", -2.0)], float("nan")
    >>> combined("toy", terms, np.array([[1, 6], [3, 2], [nan, 9]])).tolist()
    [-3.0, 3.0, nan]
    """
    if terms[0].weight is None:
        return values[:, 0]
    known = ~np.isnan(values).any(axis=1)
    scores = np.where(known, 0.0, np.nan)
    for (column, weight), own in zip(terms, values[known].T, strict=True):
        if len(own) and own.min() < own.max():
            scores[known] += weight * ((own - own.mean()) / own.std())
        elif len(own):
            notice(f"{name}: column {column} has the same value in all rows, so it counts as 0 in their scores")
    return scores


def _term(text: str, header: Sequence[str]) -> Term:
    weighted = None if text in header else WEIGHTED.fullmatch(text)
    if weighted is None:
        return Term(text)
    weight = float(weighted[2])
    if weight == 0 or not math.isfinite(weight):
        raise InputError(
            f"--score-column {text}: a weight of {weight:g} gives no score", fix="write another number, or none"
        )
    return Term(weighted[1], weight)
