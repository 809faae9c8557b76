"""Faults of a single translation: a copy of the source, a wrong language, a word that is repeated many times."""

import re
from argparse import ArgumentTypeError

from .languages import MIN_LETTERS, are_close, letters, verdict

COPIES, LANGUAGE, REPEATS = KINDS = ("copies", "wrong-language", "repeats")
TIMES = 5  # a word or phrase that occurs this often in a row counts as repeated
_REPEATED = re.compile(rf"(\S.{{0,60}}?)\1{{{TIMES - 1},}}")
_GRAM = 8
_WORD = re.compile(r"[^\W\d_]+")
_NAMES = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+|[@#]\w+|\S*\d\S*", re.IGNORECASE)


def faults(text: str, source: str | None, source_lang: str | None, target_lang: str | None) -> list[str]:
    """Return the faults of a hypothesis, in the order of KINDS; checks that lack a source or a language are skipped.

    >>> faults("Der Vertrag wurde gestern unterschrieben.", "Der Vertrag wurde gestern unterschrieben.", "de", "en")
    ['copies', 'wrong-language']
    >>> faults("The contract was signed yesterday.", "Der Vertrag wurde gestern unterschrieben.", "de", "en")
    []
    """
    found = {
        COPIES: source is not None and not are_close(source_lang, target_lang) and copied(text, source),
        REPEATS: repetitive(text, source or ""),
    }
    # a single word repeated many times does not reveal the language
    told = verdict(text, target_lang) if target_lang and not found[REPEATS] else None
    found[LANGUAGE] = told is not None and told.wrong
    return [kind for kind in KINDS if found[kind]]


def kinds(text: str) -> tuple[str, ...]:
    """Return the kinds in a comma-separated list, or () for "none", for argparse.

    >>> kinds("copies,repeats"), kinds("none")
    (('copies', 'repeats'), ())
    """
    names = () if text == "none" else tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names if name not in KINDS]:
        raise ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(KINDS)}; or give none")
    return names


def copied(text: str, source: str) -> bool:
    """Whether a text copies its source: it has the same letters, at least 20 of them in words that are not names.

    Case, punctuation and numbers are ignored. A name is a word that starts with a capital letter or contains digits; URLs
    and addresses are names too.

    >>> copied("Der Vertrag wurde gestern unterschrieben!", "der Vertrag wurde gestern unterschrieben.")
    True
    >>> copied("Johann Sebastian Bach, BWV 1046", "Johann Sebastian Bach, BWV 1046")
    False
    """
    first, of_source = _WORD.search(text), _WORD.search(source)
    if first is None or of_source is None or first.group().casefold() != of_source.group().casefold():
        return False  # as for most texts, which saves the rest of the work
    if letters(text.casefold()) != letters(source.casefold()):
        return False
    words = _NAMES.sub(" ", text).split()
    plain = [word for word in words if (found := _WORD.search(word)) and not found.group()[0].isupper()]
    return len(letters(" ".join(plain))) >= MIN_LETTERS


def repetitive(text: str, source: str = "") -> bool:
    """Whether a text repeats a word or phrase five times in a row, with at least 20 letters in all, and its source does not.

    The repeated word or phrase has at most 61 characters.

    >>> repetitive("He said that he he he he he he he he he he he came."), repetitive("No, no, no, no, no, no.")
    (True, False)
    """
    return _repeats(text) and not _repeats(source)


def _repeats(text: str) -> bool:
    # Two cheap conditions that every repetition meets, so that most texts need no search: some words recur, or one is long;
    # and as many n-grams recur as in something that is repeated five times in 20 letters.
    words = text.split()
    if len(words) - len({*words}) < TIMES - 2 and max(map(len, words), default=0) < MIN_LETTERS:
        return False
    grams = len(text) - _GRAM + 1
    if grams - len({text[i : i + _GRAM] for i in range(grams)}) < 0.8 * MIN_LETTERS - _GRAM + 1:
        return False
    return any(len(letters(each.group())) >= MIN_LETTERS for each in _REPEATED.finditer(text))
