"""Splits texts into words (characters, in scripts without spaces), clauses and sentences, which are the text when joined."""

import re
import unicodedata
from collections import Counter
from itertools import pairwise

from ....sentences import CLOSING, sentence_ends

# Thai, Lao, Tibetan, Burmese, Khmer; kana and Chinese characters
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)
_SPACED_CLAUSES = re.compile("[\u0e00-\u0fff\u1780-\u17ff]")  # there, a space ends a clause
_COUNTED = re.compile(rf"{_UNSPACED.pattern}|(?:(?!{_UNSPACED.pattern})\w)+")
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"\S+\s*")
_CLAUSE_END = re.compile(r"(?<=[,;:،؛–—])\s+|(?<=[，、；：])")
FINAL = re.compile(r"""[.!?…。！？।۔؟។։]+["'”’»“)\]」』]*\s*$""")
_LOOSE = re.compile(r"[\s,;:،؛–—，、；：-]+$")
_ABBREVIATED = frozenset(
    "Mr Mrs Ms Dr Prof St Jr Sr Gen Sen Rep Gov Lt Col Sgt No Nr Art Abs bzw vs ca Hr Fr Mme Sra г гг".split()
)
_COENG = "\u17d2"  # joins the next Khmer consonant


def is_unspaced(text: str) -> bool:
    """Return whether most letters are of scripts that put no spaces between words.

    >>> is_unspaced("他喜欢 C++。"), is_unspaced("It is 愛.")
    (True, False)
    """
    return 2 * len(_UNSPACED.findall(text)) > len(_LETTER.findall(text))


def characters(text: str) -> list[str]:
    """Split a text into characters, each with its combining marks.

    >>> characters("कि ब")
    ['कि', ' ', 'ब']
    """
    parts: list[str] = []
    for character in text:
        if parts and (unicodedata.category(character)[0] == "M" or parts[-1][-1] == _COENG):
            parts[-1] += character
        else:
            parts.append(character)
    return parts


def words(text: str) -> list[str]:
    """Split a text into words with the space after them, but into characters where the script has no spaces.

    >>> words("It is late."), words("他用C3说")
    (['It ', 'is ', 'late.'], ['他', '用', 'C3', '说'])
    """
    if not is_unspaced(text):
        return _WORD.findall(text.strip())
    parts: list[str] = []
    for character in characters(text.strip()):
        if parts and (character.isspace() or (character.isascii() and character.isalnum() and parts[-1].isascii())):
            parts[-1] += character
        else:
            parts.append(character)
    return parts


def sentences(text: str) -> list[str]:
    """Split a text into sentences. A dot after a day's number, an initial or a title ends none.

    >>> sentences("Mr. Li came on 3. May. He left."), sentences("好。走吧！！")
    (['Mr. Li came on 3. May. ', 'He left.'], ['好。', '走吧！！'])
    """
    inner = [end for end in sentence_ends(text) if end < len(text) and not text[end].islower()]
    ends = [end for end in inner if _ends_sentence(text[:end])]
    return [text[begin:end] for begin, end in pairwise([0, *ends, len(text)])]


def _ends_sentence(text: str) -> bool:
    """Return whether a text ends with a mark, and not with an abbreviation or a number and a dot."""
    word = text.split()[-1].rstrip(CLOSING)
    if not word.endswith(".") or word.endswith(".."):
        return not word[-1:].isalnum()  # before the number of an item
    bare = word[:-1].strip("\"'“”„«»()")
    return len(bare) > 1 and "." not in bare and bare not in _ABBREVIATED and not (bare.isdigit() and len(bare) == 2)


def clauses(text: str) -> list[str]:
    """Split a text at the ends of sentences and after commas, colons, semicolons and dashes.

    >>> clauses("When he came, it rained 1,5 hours: all day.")
    ['When he came, ', 'it rained 1,5 hours: ', 'all day.']
    """
    spaced = is_unspaced(text) and _SPACED_CLAUSES.search(text)
    end = re.compile(rf"{_CLAUSE_END.pattern}|\s+") if spaced else _CLAUSE_END
    parts = []
    for sentence in sentences(text):
        begin = 0
        for match in end.finditer(sentence):
            parts.append(sentence[begin : match.end()])
            begin = match.end()
        parts.append(sentence[begin:])
    return [part for part in parts if part]


def body_and_final(text: str) -> tuple[str, str]:
    """Split the last punctuation mark off a text, with the quotes and brackets after it.

    >>> body_and_final('He said "no."'), body_and_final("Wait")
    (('He said "no', '."'), ('Wait', ''))
    """
    final = FINAL.search(text)
    return (text[: final.start()], text[final.start() :]) if final else (text, "")


def mended(part: str, whole: str) -> str:
    """Return a part of a text with a capital, and a punctuation mark at the end, if the whole text has them.

    >>> mended("it rained, ", "When he came, it rained, and how.")
    'It rained.'
    """
    part, final = part.strip(), body_and_final(whole)[1].strip()
    if final and not FINAL.search(part):
        closing = final.lstrip(".!?…。！？।۔؟។։")
        part = _LOOSE.sub("", part.removesuffix(closing)) + final
    return part[:1].upper() + part[1:] if whole.strip()[:1].isupper() else part


def is_empty(text: str) -> bool:
    """Return whether a text has no letter and no digit."""
    return not any(character.isalnum() for character in text)


def lost(clean: str, text: str) -> float:
    """Return the share of the clean text's letters and digits that are in words missing from a text.

    >>> lost("The cat, the dog.", "The cat."), lost("他说了", "他说")
    (0.5, 0.3333333333333333)
    """
    before, after = _counted(clean), _counted(text)
    whole = sum(len(word) * number for word, number in before.items())
    return sum(len(word) * number for word, number in (before - after).items()) / max(1, whole)


def added(clean: str, text: str) -> float:
    """Return the letters and digits whose words are not in the clean text, as a share of the clean text's.

    >>> added("a cat", "a cat a cat")
    1.0
    """
    before, after = _counted(clean), _counted(text)
    whole = sum(len(word) * number for word, number in before.items())
    return sum(len(word) * number for word, number in (after - before).items()) / max(1, whole)


def moved(clean: str, text: str) -> float:
    """Return the share of words that another word has replaced at its place.

    >>> moved("a b c d", "a c b d")
    0.5
    """
    pairs = list(zip(words(clean), words(text), strict=False))
    return sum(one.strip() != other.strip() for one, other in pairs) / max(1, len(pairs))


def _counted(text: str) -> Counter[str]:
    """Count a text's words, or characters in scripts without spaces, without punctuation and case."""
    return Counter(_COUNTED.findall(text.casefold()))
