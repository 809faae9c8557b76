"""What makes round trips come back too well, or not at all: copies, empty lines, another text, another language, the same
engine."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from statistics import median_high

from ..corpus import is_blank
from ..notices import told

NEAR_COPY = 95.0  # sentence chrF of an output against the source
MIN_WORDS = 4  # of both texts, where a near copy counts
ON_MOST_LINES = ("untranslated", "equal_to_source")  # told of where they are more than half of the lines
# Frequent words tell a language; lines that are looked at, and the words that there must be.
FREQUENT, FIRST_LINES, TELLING_WORDS = 50, 500, 300
# How much two texts share of them: of 191 systems of WMT22 in 21 language pairs, .78 and more in one language (Livonian and
# Yakut .60), .39 and less in two (Czech and Croatian .59); of their first 20 lines .38 and more, and .29 and less.
OTHER_LANGUAGE, SAME_LANGUAGE = 0.4, 0.7
# words, and single characters of the scripts that put no blanks between words
_LANGUAGE_UNIT = re.compile(r"[\u0e00-\u1dff\u2e80-\uffff\U00010000-\U0010ffff]|[^\W\d_\u0e00-\u1dff\u2e80-\uffff]+")
_OF_MODEL = re.compile(r"hf-(?P<engine>.+?)(@[0-9a-f]+)?-[0-9a-f]{12}-.*beams\d+.*")
_OF_COMMAND = re.compile(r"cmd-[0-9a-f]{12}(-(?P<engine>.+))?")
# parts of names that tell no engine from another: numbers, as short as a language code, of test sets, words for all
_COMMON = re.compile(
    r"\d+|.{1,2}|(wmt|newstest)\d+|txt|outputs?|hyps?|hypothes[ie]s|sys|system|nmt|online|translations?|roundtrip|rtt"
)


def guards(
    sources: Sequence[str], outputs: Sequence[str], roundtrips: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """Counts of the segments whose round trip says little of their translation, and a line for each kind to be told of.

    source_copies       outputs that are (nearly) the source: nothing was translated, and the round trip tends to be perfect
    empty_outputs       outputs without text, of which there is no round trip
    empty_roundtrips    round trips without text of outputs with text: the back-translator's fault, not the system's
    untranslated        round trips that equal their output but for case and white space, where that is no copy of the source
    equal_to_source     round trips that equal the source in the same way, where the output is no copy of it

    The last two are told of where they are more than half of the outputs with text: names stay as they are, and a short
    segment may come back word for word, but on most lines the outputs, or the source, were given by mistake.

    >>> guards(["ein Hund", "eine Katze", "ja"], ["ein  Hund", "", "yes"], ["a dog", "", "ja"])[0]
    {'source_copies': 1, 'empty_outputs': 1, 'empty_roundtrips': 0, 'untranslated': 0, 'equal_to_source': 1}
    """
    rows = list(zip(sources, outputs, roundtrips, strict=True))
    copied = [i for i, (source, output, _) in enumerate(rows) if copies(source, output)]
    others = [(i, *rows[i]) for i in sorted(set(range(len(rows))) - set(copied))]
    kinds = {
        "source_copies": (copied, "[output copies|outputs copy] the source, which a round trip cannot show"),
        "empty_outputs": (
            [i for i, (_, output, _) in enumerate(rows) if is_blank(output)],
            "[output is|outputs are] empty, and so is the round trip",
        ),
        "empty_roundtrips": (
            [i for i, (_, output, trip) in enumerate(rows) if not is_blank(output) and is_blank(trip)],
            "[round trip is|round trips are] empty, but their outputs are not",
        ),
        "untranslated": (
            [i for i, _, output, trip in others if _equal(output, trip)],
            "[round trip equals its output|round trips equal their outputs], so nothing was translated back, or the outputs "
            "were given for round trips",
        ),
        "equal_to_source": (
            [i for i, source, _, trip in others if _equal(source, trip)],
            "[round trip equals|round trips equal] the source, so perhaps the source was given for the round trip",
        ),
    }
    most = sum(not is_blank(output) for output in outputs) / 2
    return told(kinds, least=dict.fromkeys(ON_MOST_LINES, most))


def other_languages(
    names: Sequence[str],
    sources: Sequence[str] | None,
    systems: Sequence[Sequence[str]],
    roundtrips: Sequence[Sequence[str]],
) -> list[str]:
    """A line for each system that is in another language than the others, or in the source's, and for each round trip that
    is not in the source's: the back-translator reads one language.

    Frequent words tell a language, as far as there are texts to compare: a single system whose round trip is fluent all the
    same is not found. Texts of fewer than 300 words tell nothing.

    names      of the systems
    sources    None where they are not known

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


def copies(source: str, output: str) -> bool:
    """Whether an output is the source but for case and white space, or, from 4 words on, has a chrF of at least 95 to it.

    >>> copies("Das ist der Plan", "das ist  der Plan"), copies("Der Plan", "Der Plans")
    (True, False)
    """
    if _equal(source, output):
        return True
    words, of_source = output.casefold().split(), source.casefold().split()
    if min(len(words), len(of_source)) < MIN_WORDS:
        return False
    if 2 * len(set(words) & set(of_source)) < len(set(words)):  # spares the slow chrF, which is below 95 then
        return False
    return _chrf().sentence_score(output, [source]).score >= NEAR_COPY


def _equal(text: str, other: str) -> bool:
    """Whether two texts have the same words but for case, and have any."""
    words = text.casefold().split()
    return bool(words) and words == other.casefold().split()


def same_engine(backtranslator: str, names: Sequence[str]) -> list[str]:
    """The systems, of these names or files, that are called like the back-translator.

    The first word of the engine's name must be in the system's, and the words of one among the other's; numbers, language
    codes and the like left out. An engine under another name is not found.

    backtranslator    identity as BackTranslator.name gives it, or an engine's name; a command without a label has none

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
    """The parts of a model's or a file's name that may tell what engine it is."""
    parts = re.findall(r"[^\W_]+", name.rpartition("/")[2].casefold())
    return [part for part in parts if not _COMMON.fullmatch(part)]


def _profile(text: Sequence[str]) -> "Counter[str]":
    """How often each word is in the first lines of a text."""
    return Counter(word for line in text[:FIRST_LINES] for word in _LANGUAGE_UNIT.findall(line.casefold()))


def _shared(text: "Counter[str]", other: "Counter[str]") -> float | None:
    """How much of a text the frequent words of another make up, divided by how much of the other they do: about 1 for one
    language. None where one is too short to tell."""
    if min(text.total(), other.total()) < TELLING_WORDS:
        return None
    frequent = [word for word, _ in other.most_common(FREQUENT)]
    return sum(text[word] for word in frequent) / text.total() / (sum(other[word] for word in frequent) / other.total())


@cache
def _chrf():
    from sacrebleu.metrics import CHRF

    return CHRF()
