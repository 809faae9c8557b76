"""Errors put into a translation, kind by kind.

Each function returns the text with the error, or None where the kind does not apply, such as a changed number in a text
without numbers. The result is never the text itself, and never empty.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from .parts import body_and_final, characters, clauses, is_empty, is_unspaced, mended, sentences, words

LAST_YEAR = 2030
MOST_DROPPED = 0.75  # share of a text that is dropped at most
ONLY_CUT = 0.3  # share of halves that keep neither a capital nor a full stop from the whole text
EACH_NUMBER = 0.3  # share of texts in which each number is changed
CANDIDATES = 4  # texts from which the one of the nearest length is taken, so that length alone does not betray it
_NUMBER = re.compile(r"(?<![\dA-Za-zÀ-ӿ])\d+(?:[.,:٫٬'’]\d+)*(?!\d)(?!(?:st|nd|rd|th)\b)")
_NUMERALS = "二三四五六七八九"
_NUMERAL = re.compile(f"[{_NUMERALS}](?=[年月日人个個名万萬亿億千百十岁歳])")
_CAPITALISED = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]{2,})*")
_STARTS = re.compile(r"""(?:^|[.!?…:"“„«»”(¿¡—–•-])\s*$""")
_PRONOUNS = frozenset("Sie Ihnen Ihr Ihre Ihren Ihrer Ihrem Ihres Ich Vous".split())
_MARKS = (".", "...", "?", "!", "-", "…", "。")


def drop_clause(text: str, draw: np.random.Generator) -> str | None:
    """Drop a clause, of at most three quarters of the text."""
    found = clauses(text)
    least = 2 if is_unspaced(text) else 1
    droppable = [
        k for k, part in enumerate(found) if len(words(part)) > least and len(part) <= MOST_DROPPED * len(text)
    ]
    return _dropped(text, found, droppable, draw)


def drop_sentence(text: str, draw: np.random.Generator) -> str | None:
    found = sentences(text)
    return _dropped(text, found, list(range(len(found))), draw) if len(found) > 1 else None


def _dropped(text: str, found: Sequence[str], droppable: Sequence[int], draw: np.random.Generator) -> str | None:
    if len(found) < 2 or not droppable:
        return None
    gone = droppable[int(draw.integers(len(droppable)))]
    return _changed(text, mended("".join([*found[:gone], *found[gone + 1 :]]), text))


def drop_half(text: str, draw: np.random.Generator) -> str | None:
    """Drop three to seven tenths of the words: the first, the last, or those between; of some texts the rest is only cut."""
    found = words(text)
    if len(found) < 3:
        return None
    number = max(1, round(len(found) * draw.uniform(0.3, 0.7)))
    begin = [0, len(found) - number, int(draw.integers(len(found) - number + 1))][int(draw.integers(3))]
    rest = "".join([*found[:begin], *found[begin + number :]]).strip()
    return _changed(text, rest if draw.random() < ONLY_CUT else mended(rest, text))


def drop_words(text: str, draw: np.random.Generator) -> str | None:
    """Drop one to four consecutive words (two to six characters) with at least four letters (two characters)."""
    found, unspaced = words(text), is_unspaced(text)
    fewest, most = (2, 6) if unspaced else (1, 4)
    if len(found) < 3 * fewest:
        return None
    number = int(draw.integers(fewest, min(most, len(found) // 3) + 1))
    spans = [
        begin
        for begin in range(len(found) - number + 1)
        if sum(map(str.isalnum, "".join(found[begin : begin + number]))) >= (2 if unspaced else 4)
    ]
    if not spans:
        return None
    begin = spans[int(draw.integers(len(spans)))]
    return _changed(text, mended("".join([*found[:begin], *found[begin + number :]]), text))


def repeat(text: str, draw: np.random.Generator) -> str | None:
    """Repeat the whole text, a clause or a few words; the last two possibly several times."""
    text = text.strip()
    space = "" if is_unspaced(text) else " "
    how = draw.random()
    if how < 0.25:
        return space.join([text] * (2 if draw.random() < 0.8 else 3))
    body, final = body_and_final(text)
    found = clauses(body) if how < 0.5 else words(body)
    longest = 1 if how < 0.5 else min(len(found), 12 if not space else 6)
    number = int(draw.integers(1, longest + 1))
    begins = [begin for begin in range(len(found) - number + 1) if not is_empty("".join(found[begin : begin + number]))]
    begin = begins[int(draw.integers(len(begins)))]
    span = "".join(found[begin : begin + number])
    times = 1 if draw.random() < 0.6 else int(draw.integers(2, 5))
    spans = span if span[-1].isspace() else span + space
    head, tail = "".join(found[:begin]), "".join(found[begin + number :])
    return (head + spans * times + span + tail).rstrip() + final


def keep_source_words(text: str, source: str, draw: np.random.Generator) -> str | None:
    """Put a span of the source at the relative place of a span of 15 to 60 % of the text."""
    body, final = body_and_final(text)
    own, others = words(body), words(body_and_final(source)[0])
    if len(own) < 2 or not others:
        return None
    number = min(len(own) - 1, max(1, round(len(own) * draw.uniform(0.15, 0.6))))
    begin = int(draw.integers(len(own) - number + 1))
    first = int(begin / len(own) * len(others))
    last = max(first + 1, round((begin + number) / len(own) * len(others)))
    span = "".join(others[first:last]).strip()
    if is_empty(span) or span.casefold() in body.casefold():
        return None
    space = "" if is_unspaced(text) and is_unspaced(source) else " "
    around = "".join(own[:begin]).strip(), span, "".join(own[begin + number :]).strip()
    return _changed(text, space.join(part for part in around if part) + final)


def shuffle_words(text: str, draw: np.random.Generator) -> str | None:
    """Put a third or more of the words (characters, in scripts without spaces) into another order."""
    body, final = body_and_final(text)
    own, unspaced = words(body), is_unspaced(text)
    if len(own) < (6 if unspaced else 4):
        return None
    number = max(3, round(len(own) * draw.uniform(0.33, 1)))
    begin = int(draw.integers(len(own) - number + 1))
    order = draw.permutation(number)
    bare = own if unspaced else [word.strip() for word in own]
    span = [bare[begin + k] for k in order]
    return _changed(text, ("" if unspaced else " ").join([*bare[:begin], *span, *bare[begin + number :]]) + final)


def shuffle_characters(text: str, draw: np.random.Generator) -> str | None:
    """Put the letters of some longer words into another order, except the first; not in scripts without spaces."""
    if is_unspaced(text):
        return None
    own = words(text)
    long = [k for k, word in enumerate(own) if len(characters(word.strip())) > 3 and _is_word(word.strip())]
    if not long:
        return None
    number = max(1, round(len(long) * draw.uniform(0.2, 1)))
    for k in draw.permutation(long)[:number].tolist():
        first, *inner = characters(own[k].strip())
        shuffled = [inner[i] for i in draw.permutation(len(inner))]
        own[k] = first + "".join(shuffled) + own[k][len(own[k].rstrip()) :]
    return _changed(text, "".join(own))


def _is_word(text: str) -> bool:
    return all(character.isalpha() or unicodedata.category(character)[0] == "M" for character in text)


def change_number(text: str, draw: np.random.Generator) -> str | None:
    """Change a number, or each one, to another of about its size, in the same digits; or Chinese numerals before a unit."""
    found = [match for match in _NUMBER.finditer(text) if match[0].strip("0.,") or match[0] == "0"]
    found += _NUMERAL.finditer(text)
    if not found:
        return None
    changed = found if draw.random() < EACH_NUMBER else [found[int(draw.integers(len(found)))]]
    for match in sorted(changed, key=lambda match: -match.start()):
        text = text[: match.start()] + _changed_number(match[0], draw) + text[match.end() :]
    return text


def _changed_number(number: str, draw: np.random.Generator) -> str:
    if number in _NUMERALS:
        others = _NUMERALS.replace(number, "")
        return others[int(draw.integers(len(others)))]
    groups = list(re.finditer(r"\d+", number))
    told = [group for group in groups if int(group[0])] or groups
    group = told[int(draw.integers(len(told)))]
    return number[: group.start()] + _other_number(group[0], draw) + number[group.end() :]


def _other_number(digits: str, draw: np.random.Generator) -> str:
    """Return another number of as many digits: a day stays one, a year is near it, and a round number stays round."""
    zero = chr(ord(digits[0]) - int(digits[0]))
    value, length = int(digits), len(digits)
    if length == 1:
        others = list(range(2, 10))
    elif length == 2 and value <= 31:
        others = list(range(1, 10) if value < 10 else range(10, 32))
    elif length == 4 and 1800 <= value <= LAST_YEAR:
        step = 10 if value % 10 == 0 else 1
        others = list(range(value - 20, min(value + 20, LAST_YEAR) + 1, step))
    else:
        return _with_other_digits(f"{value:0{length}d}", zero, draw)
    others = [other for other in others if other != value]
    return _localised(f"{others[int(draw.integers(len(others)))]:0{length}d}", zero)


def _with_other_digits(digits: str, zero: str, draw: np.random.Generator) -> str:
    """Change one of the first digits, or all digits before the last zeros; the first never to 0."""
    told = len(digits.rstrip("0")) or 1
    places = range(told) if draw.random() < 0.5 else [int(draw.integers(min(3, told)))]
    new = list(digits)
    for place in places:
        others = [digit for digit in ("123456789" if place == 0 else "0123456789") if digit != digits[place]]
        new[place] = others[int(draw.integers(len(others)))]
    return _localised("".join(new), zero)


def _localised(digits: str, zero: str) -> str:
    return "".join(chr(ord(zero) + int(digit)) for digit in digits)


def name_spans(text: str) -> list[tuple[int, int]]:
    """Return begin and end of names: runs of capitalised words that begin no sentence.

    A headline, and a text in capitals, has none.
    """
    found = list(_CAPITALISED.finditer(text))
    capitalised = [match for match in found if len(match[0]) > 1 and match[0][0].isupper()]
    if len(capitalised) > 0.6 * len(found):
        return []
    runs: list[tuple[int, int]] = []
    for match in capitalised:
        if _STARTS.search(text[: match.start()]) or match[0] in _PRONOUNS:
            continue
        if runs and text[runs[-1][1] : match.start()] == " ":
            runs[-1] = runs[-1][0], match.end()
        else:
            runs.append(match.span())
    return runs


def names(text: str) -> list[str]:
    """Return the names in a text.

    >>> names("Then at noon Angela Merkel met the New Yorker in Rome.")
    ['Angela Merkel', 'New Yorker', 'Rome']
    """
    return [text[begin:end] for begin, end in name_spans(text)]


def change_name(text: str, others: Sequence[str], draw: np.random.Generator) -> str | None:
    """Put another name in the place of a name; of some, one with the same ending, so that its case may fit.

    others    names of the same document or data set
    """
    found, lower = name_spans(text), text.casefold()
    if not found or not others:
        return None
    begin, end = found[int(draw.integers(len(found)))]
    drawn = [others[int(k)] for k in draw.integers(len(others), size=4 * CANDIDATES)]
    usable = [name for name in drawn if name.casefold() not in lower]
    if not usable:
        return None
    own = text[begin:end]
    name = max(usable, key=lambda name: (name.count(" ") == own.count(" "), name[-1] == own[-1], name[-2:] == own[-2:]))
    return text[:begin] + name + text[end:]


def punctuation_only(text: str, draw: np.random.Generator) -> str | None:
    """Leave only the punctuation of a text, or any other."""
    own = "".join(c for c in text if not c.isalnum() and not c.isspace() and c.isprintable())
    own = own if is_empty(own) and draw.random() < 0.5 else ""
    return _changed(text, own or _MARKS[int(draw.integers(len(_MARKS)))])


def another(text: str, others: Sequence[str], draw: np.random.Generator) -> str | None:
    """Return one of other texts: of some, the one of the nearest length."""
    if not others:
        return None
    drawn = [others[int(k)] for k in draw.integers(len(others), size=CANDIDATES)]
    usable = [other for other in drawn if not is_empty(other) and not is_same(text, other)]
    return min(usable, key=lambda other: abs(len(other) - len(text)), default=None)


def copy_source(text: str, source: str) -> str | None:
    return _changed(text, source)


def _changed(clean: str, text: str) -> str | None:
    """Return a text unless it is empty or says the same as the clean one."""
    return None if is_same(clean, text) or not text.strip() else text


def is_same(one: str, other: str) -> bool:
    """Return whether two texts have the same letters and digits, in any case, in the same words.

    >>> is_same("So it is.", "so it  is"), is_same("So it is.", "So is it."), is_same("...", "?")
    (True, False, False)
    """
    bare = [re.findall(r"\w+", each.casefold()) for each in (one, other)]
    return bare[0] == bare[1] if bare[0] or bare[1] else one.strip() == other.strip()
