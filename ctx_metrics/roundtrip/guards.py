"""Checks for round trips that are misleading: copies, empty lines, wrong texts, wrong languages, the same engine."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from statistics import median_high

from ..corpus import is_blank
from ..notices import Notice, tallied

NEAR_COPY = 95.0  # sentence chrF of an output against the source
MIN_WORDS = 4  # minimum length of both texts for a near copy
ON_MOST_LINES = ("untranslated", "equal_to_source")  # reported only if they are more than half of the lines
# Frequent words identify a language: how many, the lines examined, and the minimum number of words in them.
FREQUENT, FIRST_LINES, TELLING_WORDS = 50, 500, 300
# Overlap of frequent words, measured on 191 systems of WMT22 in 21 language pairs: at least .78 in the same language
# (Livonian and Yakut .60), at most .39 in different ones (Czech and Croatian .59); in their first 20 lines at least .38
# and at most .29.
OTHER_LANGUAGE, SAME_LANGUAGE = 0.4, 0.7
# words, and single characters in scripts without spaces between words
_LANGUAGE_UNIT = re.compile(r"[\u0e00-\u1dff\u2e80-\uffff\U00010000-\U0010ffff]|[^\W\d_\u0e00-\u1dff\u2e80-\uffff]+")
_OF_MODEL = re.compile(r"hf-(?P<engine>.+?)(@[0-9a-f]+)?-[0-9a-f]{12}-.*beams\d+.*")
_OF_COMMAND = re.compile(r"cmd-[0-9a-f]{12}(-(?P<engine>.+))?")
# parts of names that do not identify an engine: numbers, parts as short as language codes, test sets, generic words
_COMMON = re.compile(
    r"\d+|.{1,2}|(wmt|newstest)\d+|txt|outputs?|hyps?|hypothes[ie]s|sys|system|nmt|online|translations?|roundtrip|rtt"
)


def guards(
    sources: Sequence[str], hypotheses: Sequence[str], roundtrips: Sequence[str]
) -> tuple[dict[str, int], list[Notice]]:
    """Count segments whose round trip says little about their translation; also return the notices about them.

    Round trips that equal their output or the source are reported only if they are more than half of the outputs with
    text: names do not change, and a short segment may come back word for word.

    >>> guards(["ein Hund", "eine Katze", "ja"], ["ein  Hund", "", "yes"], ["a dog", "", "ja"])[0]
    {'source_copies': 1, 'empty_outputs': 1, 'empty_roundtrips': 0, 'untranslated': 0, 'equal_to_source': 1}
    """
    rows = list(zip(sources, hypotheses, roundtrips, strict=True))
    copied = [i for i, (source, hypothesis, _) in enumerate(rows) if copies(source, hypothesis)]
    others = [(i, *rows[i]) for i in sorted(set(range(len(rows))) - set(copied))]
    kinds = {
        "source_copies": (
            copied,
            "output copies the source, which a round trip cannot show",
            "outputs copy the source, which a round trip cannot show",
        ),
        "empty_outputs": (
            [i for i, (_, hypothesis, _) in enumerate(rows) if is_blank(hypothesis)],
            "output is empty, and so is the round trip",
            "outputs are empty, and so are the round trips",
        ),
        "empty_roundtrips": (
            [i for i, (_, hypothesis, trip) in enumerate(rows) if not is_blank(hypothesis) and is_blank(trip)],
            "round trip is empty, but its output is not",
            "round trips are empty, but their outputs are not",
        ),
        "untranslated": (
            [i for i, _, hypothesis, trip in others if _equal(hypothesis, trip)],
            "round trip equals its output, so nothing was translated back, or the output was given for it",
            "round trips equal their outputs, so nothing was translated back, or the outputs were given for round trips",
        ),
        "equal_to_source": (
            [i for i, source, _, trip in others if _equal(source, trip)],
            "round trip equals the source, so perhaps the source was given for the round trip",
            "round trips equal the source, so perhaps the source was given for the round trip",
        ),
    }
    notices = [Notice.at(positions, one, many, kind=kind) for kind, (positions, one, many) in kinds.items()]
    most = sum(not is_blank(hypothesis) for hypothesis in hypotheses) / 2
    return tallied(notices, least=dict.fromkeys(ON_MOST_LINES, most))


def other_languages(
    names: Sequence[str],
    sources: Sequence[str] | None,
    systems: Sequence[Sequence[str]],
    roundtrips: Sequence[Sequence[str]],
) -> list[str]:
    """Return a line for each system and each round trip that is in the wrong language.

    A system's language is wrong if it differs from that of the others, as the back-translator reads only one, or is that
    of the source. A round trip's is wrong if it is not that of the source. Languages are compared by their frequent words,
    as far as there are texts to compare: a single system with a fluent round trip is not detected.

    >>> en, de, fr = ([line] * 99 for line in ("the cat is in the house", "die Katze ist im Haus", "le chat est ici"))
    >>> other_languages(["a", "b", "c"], en, [de, en, de], [en, en, fr])[0]
    "b seems to be in the source's language, so its round trip does not measure its quality"
    """
    of_systems, of_trips = ([_profile(text) for text in texts] for texts in (systems, roundtrips))
    of_sources = _profile(sources or ())
    as_source = [(_shared(own, of_sources) or 0) > SAME_LANGUAGE for own in of_systems]
    lines = []
    for number, name in enumerate(names):
        others = [own for k, own in enumerate(of_systems) if k != number and not as_source[k]]
        shares = [share for own in others if (share := _shared(of_systems[number], own)) is not None]
        if as_source[number]:
            lines.append(f"{name} seems to be in the source's language, so its round trip does not measure its quality")
        elif 0 < min(2, len(names) - 1) <= len(shares) and median_high(shares) < OTHER_LANGUAGE:
            than = "the other systems" if len(names) > 2 else names[1 - number]
            lines.append(
                f"{name} seems to be in another language than {than}; the back-translator reads one language, and "
                "round trips from another do not measure quality"
            )
        elif (share := _shared(of_trips[number], of_sources)) is not None and share < OTHER_LANGUAGE:
            lines.append(
                f"the round trip of {name} does not seem to be in the source's language; perhaps the system is not in the "
                "language that the back-translator reads"
            )
    return lines


def copies(source: str, hypothesis: str) -> bool:
    """Whether a hypothesis equals the source except for case and white space, or has a chrF of at least 95 against it.

    Only texts of at least 4 words are compared by chrF.

    >>> copies("Das ist der Plan", "das ist  der Plan"), copies("Der Plan", "Der Plans")
    (True, False)
    """
    if _equal(source, hypothesis):
        return True
    words, of_source = hypothesis.casefold().split(), source.casefold().split()
    if min(len(words), len(of_source)) < MIN_WORDS:
        return False
    if 2 * len(set(words) & set(of_source)) < len(set(words)):  # avoids the slow chrF, which would be below 95
        return False
    return _chrf().sentence_score(hypothesis, [source]).score >= NEAR_COPY


def _equal(text: str, other: str) -> bool:
    """Whether two texts have the same words except for case, and at least one word."""
    words = text.casefold().split()
    return bool(words) and words == other.casefold().split()


def same_engine(backtranslator: str, names: Sequence[str]) -> list[str]:
    """Return the system names or files whose name matches that of the back-translator.

    The first word of the engine's name must be in the system's name, and all words of one name must be in the other;
    numbers, language codes and the like are ignored. An engine under a different name is not detected.

    backtranslator    identity as in BackTranslator.name, or an engine's name; a command without a label has no name

    >>> same_engine("hf-Helsinki-NLP/opus-mt-de-en-0123456789ab-beams6", ["out/opus-mt.en-de.txt", "out/google.txt"])
    ['out/opus-mt.en-de.txt']
    """
    match = _OF_MODEL.fullmatch(backtranslator) or _OF_COMMAND.fullmatch(backtranslator)
    engine = _words((match["engine"] or "") if match else backtranslator)
    same = []
    for name in names:
        words = _words(name)
        if engine and engine[0] in words and (set(engine) <= set(words) or set(words) <= set(engine)):
            same.append(name)
    return same


def _words(name: str) -> list[str]:
    """Return the parts of a model's or file's name that may identify its engine."""
    parts = re.findall(r"[^\W_]+", name.rpartition("/")[2].casefold())
    return [part for part in parts if not _COMMON.fullmatch(part)]


def _profile(text: Sequence[str]) -> "Counter[str]":
    return Counter(word for line in text[:FIRST_LINES] for word in _LANGUAGE_UNIT.findall(line.casefold()))


def _shared(text: "Counter[str]", other: "Counter[str]") -> float | None:
    """Return the share of another text's frequent words in a text, divided by their share in the other text.

    It is about 1 if both are in one language. None if either text is too short.
    """
    if min(text.total(), other.total()) < TELLING_WORDS:
        return None
    frequent = [word for word, _ in other.most_common(FREQUENT)]
    return sum(text[word] for word in frequent) / text.total() / (sum(other[word] for word in frequent) / other.total())


@cache
def _chrf():
    from sacrebleu.metrics import CHRF

    return CHRF()
