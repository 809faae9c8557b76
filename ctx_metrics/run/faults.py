"""Faults of translations (copies of the source, a wrong language, a word that is repeated many times), and the notices about
systems, references and sources with many of them."""

import re
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..notices import notice
from .languages import MIN_LETTERS, are_close, letters, looks_like, verdict
from .streams import Segments

COPIES, LANGUAGE, REPEATS = KINDS = ("copies", "wrong-language", "repeats")
TIMES = 5  # a word or phrase that occurs this often in a row counts as repeated
_REPEATED = re.compile(rf"(\S.{{0,60}}?)\1{{{TIMES - 1},}}")
_GRAM = 8
_WORD = re.compile(r"[^\W\d_]+")
_NAMES = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+|[@#]\w+|\S*\d\S*", re.IGNORECASE)
# A notice is given if more than this share of a text's lines, and at least five lines, have the fault. No published text
# that benchmarks/text_checks.py reads has that many; see docs/text-checks.md.
SHARES = {COPIES: 0.5, LANGUAGE: 0.5, REPEATS: 0.25}
LEAST = 5
SAMPLE = 1000  # evenly spaced lines whose language is checked
Languages = tuple[str | None, str | None]


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


@dataclass
class Found:
    """Counts of faults in a text, which can be added up.

    told     for each kind of fault, the number of lines that could be checked
    wrong    for each kind, the number of lines that have the fault
    looks    how many lines in a wrong language look like each language or script
    """

    told: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)

    def many(self, kind: str) -> bool:
        """Whether so many lines have a fault that it cannot be chance."""
        return self.wrong[kind] >= LEAST and self.wrong[kind] > SHARES[kind] * self.told[kind]

    def share(self, kind: str) -> str:
        """Return how many of the checked lines have a fault, in words.

        >>> Found(Counter(copies=50), Counter(copies=30)).share("copies")
        '30 of 50 checked lines'
        """
        return f"{self.wrong[kind]:,} of {self.told[kind]:,} checked lines"

    @property
    def most(self) -> str:
        """The language or script that most lines in a wrong language look like; "" if there are none."""
        return max(self.looks, key=self.looks.__getitem__, default="")


def check_faults(
    systems: Sequence[Segments],
    references: Sequence[Segments] = (),
    source: Segments | None = None,
    languages: Languages = (None, None),
) -> None:
    """Give notice of systems that copy the source or repeat words many times, and of texts in the wrong language.

    languages    codes of the source and target language; a language of None is not checked
    """
    of_systems = [(each.name, faults_of(each, source, languages)) for each in systems]
    # sacrebleu demands a reference, so users of metrics without references pass the source again
    others = [each for each in references if source is None or [*each] != [*source]]
    of_references = [(each.name, in_language(each, languages[1])) for each in others]
    of_source = None if source is None else (source.name, in_language(source, languages[0]))
    for name, found in of_systems:
        if found.many(COPIES):
            notice(f"{name}: {found.share(COPIES)} are copies of the source; check that it holds translations")
        if found.many(REPEATS):
            notice(f"{name}: {found.share(REPEATS)} repeat a word or phrase many times; check the system")
    translated = [(name, found) for name, found in of_systems if not found.many(COPIES)]
    say_languages([*translated, *of_references], of_source, languages)


def faults_of(texts: Sequence[str | None], source: Sequence[str | None] | None, languages: Languages) -> Found:
    """Count the faults in a system's lines; the language of at most 1,000 of them is checked."""
    found = in_language(texts, languages[1])
    told = [i for i, text in enumerate(texts) if text and len(letters(text)) >= MIN_LETTERS]
    found.told[REPEATS] = len(told)
    found.wrong[REPEATS] = sum(repetitive(texts[i] or "", (source[i] if source else "") or "") for i in told)
    if source is not None and not are_close(*languages):
        found.told[COPIES] = len(told)
        found.wrong[COPIES] = sum(copied(texts[i] or "", source[i] or "") for i in told)
    return found


def in_language(texts: Sequence[str | None], language: str | None) -> Found:
    """Count the lines in a wrong language among at most 1,000 of a text; checks none if `language` is unknown."""
    found = Found()
    if not language:
        return found
    for text in texts[:: -(-len(texts) // SAMPLE) or 1]:
        if text and (told := verdict(text, language)) is not None:
            found.told[LANGUAGE] += 1
            found.wrong[LANGUAGE] += told.wrong
            found.looks[told.looks] += told.wrong
    return found


def say_languages(texts: Sequence[tuple[str, Found]], source: tuple[str, Found] | None, languages: Languages) -> None:
    source_lang, target_lang = languages
    wrong = [(name, found) for name, found in texts if found.many(LANGUAGE)]
    swapped = [name for name, found in wrong if looks_like(found.most, source_lang)]
    told = [name for name, found in texts if found.told[LANGUAGE] >= LEAST]
    source_fits = source is not None and source[1].told[LANGUAGE] >= LEAST and not source[1].many(LANGUAGE)
    if swapped and swapped == told and not source_fits:
        also = f" (and of {len(swapped) - 1} more)" if len(swapped) > 1 else ""
        notice(
            f"the language pair is {source_lang}-{target_lang}, but {wrong[0][1].share(LANGUAGE)} of {swapped[0]}{also} "
            f"look like {source_lang}; if the pair is the wrong way round, give -l {target_lang}-{source_lang}"
        )
        return
    for name, found in wrong:
        if name in swapped:
            looks, mend = f"{source_lang}, the source language", "check that it holds translations"
        else:
            looks, mend = f"{found.most}, not {target_lang}", "check the file and -l"
        notice(f"{name}: {found.share(LANGUAGE)} look like {looks}; {mend}")
    if source is not None and source[1].many(LANGUAGE):
        name, found = source
        notice(f"{name}: {found.share(LANGUAGE)} look like {found.most}, not {source_lang}; check the file and -l")
