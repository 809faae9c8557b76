"""What makes round trips come back too well, or not at all: copies, empty lines, another text, the same engine."""

import re
from collections.abc import Sequence
from functools import cache

from ..notices import counted, place

NEAR_COPY = 95.0  # sentence chrF of an output against the source
MIN_WORDS = 4  # of both texts, where a near copy counts
ON_MOST_LINES = ("untranslated", "equal_to_source")  # told of where they are more than half of the lines
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
    found = {
        "source_copies": copied,
        "empty_outputs": [i for i, (_, output, _) in enumerate(rows) if not output.strip()],
        "empty_roundtrips": [i for i, (_, output, trip) in enumerate(rows) if output.strip() and not trip.strip()],
        "untranslated": [i for i, _, output, trip in others if _equal(output, trip)],
        "equal_to_source": [i for i, source, _, trip in others if _equal(source, trip)],
    }
    said = {
        "source_copies": ("output copies the source", "outputs copy the source", "which a round trip does not tell"),
        "empty_outputs": ("output is empty", "outputs are empty", "and so is the round trip"),
        "empty_roundtrips": ("round trip is empty", "round trips are empty", "though there was text to translate"),
        "untranslated": (
            "round trip equals its output",
            "round trips equal their outputs",
            "so nothing was translated back, or the outputs were given for round trips",
        ),
        "equal_to_source": (
            "round trip equals the source",
            "round trips equal the source",
            "so perhaps the source was given for the round trip",
        ),
    }
    most = sum(bool(output.strip()) for output in outputs) / 2
    notices = [
        f"{counted(len(positions), one, many)}, {what} (segment {place(positions)})"
        for name, (one, many, what), positions in ((name, said[name], found[name]) for name in found)
        if len(positions) > (most if name in ON_MOST_LINES else 0)
    ]
    return {name: len(positions) for name, positions in found.items()}, notices


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
    found = []
    for name in names:
        words = _words(name)
        if engine and engine[0] in words and (set(engine) <= set(words) or set(words) <= set(engine)):
            found.append(name)
    return found


def _words(name: str) -> list[str]:
    """The parts of a model's or a file's name that may tell what engine it is."""
    parts = re.findall(r"[^\W_]+", name.rpartition("/")[2].casefold())
    return [part for part in parts if not _COMMON.fullmatch(part)]


@cache
def _chrf():
    from sacrebleu.metrics import CHRF

    return CHRF()
