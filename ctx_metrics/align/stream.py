"""A hypothesis as one stream of text: where a segment may begin, and the evidence for it."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..sentences import CLOSING, EMOJI, INVISIBLE, OPENING, ends_sentence, list_items, sentence_ends

_CONTINUING = CLOSING + ".,!?:;…。，、！？：；．｡؟۔।॥։።៕။‼⁇⁈⁉"
_STRAIGHT = "\"'"  # marks that open and close
_LONE_MARKS = re.compile(rf"\s([{re.escape(CLOSING)}]+(?:\s[{re.escape(CLOSING)}]+)*)\s*\Z")
_BULLET = re.compile(r"(?:[-*•–—]|#{1,6}|(\d{1,2})[.)])\s+(?=\S)")  # at the beginning of a line
_FACE = re.compile("[:;：；]-?[(（]")  # its bracket opens nothing
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_EMOJIS = re.compile(EMOJI)

# Words or signs five times in a row; one sign, as in a line of dashes, does not count. The text checks give notice of words
# alone, and of shorter ones.
_REPEATED = re.compile(r"((\S)(?!\2).{1,400}?)(?:\s*\1){4,}", re.DOTALL)
LEAST_REPEATED = 20  # characters in all


def repetitions(text: str) -> list[tuple[int, int]]:
    """The (begin, end) of each part of a text that says something five times in a row, in LEAST_REPEATED characters or more.

    >>> repetitions("Then a boat came. " + "Hello, boat! " * 5 + "-" * 40), repetitions("no no no no no")
    ([(18, 82)], [])
    """
    return [each.span() for each in _REPEATED.finditer(text) if len(each[0]) >= LEAST_REPEATED]


# scripts that put no blanks between words: Thai to Myanmar, Khmer, Japanese and Chinese with their punctuation
_UNSPACED = [(0x0E00, 0x109F), (0x1780, 0x17FF), (0x2E80, 0xA4CF), (0xF900, 0xFAFF), (0xFE30, 0xFE4F), (0xFF00, 0xFFEF)]
_UNSPACED += [(0x20000, 0x3FFFF)]
_FENCE = re.compile(r"`{3,}\s*[^\s`]*")  # of Markdown, with at most one word, such as the text's language
PIECE = 400  # most characters that are encoded together


class Stream(NamedTuple):
    """Lines joined to one text, with a blank between them unless the script has none.

    begins        where each line begins in the text
    paragraphs    those of them after an empty line, next to a fence of Markdown (```), or after a first line that announces
                  the text with a colon
    fences        the fences that are left out of the text, by the number of their line
    """

    text: str
    begins: list[int]
    paragraphs: list[int]
    fences: dict[int, str]


def joined(hypothesis: str, *, fences: bool = True) -> Stream:
    """The stream of a hypothesis; empty lines add nothing to it, and fences of Markdown only if `fences` says so.

    >>> joined("One. Two\\nthree.\\n\\n你\\n好")
    Stream(text='One. Two three.你好', begins=[0, 9, 15, 16], paragraphs=[15], fences={})
    >>> joined("```text\\nOne.\\n```", fences=False)
    Stream(text='One.', begins=[0, 0, 4], paragraphs=[], fences={0: '```text', 2: '```'})
    """
    begins: list[int] = []
    paragraphs: list[int] = []
    parts: list[str] = []
    left_out: dict[int, str] = {}
    length, last, apart = 0, "", False
    for line in map(str.strip, re.split(r"[\n\v\f]", hypothesis)):
        fence = line.startswith("```")
        if not fences and _FENCE.fullmatch(line):
            left_out[len(begins)] = line
            begins.append(length)
        elif line:
            blank = " " * (bool(last) and not _is_unspaced(last) and not _is_unspaced(line[0]))
            if parts and (apart or fence):
                paragraphs.append(length + len(blank))
            begins.append(length + len(blank))
            parts.append(blank + line)
            length, last = length + len(parts[-1]), line[-1]
        apart = fence or not line or (len(parts) == 1 and last in ":：")
    return Stream("".join(parts), begins, paragraphs, left_out)


def _is_unspaced(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _UNSPACED)


class Places(NamedTuple):
    """Facts about each position in a text, before its first character to after its last one, bool [characters + 1].

    open    a segment may begin here: between words, between characters of a script without blanks, or after emoji
    end     a sentence or a paragraph ends before it
    line    a line begins here
    """

    open: np.ndarray
    end: np.ndarray
    line: np.ndarray


def places(stream: Stream) -> Places:
    text = stream.text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    blank = np.fromiter(map(str.isspace, text), bool, len(text))
    unspaced, emoji = _within(codes, _UNSPACED), np.zeros(len(text), bool)
    for match in _EMOJIS.finditer(text):
        emoji[match.start() : match.end()] = True
    continues, opens = (np.isin(codes, [ord(mark) for mark in marks]) for marks in (_CONTINUING, OPENING))
    opens[[match.end() - 1 for match in _FACE.finditer(text)]] = False
    unspaced[1:] |= unspaced[:-1] & continues[1:]  # quotation marks that other scripts have too
    inner = blank[:-1] | ((unspaced[:-1] | unspaced[1:]) & ~continues[1:] & ~opens[:-1])
    inner |= emoji[:-1] & ~emoji[1:] & ~continues[1:]
    is_open, end, line = (np.zeros(len(text) + 1, bool) for _ in range(3))
    is_open[1:-1] = inner & ~blank[1:]
    end[sentence_ends(text) + stream.paragraphs] = True
    line[stream.begins] = True
    for mark, after in _lone_marks(stream):
        is_open[mark] = False
        end[after] |= end[mark]
        end[mark] = False
    return Places(is_open, end, line)


def _lone_marks(stream: Stream) -> Iterator[tuple[int, int]]:
    """Yield the start of each closing mark that is alone at the end of a line, and the start of the next line.

    >>> list(_lone_marks(joined('He said "yes. "\\nBut: "\\nShe came. ”\\nNo.')))
    [(14, 16), (33, 35)]
    """
    for begin, after in pairwise([*stream.begins, len(stream.text)]):
        found = _LONE_MARKS.search(stream.text, begin, after)
        if found is None:
            continue
        before = stream.text[begin : found.start()]
        opened = before.count(found[1][0]) % 2 == 1
        if found[1][0] not in _STRAIGHT or opened or ends_sentence(before):
            yield found.start(1), after


def behind_bullets(stream: Stream) -> list[int]:
    """The start of the words of each line that has a bullet, a number or heading signs before them. No segment begins
    there, since these belong to the words.

    >>> behind_bullets(joined("- Tickets\\n1. Eggs\\n## Prices\\non 4.\\n4. 2022\\n---"))
    [2, 13, 21]
    """
    found = (_BULLET.match(stream.text, *line) for line in pairwise([*stream.begins, len(stream.text)]))
    items = list_items(stream.text) | {0}  # a number that does not count up may be part of a date
    return [match.end() for match in found if match and (match[1] is None or match.start() in items)]


def with_invisible(text: str, at: np.ndarray) -> np.ndarray:
    """The beginnings of tokens, int64 [tokens], with the invisible characters before them, of which encoders make no token.

    at    where they begin without these

    >>> with_invisible("a \u200fb", np.array([0, 3]))
    array([0, 2])
    """
    first = np.arange(len(text) + 1)
    for match in _INVISIBLE.finditer(text):
        first[match.start() : match.end() + 1] = match.start()
    return first[at]


def _within(codes: np.ndarray, ranges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Whether each character is in one of the ranges, bool."""
    found = np.zeros(len(codes), bool)
    for first, last in ranges:
        found |= (codes >= first) & (codes <= last)
    return found


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """The (begin, end) of the parts of a text that are encoded alone: sentences, and parts of those above PIECE characters.

    >>> text = "It rained. 3.5 mm fell."
    >>> [text[begin:end] for begin, end in pieces(text)]
    ['It rained. ', '3.5 mm fell.']
    """
    begin = 0
    for end in dict.fromkeys([*sentence_ends(text), len(text)]):
        while end - begin > PIECE:
            cut = text.rfind(" ", begin + 1, begin + PIECE) + 1 or begin + PIECE
            yield begin, cut
            begin = cut
        if begin < end:
            yield begin, end
        begin = end
