"""Finds the ends of a text's sentences, in any language."""

import re

CLOSING = "\"'”’»›)]}」』）】》〉］｝"
OPENING = "“‘«‹([{「『（【《〈［｛"
_NUMBER = r"(?<![A-Za-z\d.,/-])(\d{1,2})"
_ORDINAL = re.compile(_NUMBER + "$")  # before a full stop
_ITEM = re.compile(_NUMBER + r"[.)．）](?!\d)")  # the beginning of an item of a list
_PAUSE = re.compile(r"(?:\.{2,}|…+)\s*")
_STOPS, _FULL_STOPS = "!?…", "。！？‼⁇⁈⁉．｡؟۔।॥։።៕។"
# soft hyphens, and marks of direction, width and byte order; not the joiners of Persian and Indic words
INVISIBLE = "\u00ad\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
_BLANKS = rf"(?:[{INVISIBLE}]*\s)*(?:[{INVISIBLE}]+$)?"
_ANY_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff\ufe0f"  # with their modifiers; a joiner only behind one
EMOJI = rf"[{_ANY_EMOJI}][{_ANY_EMOJI}\u200d]*"
# Where a sentence ends. A full stop ends none before a small letter (no. two), nor inside a word (3.5, example.org).
_END = re.compile(
    rf"(?:(?<![{_STOPS}.])[{_STOPS}.]+[{re.escape(CLOSING)}]*(?=[{INVISIBLE}]*(?:\s|$))"
    rf"|(?:(?<![{_STOPS}])[{_STOPS}]+)?[{_FULL_STOPS}…]+[{re.escape(CLOSING)}]*)(?:{EMOJI})?{_BLANKS}"
    rf"|{EMOJI}[{INVISIBLE}]*\s{_BLANKS}|[」』]{_BLANKS}(?=[「『]|$)"
)


def sentence_ends(text: str) -> list[int]:
    """The ends of a text's sentences and list items, and of the blanks after them.

    >>> sentence_ends("Am 3. und 4. Mai fielen 3.5 mm! Dann nicht.")
    [32, 43]
    """
    ends = {match.end() for match in _END.finditer(text) if not _goes_on(text, match)}
    return sorted(ends | list_items(text))


def list_items(text: str) -> set[int]:
    """The beginnings of the items of a numbered list: numbers that count up from 1.

    >>> sorted(list_items("On 4. May: 1. Open it. 2) Read"))
    [11, 23]
    """
    found, number = set(), 0
    for match in _ITEM.finditer(text):
        if int(match[1]) in (1, number + 1):
            number = int(match[1])
            found.add(match.start())
    return found - {0}


def _goes_on(text: str, stop: re.Match[str]) -> bool:
    """Whether a sentence goes on after a stop: after a pause (Well... yes), a number (1. Open it. 4. Mai), or before a small
    letter."""
    begin, after = stop.start(), text[stop.end() : stop.end() + 1]
    if _PAUSE.fullmatch(stop[0]):
        return bool(after) and not after.isupper() and after not in OPENING
    number = after and _ORDINAL.search(text, max(0, begin - 3), begin)
    return stop[0].rstrip() == "." and (after.islower() or bool(number))


def ends_sentence(text: str) -> bool:
    return bool(text) and sentence_ends(text)[-1:] == [len(text)]


def begins_item(text: str) -> bool:
    """Whether a segment begins with the number of an item."""
    return _ITEM.match(text) is not None
