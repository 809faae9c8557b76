"""Several test sets on one page: who wins on how many of them, and the scores of each system on each."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..cli.common.output import number
from ..notices import counted, notice
from ..scoring.comparison import Column
from .cells import Cell, cells
from .content import Content
from .verdict import MOST, Verdict


class Matrix(NamedTuple):
    """One metric's scores: for each system its name, a cell for each test set (None: it has no score there), and the mean
    over test sets, "-" if it lacks one. Systems with a mean come first, the best one at the top."""

    heading: str
    rows: Sequence[tuple[str, Sequence[Cell | None], str]]


class Summary(NamedTuple):
    headline: str
    matrices: Sequence[Matrix]


def languages(content: Content) -> str:
    """
    >>> from ctx_metrics.run.context import Context
    >>> languages(Content(["a"], Context(source_lang="de", target_lang="en"), None, []))
    'de → en'
    """
    context = content.context
    return " → ".join(each for each in (context.source_lang, context.target_lang) if each)


def summary(sets: Sequence[Content], verdicts: Sequence[Verdict]) -> Summary:
    metrics = dict.fromkeys((column.name, column.heading) for each in sets for column in each.columns)
    return Summary(headline(verdicts), [_matrix(name, heading, sets) for name, heading in metrics])


def headline(verdicts: Sequence[Verdict]) -> str:
    """On how many test sets each system wins.

    >>> a, b, none = Verdict("", winner="a"), Verdict("", winner="b"), Verdict("")
    >>> headline([a, a, b]), headline([a, none]), headline([a, a]), headline([none, none, none])
    ('a wins on 2 of 3 test sets, b on 1', 'a wins on 1 of 2 test sets; none clearly wins on the other', \
'a wins on both test sets', 'No system clearly wins on any of the 3 test sets')
    """
    sets, wins = len(verdicts), Counter(each.winner for each in verdicts if each.winner is not None)
    if not wins:
        return f"No system clearly wins on any of the {sets} test sets"
    [(first, most), *others] = wins.most_common()
    if most == sets:
        return f"{first} wins on {'both' if sets == 2 else f'all {sets}'} test sets"
    said = [
        f"{first} wins on {most} of {sets} test sets",
        *(f"{name} on {count}" for name, count in others[: MOST - 1]),
    ]
    if more := others[MOST - 1 :]:
        said.append(f"{len(more)} other systems on {sum(count for _, count in more)}")
    unclear = sets - wins.total()
    if unclear:
        said[-1] += "; none clearly wins on the other" + f" {unclear}" * (unclear > 1)
    return ", ".join(said)


def say_missing(sets: Sequence[Content]) -> None:
    """Give notice of the systems that only some test sets have."""
    names = dict.fromkeys(name for each in sets for name in each.names)
    lacking = [name for name in names if not all(name in each.names for each in sets)]
    if lacking:
        one, many = "system is not in every test set", "systems are not in every test set"
        fix = "--names gives the systems of a set the same names as in the others"
        notice(f"{counted(len(lacking), one, many)} ({', '.join(lacking)}); {fix}")


def _matrix(name: str, heading: str, sets: Sequence[Content]) -> Matrix:
    rows: dict[str, list[Cell | None]] = {system: [None] * len(sets) for each in sets for system in each.names}
    scores: dict[str, list[float]] = {system: [math.nan] * len(sets) for system in rows}
    sign = 1
    for k, each in enumerate(sets):
        column = _column(each, name, heading)
        if column is None:
            continue
        sign = column.sign
        for system, cell, of_system in zip(each.names, cells(column), column.scores, strict=True):
            rows[system][k], scores[system][k] = cell, of_system.system
    means = {system: sum(own) / len(own) for system, own in scores.items()}
    order = sorted(rows, key=lambda system: (math.isnan(means[system]), -sign * means[system]))
    return Matrix(heading, [(system, rows[system], number(means[system], 1, "-")) for system in order])


def _column(content: Content, name: str, heading: str) -> Column | None:
    return next((each for each in content.columns if (each.name, each.heading) == (name, heading)), None)
