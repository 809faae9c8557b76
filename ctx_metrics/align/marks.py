"""What tells where segments begin, besides their words: ends of sentences, line breaks, and capital letters."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .path import NOWHERE
from .stream import OPENING, Places, ends_sentence

MARK, KNOWN = 1.8, 10
END, UNFINISHED_END, LINE, CAPITAL, SMALL, CASELESS = 0.95, 0.2, 0.5, 0.95, 0.3, 0.8


class Mark(NamedTuple):
    """What may tell where segments begin.

    there     whether each token has it
    kinds     the kind of each segment's boundary, and of the one after the last segment
    usual     for each kind, how often boundaries have it
    """

    there: np.ndarray
    kinds: Sequence[int]
    usual: Sequence[float]


def marks_of(text: str, facts: Places, at: np.ndarray, segments: Sequence[str]) -> list[Mark]:
    finished = [ends_sentence(segment) for segment in segments]
    capital = np.array([_capital(text[begin : begin + 3]) for begin in at.tolist()], bool)
    return [
        Mark(facts.end[at], [True, *finished], (UNFINISHED_END, END)),
        Mark(facts.line[at], [0] * (len(segments) + 1), (LINE,)),
        Mark(capital, [*map(_case, segments), 0], (SMALL, CAPITAL, CASELESS)),
    ]


def _capital(text: str) -> bool:
    return bool(text.lstrip(OPENING)[:1].isupper())


def _case(segment: str) -> int:
    first = segment.lstrip(OPENING + " ")[:1]
    return 1 if first.isupper() else 2 if first.isalpha() and not first.islower() else 0


def gains_of(marks: Sequence[Mark], is_open: np.ndarray, begun: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """What a span gains that begins at each token or at the end, before each segment and after the last one.

    A mark gains the logarithm of how much more often boundaries have it than other places, less what is to be expected.

    begun    segments, and where their spans begin
    """
    of_marks = []
    for mark in marks:
        others = (mark.there[is_open].sum() + 0.5) / (is_open.sum() + 1)
        most = mark.there[is_open].sum() / len(mark.kinds)
        gains = []
        for kind, usual in enumerate(mark.usual):
            own = [mark.there[place] for number, place in begun if place and mark.kinds[number] == kind]
            share = (sum(own) + KNOWN * min(usual, most)) / (len(own) + KNOWN)
            share = min(max(share, 0.01), 0.99)
            yes, no = np.log(share / others), np.log((1 - share) / (1 - others))
            gains.append(MARK * (np.where(mark.there, yes, no) - share * yes - (1 - share) * no))
        of_marks.append(gains)
    by_kinds: dict[tuple[int, ...], np.ndarray] = {}  # few, so that a long document's take little memory
    for kinds in zip(*(mark.kinds for mark in marks), strict=True):
        if kinds not in by_kinds:
            total = np.sum([gains[kind] for gains, kind in zip(of_marks, kinds, strict=True)], axis=0)
            by_kinds[kinds] = np.append(np.where(is_open, total, NOWHERE), 0)
            by_kinds[kinds][0] = 0
    return [by_kinds[kinds] for kinds in zip(*(mark.kinds for mark in marks), strict=True)]
