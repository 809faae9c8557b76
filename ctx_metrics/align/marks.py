"""Signs of where segments begin, besides their words: ends of sentences, line breaks, capital letters, signs, and a
network."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..sentences import INVISIBLE, OPENING, begins_item, ends_sentence
from .path import NOWHERE
from .stream import Places

MARK = 1.8  # price of a mark, for each unit of its log odds
KNOWN = 10  # boundaries that count as seen before, with these shares of marks:
END, UNFINISHED_END = 0.95, 0.2  # an end, after a segment that ends with a sentence or not
LINE = 0.5
# a capital letter, before a segment that begins with one, with a small letter or a sign, or in a script without capitals
CAPITAL, SMALL, CASELESS = 0.95, 0.3, 0.8
SIGN, NO_SIGN = 0.8, 0.03  # a sign, before a segment that begins with one or not, or after one that ends so or not
LEAST = 0.01  # share of boundaries with or without a mark
_BEFORE = OPENING + INVISIBLE + "\"' "  # characters that may precede a capital letter
_OPENING_QUOTES = re.compile(r"[“„«「『《〈]|\"(?=\S)")
_BULLETS = re.compile("[@#$*•–—-]")  # of posts and lists
# quotation marks that close, and dots, with blanks after them
_CLOSING_QUOTES, _DOTS = re.compile(r"(?:[”»」』》〉]|(?<=\S)\")\s*"), re.compile(r"(?:…+|\.{3,}|・{3,})\s*")


class Mark(NamedTuple):
    """Possible signs of where segments begin.

    there     whether each token has it, bool [tokens]
    kinds     the kind of each segment's boundary, and of the one after the last segment, [segments + 1]
    usual     for each kind, the share of boundaries that should have it, from 0 to 1
    """

    there: np.ndarray
    kinds: Sequence[int]
    usual: Sequence[float]


def marks_of(text: str, facts: Places, at: np.ndarray, segments: Sequence[str]) -> list[Mark]:
    """The marks of a text: an end of a sentence, a line break, a capital letter, and signs.

    at    where its tokens begin
    """
    finished = [ends_sentence(segment) or begins_item(after) for segment, after in pairwise([*segments, ""])]
    capital = np.array([text[begin : begin + 3].lstrip(_BEFORE)[:1].isupper() for begin in at.tolist()], bool)
    return [
        Mark(facts.end[at], [True, *finished], (UNFINISHED_END, END)),
        Mark(facts.line[at], [0] * (len(segments) + 1), (LINE,)),
        Mark(capital, [*map(_case, segments), 0], (SMALL, CAPITAL, CASELESS)),
        *(_of_signs(signs, text, at, segments) for signs in (_OPENING_QUOTES, _BULLETS)),
        *(_of_last_signs(signs, text, at, segments) for signs in (_CLOSING_QUOTES, _DOTS)),
    ]


def _of_signs(signs: re.Pattern[str], text: str, at: np.ndarray, segments: Sequence[str]) -> Mark:
    """The mark of signs that both tokens and segments may begin with."""
    there = _are_at(at, {match.start() for match in signs.finditer(text)}, text)
    return Mark(there, [*(signs.match(segment.lstrip()) is not None for segment in segments), 0], (NO_SIGN, SIGN))


def _of_last_signs(signs: re.Pattern[str], text: str, at: np.ndarray, segments: Sequence[str]) -> Mark:
    """The mark of signs that tokens may stand behind, and that segments may end with."""
    there = _are_at(at, _ends(signs, text), text)
    return Mark(there, [0, *(len(segment) in _ends(signs, segment) for segment in segments)], (NO_SIGN, SIGN))


def _are_at(at: np.ndarray, places: set[int], text: str) -> np.ndarray:
    """Whether each of some places in a text is one of `places`, bool."""
    there = np.zeros(len(text) + 1, bool)
    there[[*places]] = True
    return there[at]


def _ends(signs: re.Pattern[str], text: str) -> set[int]:
    """The ends of the signs of a text, and of the blanks after them."""
    return {match.end() for match in signs.finditer(text)}


def _case(segment: str) -> int:
    """The index in (SMALL, CAPITAL, CASELESS)."""
    first = segment.lstrip(_BEFORE)[:1]
    return 1 if first.isupper() else 2 if first.isalpha() and not first.islower() else 0


def gains_of(
    marks: Sequence[Mark], chances: np.ndarray, is_open: np.ndarray, begun: Sequence[tuple[int, int]]
) -> list[np.ndarray]:
    """The gain of a span that begins at each token or at the end, before each segment and after the last one: segments + 1
    arrays, float64 [tokens + 1], which boundaries of one kind share.

    That is the logarithm of how much more often boundaries have each mark, or lack it, than tokens do in general; less what
    its average, so that a text with many marks has no cheaper boundaries. The chance that a sentence begins counts
    alike; for less, the more boundaries of the kind have an end of a sentence by its mark, and the more are inside
    sentences, as in subtitles.

    marks      ends of sentences first
    chances    that a sentence begins with each token, [tokens]
    is_open    whether a span may begin at each token, bool [tokens]
    begun      segments, and where their spans begin, as far as known
    """
    shares = [[_share(mark, kind, is_open, begun) for kind in range(len(mark.usual))] for mark in marks]
    of_marks = []
    for mark, of_kinds in zip(marks, shares, strict=True):
        general = (np.count_nonzero(mark.there & is_open) + 0.5) / (np.count_nonzero(is_open) + 1)
        gains = []
        for share in of_kinds:
            with_it, without = np.log(share / general), np.log((1 - share) / (1 - general))
            gains.append(MARK * (np.where(mark.there, with_it, without) - share * with_it - (1 - share) * without))
        of_marks.append(gains)
    odds = _log_odds(chances, is_open)
    for kind, gains in enumerate(of_marks[0]):
        known = [place for number, place in begun if place and marks[0].kinds[number] == kind]
        # in the first pass, only after segments that end with a sentence
        trust = _trust(odds, is_open, known) if begun else kind
        gains += MARK * (1 - shares[0][kind]) * trust * odds
    of_all = list(zip(*(mark.kinds for mark in marks), strict=True))
    by_kinds = {}  # few, so that those of a long document take little memory
    for kinds in set(of_all):
        total = sum(gains[kind] for gains, kind in zip(of_marks, kinds, strict=True))
        by_kinds[kinds] = np.append(np.where(is_open, total, NOWHERE), 0)
        by_kinds[kinds][0] = 0
    return [by_kinds[kinds] for kinds in of_all]


def unmarked_share(marks: Sequence[Mark], is_open: np.ndarray, begun: Sequence[tuple[int, int]]) -> float:
    """The share of boundaries without an end of a sentence, after segments that end with one; from LEAST to 1 - LEAST."""
    return 1 - _share(marks[0], len(marks[0].usual) - 1, is_open, begun)


def _share(mark: Mark, kind: int, is_open: np.ndarray, begun: Sequence[tuple[int, int]]) -> float:
    """The share of the boundaries of a kind that have the mark."""
    own = [mark.there[place] for number, place in begun if place and mark.kinds[number] == kind]
    # a text without punctuation has ends at no boundary
    expected = min(mark.usual[kind], np.count_nonzero(mark.there & is_open) / len(mark.kinds))
    return min(max((sum(own) + KNOWN * expected) / (len(own) + KNOWN), LEAST), 1 - LEAST)


def _log_odds(chances: np.ndarray, is_open: np.ndarray) -> np.ndarray:
    """How much more likely a sentence begins with each token than with any; 0 on the average of where sentences begin."""
    here = chances[is_open]
    if not len(here):
        return np.zeros(len(chances))
    odds = np.log(np.maximum(chances / here.mean(), LEAST))
    return odds - np.average(odds[is_open], weights=here)


def _trust(odds: np.ndarray, is_open: np.ndarray, known: Sequence[int]) -> float:
    """How far boundaries are where sentences probably begin: from 0, as any token, to 1.

    odds     of _log_odds;  known    tokens that boundaries are known to be at
    """
    anywhere = odds[is_open].mean() if is_open.any() else 0.0
    if anywhere >= 0:  # they are the same everywhere
        return 0.0
    return float(np.clip(1 - odds[known].sum() / (len(known) + KNOWN) / anywhere, 0, 1))
