"""Notices about systems, references and sources before scoring: copies, wrong languages, repetitions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..notices import notice
from .faults import COPIES, LANGUAGE, REPEATS, copied, repetitive
from .languages import MIN_LETTERS, are_close, letters, looks_like, verdict
from .streams import Segments

# A notice is given if more than this share of a text's lines, and at least five lines, have the fault. No published text
# that benchmarks/text_checks.py reads has that many; see docs/text-checks.md.
SHARES = {COPIES: 0.5, LANGUAGE: 0.5, REPEATS: 0.25}
LEAST = 5
SAMPLE = 1000  # evenly spaced lines whose language is checked
Languages = tuple[str | None, str | None]


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

    Each finding is one notice. There is no notice of texts without findings.

    systems, references, source    texts of n lines, with their names
    languages                      codes of the source and target language; a language of None is not checked
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
    """Give notice of texts in the wrong language, and say how to fix it.

    texts     names of the systems and references, with the findings in their lines
    source    the same for the source, or None
    """
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
