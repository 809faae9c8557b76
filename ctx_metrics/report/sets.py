"""Several test sets on one page: who wins on how many of them, and the scores of each system on each."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..cli.common.output import number
from ..notices import counted, notice
from ..scoring.comparison import Column
from .cells import Cell, cells, overall_cells
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
    >>> from ctx_metrics.scoring.context import Context
    >>> languages(Content(Context(source_lang="de", target_lang="en", names=["a"]), None, []))
    'de → en'
    """
    context = content.context
    return " → ".join(each for each in (context.source_lang, context.target_lang) if each)


def summary(sets: Sequence[Content], verdicts: Sequence[Verdict], overall: Sequence[Sequence[float]] = ()) -> Summary:
    """The content of the first screen; `overall` is the systems' AutoRank in each set, if it is shown."""
    metrics = dict.fromkeys((column.name, column.heading) for each in sets for column in each.columns)
    matrices = [_matrix(name, heading, sets) for name, heading in metrics]
    if any(overall):
        matrices.insert(0, _of_autorank(sets, overall))
    alone = all(len(each.names) == 1 for each in sets)
    return Summary(f"One system on each of {len(sets)} test sets" if alone else headline(verdicts), matrices)


def headline(verdicts: Sequence[Verdict]) -> str:
    """On how many test sets each system wins.

    >>> a, none, untested = Verdict("", winner="a"), Verdict(""), Verdict("", tested=False)
    >>> headline([a, a]), headline([a, none, none])
    ('a wins on both test sets', 'a wins on 1 of 3 test sets; no system clearly wins on the other 2')
    >>> headline([a, none, untested])
    'a wins on 1 of 3 test sets; no system clearly wins on 1; 1 is not tested'
    """
    sets, wins = len(verdicts), Counter(each.winner for each in verdicts if each.winner is not None)
    untested = sum(not each.tested for each in verdicts)
    if untested == sets:
        return f"The differences are not tested on any of the {sets} test sets"
    if not wins:
        return f"No system clearly wins on any of the {sets} test sets" + _not_tested(untested)
    [(first, most), *others] = wins.most_common()
    if most == sets:
        return f"{first} wins on {_all(sets)} test sets"
    said = [
        f"{first} wins on {most} of {sets} test sets",
        *(f"{name} on {count}" for name, count in others[: MOST - 1]),
    ]
    if more := others[MOST - 1 :]:
        said.append(f"{len(more)} other systems on {sum(count for _, count in more)}")
    unclear = sets - wins.total() - untested
    on = "the other" if unclear == 1 and not untested else str(unclear) if untested else f"the other {unclear}"
    return ", ".join(said) + (f"; no system clearly wins on {on}" if unclear else "") + _not_tested(untested)


def _all(sets: int) -> str:
    return "both" if sets == 2 else f"all {sets}"


def _not_tested(sets: int) -> str:
    return f"; {sets} {'is' if sets == 1 else 'are'} not tested" if sets else ""


def say_missing(sets: Sequence[Content]) -> None:
    """Give notice of the systems that only some test sets have."""
    names = dict.fromkeys(name for each in sets for name in each.names)
    lacking = [name for name in names if not all(name in each.names for each in sets)]
    if lacking:
        one, many = "system is not in every test set", "systems are not in every test set"
        fix = "--names gives the systems of a set the same names as in the others"
        notice(f"{counted(len(lacking), one, many)} ({', '.join(lacking)}); {fix}")


def _matrix(name: str, heading: str, sets: Sequence[Content]) -> Matrix:
    columns = [_column(each, name, heading) for each in sets]
    sign = next(each.sign for each in columns if each is not None)
    found = [
        {}
        if column is None
        else {
            system: (cell, of_system.system)
            for system, cell, of_system in zip(each.names, cells(column), column.scores, strict=True)
        }
        for each, column in zip(sets, columns, strict=True)
    ]
    return Matrix(heading, _rows(sets, found, sign))


def _of_autorank(sets: Sequence[Content], overall: Sequence[Sequence[float]]) -> Matrix:
    found = [
        dict(zip(each.names, zip(overall_cells(own), own, strict=True), strict=True))
        for each, own in zip(sets, overall, strict=True)
    ]
    return Matrix("AutoRank ↓", _rows(sets, found, -1))


def _rows(
    sets: Sequence[Content], found: Sequence[Mapping[str, tuple[Cell, float]]], sign: int
) -> list[tuple[str, list[Cell | None], str]]:
    """The rows of all systems; `found` has the cell and the score of each set's systems."""
    names = dict.fromkeys(name for each in sets for name in each.names)
    nothing = (None, math.nan)
    rows = {name: [each.get(name, nothing) for each in found] for name in names}
    means = {name: sum(score for _, score in own) / len(own) for name, own in rows.items()}
    order = sorted(names, key=lambda name: (math.isnan(means[name]), -sign * means[name]))
    return [(name, [cell for cell, _ in rows[name]], number(means[name], 1, "-")) for name in order]


def _column(content: Content, name: str, heading: str) -> Column | None:
    return next((each for each in content.columns if (each.name, each.heading) == (name, heading)), None)
