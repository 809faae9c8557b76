"""The content of an answer, and of several answers about the same translation together."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..models.estimator import ErrorSpan, Estimate
from .prompt import SEVERITIES

LONGEST = 200_000  # characters of an answer that are searched for JSON
MOST_BROKEN = 100  # objects that are not JSON, after which an answer is given up; an error costs a pass over the text
_DECODER = json.JSONDecoder()
_BEGUN = re.compile(r'\{\s*(?:"|\})')  # of a JSON object


class UnreadableAnswer(Exception):
    """Says what is wrong with an answer, in words that follow "an answer".

    cut    whether the server cut it off
    """

    def __init__(self, words: str, cut: bool = False):
        super().__init__(words)
        self.cut = cut


class Judgement(NamedTuple):
    """The content of one answer: a score from 0 to 100, and the errors as pairs of (text, severity)."""

    score: float
    errors: list[tuple[str, str]]


def read_answer(text: str, cut: bool) -> Judgement:
    """Read an answer, with or without reasoning or a code fence around its JSON; raise UnreadableAnswer.

    cut    whether the server cut the answer off

    >>> read_answer('Here it is: {"errors": [{"text": "cat", "severity": "minor"}], "score": 93}', False)
    Judgement(score=93.0, errors=[('cat', 'minor')])
    """
    found = _last_object(text, cut)
    if found is None:
        whole = "without a JSON object with a score" if text.strip() else "without any text"
        raise UnreadableAnswer("that was cut off" if cut else whole, cut)
    score = found["score"]
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise UnreadableAnswer("with a score that is not a number")
    if not (0 <= score <= 100):
        raise UnreadableAnswer("with a score outside 0 to 100")
    errors = found.get("errors")
    listed = [_error(each) for each in errors] if isinstance(errors, list) else []
    return Judgement(float(score), listed)


def _last_object(text: str, cut: bool) -> dict[str, Any] | None:
    """The last JSON object with a "score" that is part of no other one; of a cut answer, only if it ends the answer.

    What follows a broken object is read on from where reading failed, so the time is linear in the length.
    """
    text, place, found, end, broken = text[-LONGEST:], 0, None, 0, 0
    while begun := _BEGUN.search(text, place):
        try:
            value, place = _DECODER.raw_decode(text, begun.start())
        except json.JSONDecodeError as error:
            found, broken, place = None, broken + 1, max(begun.end(), error.pos)
            if broken > MOST_BROKEN:
                return None
        except (ValueError, RecursionError):  # a number of thousands of digits, or a thousand objects in each other
            return None
        else:
            if isinstance(value, dict) and "score" in value:
                found, end = value, place
    rest = text[end:]
    return None if (cut and rest.strip(" \t\r\n`")) or _closes_more(rest) else found


def _closes_more(text: str) -> bool:
    """Whether a text closes an object that it did not open, so that the text before it is part of that object."""
    depth = 0
    for mark in re.findall("[{}]", text):
        depth += 1 if mark == "{" else -1
        if depth < 0:
            return True
    return False


def _error(value: Any) -> tuple[str, str]:
    """An error as (text, severity); an unknown severity counts as minor, and an entry without an error has no text."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return "", "minor"
    severity = value.get("severity")
    return value["text"], severity if severity in SEVERITIES else "minor"


def without_outliers(scores: Sequence[float]) -> list[int]:
    """The indices of the scores that are within two standard deviations of the mean. Only six or more can have outliers.

    >>> without_outliers([90, 90, 90, 90, 90, 0])
    [0, 1, 2, 3, 4]
    """
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [k for k, score in enumerate(scores) if abs(score - mean) <= 2 * deviation + 1e-9]


class PlacedSpan(NamedTuple):
    """An estimate, and how many errors of the judgement that gave its spans have no place in the hypothesis."""

    estimate: Estimate
    unplaced: int


def together(judgements: Sequence[Judgement], hypothesis: str) -> PlacedSpan:
    """The mean of the judgements without outliers, and the spans of the judgement nearest to it.

    A span's confidence is the share of the judgements that mark any of its characters.
    """
    kept = [judgements[k] for k in without_outliers([each.score for each in judgements])]
    mean = math.fsum(each.score for each in kept) / len(kept)
    nearest = min(range(len(kept)), key=lambda k: abs(kept[k].score - mean))
    places = [places_of(each.errors, hypothesis) for each in kept]
    marked = [{i for start, end, _ in own for i in range(start, end)} for own in places]
    spans = [
        ErrorSpan(
            hypothesis[start:end],
            severity,
            sum(not characters.isdisjoint(range(start, end)) for characters in marked) / len(kept),
            start,
            end,
        )
        for start, end, severity in places[nearest]
    ]
    scores = [each.score for each in judgements]
    parts = {"lowest": min(scores) / 100, "highest": max(scores) / 100} if len(scores) > 1 else {}
    return PlacedSpan(Estimate(mean / 100, False, False, parts, spans), len(kept[nearest].errors) - len(spans))


def places_of(errors: Sequence[tuple[str, str]], hypothesis: str) -> list[tuple[int, int, str]]:
    """Positions of the errors' texts, as (start, end, severity) in order; a text's second error is its second occurrence.

    A text that the hypothesis does not hold as it is may differ from it in case.

    >>> places_of([("the", "minor"), ("the", "major"), ("dog", "minor"), ("", "major")], "The cat and the mat")
    [(0, 3, 'major'), (12, 15, 'minor')]
    """
    found, taken = [], set()
    lowered = hypothesis.lower() if len(hypothesis.lower()) == len(hypothesis) else hypothesis
    for text, severity in errors:
        wanted = text.strip()
        for inside, part in ((hypothesis, wanted), (lowered, wanted.lower())):
            start = inside.find(part) if part else -1
            while start >= 0 and (start, start + len(part)) in taken:
                start = inside.find(part, start + 1)
            if start >= 0:
                taken.add((start, start + len(part)))
                found.append((start, start + len(part), severity))
                break
    return sorted(found)
