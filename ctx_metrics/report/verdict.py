"""Who wins, and how certain that is, in words."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..cli.common.output import number
from ..notices import counted
from ..scoring.comparison import Column

PEOPLE = "human"  # title of the column of human scores
MOST = 3  # names in a list; more are counted


class Verdict(NamedTuple):
    """Who wins, and why. `winner` is None if no system wins, if the metrics disagree, or if nothing is tested."""

    headline: str
    reasons: Sequence[str] = ()
    winner: str | None = None
    tested: bool = True


class _Outcome(NamedTuple):
    """By one metric: the best system, those that are not significantly worse, and the p-values of their differences from the
    best; if there are none, the p-values of all other systems."""

    best: int
    rivals: tuple[int, ...]
    p_values: tuple[float, ...]


def p_value(p: float) -> str:
    """Write a p-value as in papers, never as 0, in a line that does not break.

    >>> [p_value(p).split() for p in (0.0001, 0.046, 1.0)]
    [['p', '<', '.001'], ['p', '=', '.046'], ['p', '=', '1.000']]
    """
    return _related("=", p)


def _related(sign: str, p: float) -> str:
    sign, number = ("<", ".001") if p < 0.001 and sign != "≥" else (sign, f"{p:.3f}".removeprefix("0"))
    if number == "1.000":  # no p-value is larger
        sign = "="
    return "\N{NO-BREAK SPACE}".join(["p", sign, number])


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def verdict(names: Sequence[str], columns: Sequence[Column]) -> Verdict:
    """A system wins on a metric if it is significantly better than every other system."""
    found = [(column, outcome) for column in columns if (outcome := _outcome(column))]
    if not found:
        return _untested(names, columns)
    wins: dict[int, list[str]] = {}
    undisputed = None
    reasons: dict[tuple[int, tuple[int, ...]], tuple[list[str], list[float]]] = {}
    for column, outcome in found:
        if not outcome.rivals:
            wins.setdefault(outcome.best, []).append(_called(column))
        titles, p_values = reasons.setdefault(outcome[:2], ([], []))
        titles.append(_called(column))
        p_values += outcome.p_values
    if not wins:
        rivals = {frozenset((outcome.best, *outcome.rivals)) for _, outcome in found}
        tied = f": {_some(names, sorted(*rivals))} do not differ significantly" if len(rivals) == 1 else ""
        headline = f"No system wins{tied}"
    elif len(wins) == 1:
        [(winner, titles)] = wins.items()
        beaten = any(winner not in (outcome.best, *outcome.rivals) for _, outcome in found)
        on = _on(titles, len(found))
        undisputed = None if beaten else names[winner]
        headline = f"The metrics disagree: {names[winner]} wins {on} only" if beaten else f"{names[winner]} wins {on}"
    else:
        each = [f"{names[winner]} wins {_on(titles, len(found))}" for winner, titles in wins.items()]
        headline = f"The metrics disagree: {listed(each)}"
    said = [_reason(names, *key, *of, len(columns[0].scores)) for key, of in reasons.items()]
    return Verdict(headline, said, undisputed)


def _outcome(column: Column) -> _Outcome | None:
    comparison, order = column.comparison, column.order
    others = [s for s in order[1:] if not math.isnan(column.scores[s].system)]
    if comparison is None or not others:
        return None
    best = order[0]
    rivals = tuple(s for s in others if not comparison.differ(best, s))
    return _Outcome(best, rivals, tuple(float(comparison.adjusted[best, s]) for s in rivals or others))


def _called(column: Column) -> str:
    return "human scores" if column.title == PEOPLE else column.title


def _untested(names: Sequence[str], columns: Sequence[Column]) -> Verdict:
    best: dict[int, list[str]] = {}
    for column in columns:
        best.setdefault(column.best, []).append(f"{column.title} {number(column.scores[column.best].system, 1, '-')}")
    if len(names) == 1:
        return Verdict(f"{names[0]}: {', '.join(best[0])}", tested=False)
    leads = [f"{names[s]} has the best {listed(scores)}" for s, scores in best.items()]
    return Verdict("The differences are not tested", [f"{'; '.join(leads)}."], tested=False)


def _on(titles: Sequence[str], tested: int) -> str:
    if len(titles) == tested > 1:
        return f"on all {tested} metrics" if tested > 2 else "on both metrics"
    return f"on {listed(titles)}" if len(titles) <= MOST else f"on {len(titles)} of {tested} metrics"


def _some(names: Sequence[str], numbers: Sequence[int]) -> str:
    return listed([names[s] for s in numbers]) if len(numbers) <= MOST else counted(len(numbers), "system", "systems")


def _reason(
    names: Sequence[str],
    best: int,
    rivals: Sequence[int],
    titles: Sequence[str],
    p_values: Sequence[float],
    systems: int,
) -> str:
    lead = f"On {listed(titles)}, {names[best]} is"
    if rivals:
        p = _related("=" if len(p_values) == 1 else "≥", min(p_values))
        are = "is" if len(rivals) == 1 else "are"
        return f"{lead} ahead, but {_some(names, rivals)} {are} not significantly worse ({p})."
    others = _some(names, [1 - best]) if systems == 2 else "every other system"
    p = _related("=" if len(p_values) == 1 else "≤", max(p_values))
    return f"{lead} significantly better than {others} ({p})."
