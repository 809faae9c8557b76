"""What is said of systems, references and sources before they are scored: copies, the wrong language, repetitions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..notices import notice
from .faults import COPIES, LANGUAGE, REPEATS, copied, repetitive
from .languages import MIN_LETTERS, are_close, letters, looks_like, verdict
from .streams import Segments

# A notice needs more than this share of a text's lines, and five lines. No published text that benchmarks/text_checks.py
# reads has so many; see docs/text-checks.md.
SHARES = {COPIES: 0.5, LANGUAGE: 0.5, REPEATS: 0.25}
LEAST = 5
SAMPLE = 1000  # lines, evenly spread, whose language is looked at
Languages = tuple[str | None, str | None]


@dataclass
class Found:
    """What was found in some lines of a text, to be added up.

    told     of each kind of fault, the lines that could be told
    wrong    of each kind, those among them that have the fault
    looks    what the lines in a wrong language look like
    """

    told: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    looks: Counter[str] = field(default_factory=Counter)

    def many(self, kind: str) -> bool:
        """Whether so many lines have a fault that it is no chance."""
        return self.wrong[kind] >= LEAST and self.wrong[kind] > SHARES[kind] * self.told[kind]

    def share(self, kind: str) -> str:
        """The lines that have a fault, in words.

        >>> Found(Counter(copies=50), Counter(copies=30)).share("copies")
        '30 of 50 checked lines'
        """
        return f"{self.wrong[kind]:,} of {self.told[kind]:,} checked lines"

    @property
    def most(self) -> str:
        """What most lines in a wrong language look like; "" where there are none."""
        return max(self.looks, key=self.looks.__getitem__, default="")


def check_faults(
    systems: Sequence[Segments],
    references: Sequence[Segments] = (),
    source: Segments | None = None,
    languages: Languages = (None, None),
) -> None:
    """Say which systems are copies of the source or repeat a word or phrase many times, and which texts are in another
    language than the language pair names. Each finding is one notice; nothing is said of texts without findings.

    systems, references, source    texts of n lines, which know their names
    languages                      codes of the source and target language; None where unknown: then no language is checked
    """
    of_systems = [(each.name, faults_of(each, source, languages)) for each in systems]
    # sacrebleu needs a reference: of metrics that read none, it is the source again
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
    """What is wrong with a system's lines; the language of at most 1,000 of them is looked at."""
    found = in_language(texts, languages[1])
    told = [i for i, text in enumerate(texts) if text and len(letters(text)) >= MIN_LETTERS]
    found.told[REPEATS] = len(told)
    found.wrong[REPEATS] = sum(repetitive(texts[i] or "", (source[i] if source else "") or "") for i in told)
    if source is not None and not are_close(*languages):
        found.told[COPIES] = len(told)
        found.wrong[COPIES] = sum(copied(texts[i] or "", source[i] or "") for i in told)
    return found


def in_language(texts: Sequence[str | None], language: str | None) -> Found:
    """How many of at most 1,000 of a text's lines are in another language; nothing where the language is not known."""
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
    """Say which texts are in another language than they should be, and how to fix it.

    texts     the systems and references, by name, with what was found in their lines
    source    the same of the source, where there is one
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
