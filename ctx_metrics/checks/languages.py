"""Checks whether a text is in the expected language, from its script and the n-grams of py3langid's model."""

import math
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import regex

from ..language import MIN_LETTERS, WORD, primary, region, script
from ..language_codes import NAMES

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# How much more likely (in nats) a text must be in another language to count as written in it, and the share of letters in
# the language's scripts below which the script is wrong; docs/text-checks.md says how they were chosen.
MARGIN = 15.0
MIN_SHARE = 0.25
# Languages that count as one: those that py3langid confuses, and pairs that are too similar for a verdict.
_CLOSE = (
    "bs hr sr|cs sk|da nb nn no|fo is|id jv ms|es gl|gl pt|bho hi mai mr ne|af nl|de lb|az tr|fa ps ur|bg mk|rw xh zu"
)
CLOSE = [*map(frozenset, map(str.split, _CLOSE.split("|")))]
# Languages in which few texts are written, but which lists of names and broken texts often resemble.
RARE = frozenset("an br dz eo fo ht la mg oc qu rw se vo wa xh zu".split())
# The languages written in each script. A language that is listed twice is written in both scripts.
_WRITTEN_IN = {
    "Latin": "af az br bs ca cs cy da de en eo es et eu fi fo fr fy ga gd gl ha hr ht hu id is it jv ku la lb lt lv "
    "mg ms mt nb nl nn no oc om pl pt qu ro rw se sk sl so sq sr su sv sw tk tl tr uz vi xh zu",
    "Greek": "el",
    "Cyrillic": "az be bg kk ky mk mn ru sah sr tg tk tt uk uz ba cv",
    "Armenian": "hy",
    "Hebrew": "he yi",
    "Arabic": "ar fa ku ky kk ms pa ps sd ug ur uz az",
    "Devanagari": "bho hi mai mr ne sa sd",
    "Bengali": "as bn",
    "Gurmukhi": "pa",
    "Gujarati": "gu",
    "Oriya": "or",
    "Tamil": "ta",
    "Telugu": "te",
    "Kannada": "kn",
    "Malayalam": "ml",
    "Sinhala": "si",
    "Thai": "th",
    "Lao": "lo",
    "Burmese": "my",
    "Georgian": "ka",
    "Ethiopic": "am ti",
    "Khmer": "km",
    "Hangul": "ko",
    "Kana": "ja",
    "Han": "ja zh yue",
}
# Scripts that a tag can name; those that mix several, such as Jpan, and the kinds of Han say no more than the language.
_ISO_15924 = dict(
    each.split("=")
    for each in (
        "Latn=Latin Grek=Greek Cyrl=Cyrillic Armn=Armenian Hebr=Hebrew Arab=Arabic Aran=Arabic Deva=Devanagari Beng=Bengali "
        "Guru=Gurmukhi Gujr=Gujarati Orya=Oriya Taml=Tamil Telu=Telugu Knda=Kannada Mlym=Malayalam Sinh=Sinhala Thai=Thai "
        "Laoo=Lao Mymr=Burmese Geor=Georgian Ethi=Ethiopic Khmr=Khmer Hang=Hangul"
    ).split()
)
# Scripts that Unicode has under other names
_IN_UNICODE = {"Burmese": ["Myanmar"], "Kana": ["Hiragana", "Katakana"]}
_HAN = {"Hans": "Simplified", "Hant": "Traditional"}
# Codes that say more than the shortest one of their language.
_DIALECTS = frozenset("acm acq acw aeb afb ajp apc apd ars ary arz prs quz".split())
NO_REGION = "XX"  # in codes of mBART
# What says nothing about the language: addresses, handles, and symbols such as emoji, whose bytes are n-grams of the model.
_NO_WORDS = re.compile(
    r"(?:https?://|www\.)\S+|\S+@\S+|[@#]\w+|[\u00d7\u200d\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]+", re.IGNORECASE
)
# Letters that a language never has, by which it is told from those that the model confuses with it.
_NEVER = {"be": "щъи", "bg": "ыэё", "mk": "йщъыьэюяё", "ru": "іїєґў", "sr": "йщъыьэюяё", "uk": "ыэёъ"}


class OtherLanguage(NamedTuple):
    """How much likelier than in the expected language a text is in another one.

    nats     the logarithm of the ratio of probabilities, negative if the expected language is likelier; infinite if the
             script is wrong
    looks    the code of the other language, or the name of the script
    """

    nats: float
    looks: str = ""


class Verdict(NamedTuple):
    """Whether a text is in the expected language.

    looks    if it is wrong, the code of the language that it looks like, or the name of its script
    """

    wrong: bool
    looks: str = ""


def verdict(text: str, language: str) -> Verdict | None:
    """Decide whether a text is in a language; None if that cannot be decided.

    It cannot be decided for texts with fewer than 20 letters, or for languages whose script and words are unknown.

    >>> verdict("Der Vertrag wurde gestern von beiden Seiten unterschrieben.", "en").looks
    'de'
    >>> verdict("The contract was signed by both sides yesterday.", "en_GB"), verdict("Yes, it is.", "de")
    (Verdict(wrong=False, looks=''), None)
    """
    told = likelier(text, language)
    return told and (Verdict(True, told.looks) if told.nats > MARGIN else Verdict(False))


def letters(text: str) -> str:
    """Return the letters of a text, without anything between them.

    >>> letters("It's 9 o'clock.")
    'Itsoclock'
    """
    return "".join(WORD.findall(text))


