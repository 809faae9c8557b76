"""What tells where segments begin, besides their words: ends of sentences, line breaks, and capital letters."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .path import NOWHERE
from .stream import OPENING, Places, ends_sentence

MARK = 1.8  # price of a mark, for each unit of its log odds
KNOWN = 10  # boundaries that count as seen before, with these shares of marks:
END, UNFINISHED_END = 0.95, 0.2  # an end, after a segment that ends with a sentence or not
LINE = 0.5
# a capital letter, before a segment that begins with one, with a small letter or a sign, or in a script without capitals
CAPITAL, SMALL, CASELESS = 0.95, 0.3, 0.8
LEAST = 0.01  # share of boundaries with or without a mark
_BEFORE = OPENING + "\"' "  # what a capital letter may stand behind


class Mark(NamedTuple):
    """What may tell where segments begin.

    there     whether each token has it, bool [tokens]
    kinds     the kind of each segment's boundary, and of the one after the last segment, [segments + 1]
    usual     for each kind, the share of boundaries that should have it, from 0 to 1
    """

    there: np.ndarray
    kinds: Sequence[int]
    usual: Sequence[float]


def marks_of(text: str, facts: Places, at: np.ndarray, segments: Sequence[str]) -> list[Mark]:
    """The marks of a text: an end of a sentence, a line break, and a capital letter.

    at    where its tokens begin
    """
    finished = [ends_sentence(segment) for segment in segments]
    capital = np.array([text[begin : begin + 3].lstrip(_BEFORE)[:1].isupper() for begin in at.tolist()], bool)
    return [
        Mark(facts.end[at], [True, *finished], (UNFINISHED_END, END)),
        Mark(facts.line[at], [0] * (len(segments) + 1), (LINE,)),
        Mark(capital, [*map(_case, segments), 0], (SMALL, CAPITAL, CASELESS)),
    ]


def _case(segment: str) -> int:
    """The index in (SMALL, CAPITAL, CASELESS)."""
    first = segment.lstrip(_BEFORE)[:1]
    return 1 if first.isupper() else 2 if first.isalpha() and not first.islower() else 0


def gains_of(marks: Sequence[Mark], is_open: np.ndarray, begun: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """What a span gains that begins at each token or at the end, before each segment and after the last one: segments + 1
    arrays, float64 [tokens + 1], which boundaries of one kind share.

    That is the logarithm of how much more often boundaries have each mark, or lack it, than tokens do in general; less what
    it is on the average, so that a text with many marks has no cheaper boundaries.

    is_open    whether a span may begin at each token, bool [tokens]
    begun      segments, and where their spans begin, as far as known
    """
    of_marks = []
    for mark in marks:
        there = int(mark.there[is_open].sum())
        general = (there + 0.5) / (is_open.sum() + 1)
        gains = []
        for kind, usual in enumerate(mark.usual):
            own = [mark.there[place] for number, place in begun if place and mark.kinds[number] == kind]
            expected = min(usual, there / len(mark.kinds))  # a text without punctuation has ends at no boundary
            share = (sum(own) + KNOWN * expected) / (len(own) + KNOWN)
            share = min(max(share, LEAST), 1 - LEAST)
            with_it, without = np.log(share / general), np.log((1 - share) / (1 - general))
            gains.append(MARK * (np.where(mark.there, with_it, without) - share * with_it - (1 - share) * without))
        of_marks.append(gains)
    of_all = list(zip(*(mark.kinds for mark in marks), strict=True))
    by_kinds = {}  # few, so that those of a long document take little memory
    for kinds in set(of_all):
        total = np.sum([gains[kind] for gains, kind in zip(of_marks, kinds, strict=True)], axis=0)
        by_kinds[kinds] = np.append(np.where(is_open, total, NOWHERE), 0)
        by_kinds[kinds][0] = 0
    return [by_kinds[kinds] for kinds in of_all]
