"""Notices about texts before scoring: HTML entities, shifted lines, byte-order marks, lines that are not plain text, and
faults of translations (copies of the source, a wrong language, a word that is repeated many times). They never affect a
score."""

import html
import re
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..corpus import Segments, named
from ..language import MIN_LETTERS, WORD, language_name
from ..notices import counted, notice
from ..reading import BOM
from .languages import are_close, letters, looks_like, verdict
from .line_shifts import Shift, shifts
from .plain_text import check_plain_text

Languages = tuple[str | None, str | None]
# the five entities of XML, and numeric ones; "AT&T; IBM" and "&copy;" stay as they are
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
ENTITY_SHARE = 0.005  # share of a text's lines; fewer do not change the first decimal of a score
SHOWN = 3  # texts or blocks named in one notice
COPIES, LANGUAGE, REPEATS = KINDS = ("copies", "wrong-language", "repeats")
TIMES = 5  # a word or phrase that occurs this often in a row counts as repeated
_REPEATED = re.compile(rf"(\S.{{0,60}}?)\1{{{TIMES - 1},}}")
_GRAM = 8
_NAMES = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+|[@#]\w+|\S*\d\S*", re.IGNORECASE)
# A notice is given if more than this share of a text's lines, and at least five lines, have the fault. No published text
# that benchmarks/text_checks.py reads has that many; see docs/text-checks.md.
SHARES = {COPIES: 0.5, LANGUAGE: 0.5, REPEATS: 0.25}
LEAST = 5
SAMPLE = 1000  # evenly spaced lines whose language is checked


def check_texts(
    systems: Sequence[Segments],
    references: Sequence[Segments],
    source: Segments | None = None,
    languages: Languages = (None, None),
) -> None:
    """Give notice of HTML entities, of lines that fit another line of the reference better than their own, and of the
    findings of check_faults: lines that are not plain text, copies of the source, repetitions, and the wrong language.

    All texts are compared with the first reference, or with the source if there is no reference.
    """
    _say_entities(systems, [*references, *([source] if source else [])])
    _say_shifts(systems, references, source)
    check_faults(systems, references, source, languages)


def check_byte_order_marks(streams: Sequence[Segments], stock: Sequence[str]) -> None:
    """Give notice of texts that start with a byte-order mark if sacrebleu's own metrics (`stock`) will read it as text."""
    names = [each.name for each in streams if each and (each[0] or "").startswith(BOM)]
    if names and stock:
        notice(
            f"the byte-order mark at the start of {_listed(names)} is part of the first word for "
            f"{', '.join(stock)}; save the file without it (plugin metrics and ctx-metrics score remove it)"
        )


def unescaped(line: str | None) -> str | None:
    """Return a line with its entities replaced once: "&amp;quot;" becomes "&quot;". Line-break entities become blanks.

    >>> unescaped("&quot;AT&amp;T&quot; &#8211; it&#39;s &copy;"), unescaped(None)
    ('"AT&T" – it\\'s &copy;', None)
    """
    return line and _ENTITY.sub(lambda entity: re.sub(r"[\r\n]", " ", html.unescape(entity.group())), line)


def unescape(streams: Sequence[Segments]) -> list[Segments]:
    """Return the streams with their lines unescaped; gives notice of where there were entities, or that there were none."""
    changed = [each for each in (_with_entities(stream) for stream in streams) if each.number]
    notice(f"--unescape: HTML entities {f'replaced in {_shares(changed)}' if changed else 'are in none of the texts'}")
    return [named([unescaped(line) for line in stream], stream.name) for stream in streams]


class _Entities(NamedTuple):
    """The number of a text's lines that contain entities; `example` is the first entity, or "" if there is none."""

    name: str
    number: int
    lines: int
    example: str


def _with_entities(stream: Segments) -> _Entities:
    entities = [match.group() for line in stream if line is not None and (match := _ENTITY.search(line))]
    return _Entities(stream.name, len(entities), sum(line is not None for line in stream), next(iter(entities), ""))


def _say_shifts(systems: Sequence[Segments], references: Sequence[Segments], source: Segments | None) -> None:
    hub = references[0] if references else source or None
    if hub is None:
        return
    shifted: dict[Shift, list[str]] = {}
    for each in (*systems, *references[1:], *([source] if references and source else [])):
        for shift in shifts(each, hub, translated=source is each or source is hub):
            known = next((other for other in shifted if _alike(other, shift)), shift)
            shifted.setdefault(known, []).append(each.name)
    compared = len(systems) + len(references) - 1 + (source is not None and bool(references))
    blocks: dict[tuple[str, str], list[str]] = {}
    for (first, last, offset), names in shifted.items():
        # if most texts disagree with the one that they are compared with, that one is shifted
        culprit = f" in {hub.name}" if len(names) > max(1, compared / 2) else ""
        where = f"{first + 1}-{last + 1} fit line{offset:+d}"
        blocks.setdefault((_listed(names), culprit), []).append(where)
    for (texts, culprit), places in blocks.items():
        notice(
            f"{texts}: lines {_listed(places)} of {hub.name} better than their own; look for a missing or additional line"
            f"{culprit}"
        )


def _say_entities(systems: Sequence[Segments], test_set: Sequence[Segments]) -> None:
    of_systems, of_test_set = ([_with_entities(each) for each in streams] for streams in (systems, test_set))
    many = [each for each in (*of_systems, *of_test_set) if each.number > ENTITY_SHARE * each.lines]
    if not many:
        return
    others = of_test_set if any(each in many for each in of_systems) else of_systems
    if not of_test_set:
        also = "no reference was given to compare with"
    elif not any(each in many for each in others):
        few = sum(each.number for each in others)
        also = f"{_listed([each.name for each in others])}: {counted(few, 'line', 'lines') if few else 'none'}"
    else:
        also = "the test set is escaped too, or about HTML"
    notice(
        f"HTML entities such as {many[0].example} are in {_shares(many)}; {also}; "
        "`ctx-metrics score` and `ctx-metrics meta` replace them with --unescape"
    )


def _shares(entities: Sequence[_Entities]) -> str:
    return _listed([f"{n:,} of {lines:,} lines ({100 * n / lines:.1f} %) of {name}" for name, n, lines, _ in entities])


def _listed(words: Sequence[str]) -> str:
    more = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _alike(one: Shift, other: Shift) -> bool:
    common = min(one.last, other.last) - max(one.first, other.first) + 1
    whole = max(one.last, other.last) - min(one.first, other.first) + 1
    return one.offset == other.offset and 2 * common > whole


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


def copied(text: str, source: str, least: int = MIN_LETTERS) -> bool:
    """Whether a text copies its source: it has the same letters, at least `least` of them in words that are not names.

    Case, punctuation and numbers are ignored. A name is a word that starts with a capital letter or contains digits; URLs
    and addresses are names too.

    >>> copied("Der Vertrag wurde gestern unterschrieben!", "der Vertrag wurde gestern unterschrieben.")
    True
    >>> copied("Johann Sebastian Bach, BWV 1046", "Johann Sebastian Bach, BWV 1046")
    False
    """
    first, of_source = WORD.search(text), WORD.search(source)
    if first is None or of_source is None or first.group().casefold() != of_source.group().casefold():
        return False  # as for most texts, which saves the rest of the work
    if letters(text.casefold()) != letters(source.casefold()):
        return False
    words = _NAMES.sub(" ", text).split()
    plain = [word for word in words if (found := WORD.search(word)) and not found.group()[0].isupper()]
    return len(letters(" ".join(plain))) >= least


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
class FaultCounts:
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
        """Return the number of checked lines with a fault, in words.

        >>> FaultCounts(Counter(copies=50), Counter(copies=30)).share("copies")
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
    """Give notice of texts that are not plain text, of systems that copy the source or repeat words many times, and of texts
    in the wrong language.

    languages    codes of the source and target language; a language of None is not checked
    """
    odd = {id(each) for each in check_plain_text(systems, references, source)}  # their other faults would mislead
    systems, references = ([each for each in streams if id(each) not in odd] for streams in (systems, references))
    source = None if source is None or id(source) in odd else source
    of_systems = [(each.name, faults_of(each, source, languages)) for each in systems]
    # sacrebleu demands a reference, so users of metrics without references pass the source again
    others = [each for each in references if source is None or [*each] != [*source]]
    of_references = [(each.name, in_language(each, languages[1])) for each in others]
    of_source = None if source is None else (source.name, in_language(source, languages[0]))
    for name, found in of_systems:
        if found.many(COPIES):
            notice(f"{name}: {found.share(COPIES)} are copies of the source: is this the translation?")
        if found.many(REPEATS):
            notice(f"{name}: {found.share(REPEATS)} repeat a word or phrase many times; check the system")
    translated = [(name, found) for name, found in of_systems if not found.many(COPIES)]
    say_languages([*translated, *of_references], of_source, languages)


def faults_of(texts: Sequence[str | None], source: Sequence[str | None] | None, languages: Languages) -> FaultCounts:
    """Count the faults in a system's lines; the language of at most 1,000 of them is checked."""
    found = in_language(texts, languages[1])
    told = [i for i, text in enumerate(texts) if text and len(letters(text)) >= MIN_LETTERS]
    found.told[REPEATS] = len(told)
    found.wrong[REPEATS] = sum(repetitive(texts[i] or "", (source[i] if source else "") or "") for i in told)
    if source is not None and not are_close(*languages):
        found.told[COPIES] = len(told)
        found.wrong[COPIES] = sum(copied(texts[i] or "", source[i] or "") for i in told)
    return found


def in_language(texts: Sequence[str | None], language: str | None) -> FaultCounts:
    """Count the lines in a wrong language among at most 1,000 of a text; checks none if `language` is unknown."""
    found = FaultCounts()
    if not language:
        return found
    for text in texts[:: -(-len(texts) // SAMPLE) or 1]:
        if text and (told := verdict(text, language)) is not None:
            found.told[LANGUAGE] += 1
            found.wrong[LANGUAGE] += told.wrong
            found.looks[told.looks] += told.wrong
    return found


def say_languages(
    texts: Sequence[tuple[str, FaultCounts]], source: tuple[str, FaultCounts] | None, languages: Languages
) -> None:
    source_lang, target_lang = languages
    wrong = [(name, found) for name, found in texts if found.many(LANGUAGE)]
    swapped = [name for name, found in wrong if looks_like(found.most, source_lang)]
    told = [name for name, found in texts if found.told[LANGUAGE] >= LEAST]
    source_fits = source is not None and source[1].told[LANGUAGE] >= LEAST and not source[1].many(LANGUAGE)
    if swapped and swapped == told and not source_fits:
        also = f" (and of {len(swapped) - 1} more)" if len(swapped) > 1 else ""
        notice(
            f"the language pair is {source_lang}-{target_lang}, but {wrong[0][1].share(LANGUAGE)} of {swapped[0]}{also} "
            f"look {language_name(source_lang or '')}; if the pair is reversed, give -l {target_lang}-{source_lang}"
        )
        return
    for name, found in wrong:
        if name in swapped:
            looks, fix = f"{language_name(source_lang or '')}, the source language", "is this the translation?"
        else:
            looks = f"{language_name(found.most)}, not {language_name(target_lang or '')}"
            fix = "check the file and -l"
        notice(f"{name}: {found.share(LANGUAGE)} look {looks}{': ' if fix.endswith('?') else '; '}{fix}")
    if source is not None and source[1].many(LANGUAGE):
        name, found = source
        looks = f"{language_name(found.most)}, not {language_name(source_lang or '')}"
        notice(f"{name}: {found.share(LANGUAGE)} look {looks}; check the file and -l")