def likelier(text: str, language: str, least: int = MIN_LETTERS) -> OtherLanguage | None:
    """Find the likeliest language besides the expected one; None if that cannot be told.

    least    letters without which it cannot be told

    >>> told = likelier("The contract was signed by both sides yesterday.", "de")
    >>> told.looks, told.nats > MARGIN
    ('en', True)
    """
    code = primary(language)
    own = _of_script(code, script(language))
    text = _NO_WORDS.sub(" ", text)
    written = letters(text)
    if len(written) < least:
        return None
    if own is not None:
        inside = len("".join(own.findall(written)))
        if inside < MIN_SHARE * len(written):
            return OtherLanguage(math.inf, _script_of(written))
        if inside < len(written):  # foreign names and words left as they are say nothing about the rest
            text = " ".join(word for word in text.split() if own.search(word) or not WORD.search(word))
            if len(letters(text)) < least:
                return None
    classes = _model().nb_classes
    same, others = _places(code)
    unusual = code not in _WRITTEN_IN.get(_ISO_15924.get(script(language), ""), code).split()
    if not len(same) or unusual:  # as Chinese in Latin letters, which the model has not seen
        return None if own is None else OtherLanguage(-math.inf)
    there = set(text.lower())
    if barred := {each for each, never in _NEVER.items() if not there.isdisjoint(never)}:
        others = others[[classes[k] not in barred for k in others]]
    likely = _log_probabilities(text.lower() if text.isupper() else text)
    best = others[np.argmax(likely[others])]
    return OtherLanguage(float(likely[best] - likely[same].max()), classes[best])


def in_other_script(text: str, language: str) -> bool:
    """Whether at least 4 letters of a text, and most of them, are neither in a script of the language nor Latin.

    Latin letters show nothing, because names, brands and code are left in them in many languages.

    >>> in_other_script("你好，世界", "de"), in_other_script("Hello, world", "zh"), in_other_script("¯\\_(ツ)_/¯", "de")
    (True, False, False)
    """
    own, written = _of_script(primary(language), script(language)), letters(_NO_WORDS.sub(" ", text))
    if own is None or written.isascii():
        return False
    other = len(_letters_of("Latin").sub("", own.sub("", written)))
    return other >= 4 and 2 * other > len(written)


def are_close(one: str | None, other: str | None) -> bool:
    """Whether two codes name the same language, or two that count as one; False if either is None.

    >>> are_close("pt_BR", "pt"), are_close("cs", "sk"), are_close("de", "en"), are_close(None, None)
    (True, True, False, False)
    """
    return bool(one and other) and primary(other) in _close(primary(one))


def looks_like(looks: str, language: str | None) -> bool:
    """Whether `looks`, the language or script that a text looks like, is that of `language`.

    >>> looks_like("de", "de"), looks_like("Cyrillic", "ru"), looks_like("Cyrillic", "de")
    (True, True, False)
    """
    return are_close(looks, language) or (bool(language) and primary(language) in _WRITTEN_IN.get(looks, "").split())


def described(tag: str) -> str:
    """Return the English name of a tag's language for a model that reads words; the tag if the language is unknown.

    With the tag's script, unless the language has no other, its region, and the code of a dialect.

    >>> described("jpn_Jpan"), described("zho_Hans"), described("sr-Latn"), described("pt_BR"), described("arz_Arab")
    ('Japanese', 'Chinese (Simplified)', 'Serbian (Latin)', 'Portuguese (BR)', 'Arabic (arz)')
    """
    code, written = primary(tag), _ISO_15924.get(script(tag), "")
    if [written] == [each for each, codes in _WRITTEN_IN.items() if code in codes.split()]:
        written = ""
    first = re.split("[-_]", tag.lower())[0]
    named = (first if first in _DIALECTS else "", _HAN.get(script(tag), written), region(tag))
    more = [each for each in named if each not in ("", NO_REGION)]
    return NAMES.get(code, tag) + (f" ({', '.join(more)})" if more and code in NAMES else "")


def _close(code: str) -> set[str]:
    return {code}.union(*(line for line in CLOSE if code in line))


@cache
def _places(code: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the model's class indices of a language and those that count as one with it, and of all other languages but
    RARE ones."""
    classes = _model().nb_classes
    names = _close(code)
    same = [k for k, each in enumerate(classes) if each in names]
    return np.array(same, int), np.array([k for k, each in enumerate(classes) if each not in names | RARE], int)


@cache
def _of_script(code: str, named: str) -> "regex.Pattern[str] | None":
    """Return a pattern of the letters of the script that a tag names, or else of all scripts of its language."""
    if named in _ISO_15924:
        return _letters_of(_ISO_15924[named])
    written_in = [each for each, codes in _WRITTEN_IN.items() if code in codes.split()]
    return _letters_of(*written_in) if written_in else None


@cache
def _letters_of(*scripts: str) -> "regex.Pattern[str]":
    """Return a pattern of the letters of scripts, with those that several scripts share, such as the long vowel of kana."""
    names = [name for script in scripts for name in _IN_UNICODE.get(script, [script])]
    return regex.compile("(?V1)[[" + "".join(rf"\p{{Script_Extensions={name}}}" for name in names) + r"]&&\p{L}]+")


def _script_of(letters: str) -> str:
    return max(_WRITTEN_IN, key=lambda script: len("".join(_letters_of(script).findall(letters))))


@cache
def _model() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_pickled_model(MODEL_FILE)


def _log_probabilities(text: str) -> np.ndarray:
    """Return the log-probability of each of the model's languages, in nats up to a constant: float [languages]."""
    model = _model()
    counts = model.instance2fv(text)
    there = np.flatnonzero(
        counts
    )  # about 100 of 7,480; the library's own product with all of them is four times slower
    return counts[there].astype(np.float32) @ model.nb_ptc[there] + model.nb_pc
