"""Checks that a model can read the language of a text."""

import re
from collections.abc import Iterable

from .errors import InputError
from .language_tags import likely
from .notices import notice
from .wording import name_the_language, worded

# Frequent English function words that are rare as words of other languages in Latin script.
FUNCTION_WORDS = frozenset(
    "the of and to that it for with this is are was were be been has have had not but from they which you he she his her "
    "their we our at by on as would will there what who when can could should about into than them its".split()
)
# Languages that multilingual-e5 was trained on, which its model card gives as those of XLM-R, with their three-letter codes
# (ISO 639).
CODES = [
    codes.split()
    for codes in (
        "af afr | am amh | ar ara arb | as asm | az aze azj | be bel | bg bul | bn ben | br bre | bs bos | ca cat | cs "
        "ces cze | cy cym wel | da dan | de deu ger | el ell gre | en eng | eo epo | es spa | et est ekk | eu eus baq | "
        "fa fas per pes | fi fin | fr fra fre | fy fry | ga gle | gd gla | gl glg | gu guj | ha hau | he heb | hi hin | "
        "hr hrv | hu hun | hy hye arm | id ind | is isl ice | it ita | ja jpn | jv jav | ka kat geo | kk kaz | km khm | "
        "kn kan | ko kor | ku kur kmr | ky kir | la lat | lo lao | lt lit | lv lav lvs | mg mlg plt | mk mkd | ml mal | "
        "mn mon khk | mr mar | ms msa zsm | my mya bur | nb nob | ne nep npi | nl nld dut | nn nno | no nor | om orm gaz "
        "| or ori ory | pa pan | pl pol | ps pus pbt | pt por | ro ron rum | ru rus | sa san | sd snd | si sin | sk slk | "
        "sl slv | so som | sq sqi als | sr srp | su sun | sv swe | sw swa swh | ta tam | te tel | th tha | tl tgl | tr "
        "tur | ug uig | uk ukr | ur urd | uz uzb uzn | vi vie | xh xho | yi yid ydd | zh zho chi cmn | fil"
    ).split("|")
]
READ_BY_MULTILINGUAL = frozenset(first for first, *_ in CODES)
TWO_LETTERS = {code: first for first, *longer in CODES for code in longer}
EXTRA = "pip install 'ctx-metrics[multilingual]'"
_WORD = re.compile(r"[^\W\d_]+")
# These words make up 35 to 50 % of English prose and 15 % of headlines, but less than 6 % in other European languages.
MIN_SHARE = 0.08
MIN_WORDS = 30
SAMPLE_WORDS = 5000


def looks_english(texts: Iterable[str | None]) -> bool:
    """Return False if a sample of the texts has too few English function words, or most of its letters are not Latin.

    Fewer than 30 words are not enough to judge and count as English, unless most of their letters are not Latin.

    >>> looks_english(["The cat sat on the mat, and it was not there for the mouse that lives with us."] * 2)
    True
    >>> looks_english(["Die Katze saß auf der Matte, und sie wartete nicht auf die Maus, die bei uns wohnt."] * 3)
    False
    """
    words: list[str] = []
    for text in texts:
        words += _WORD.findall((text or "").lower())
        if len(words) >= SAMPLE_WORDS:
            break
    letters = "".join(words)
    if not letters:
        return True
    latin = sum(character < "\u0250" for character in letters) / len(letters)
    if latin < 0.5:
        return False
    if len(words) < MIN_WORDS:
        return True
    return sum(word in FUNCTION_WORDS for word in words) / len(words) >= MIN_SHARE


def primary(language: str | None) -> str:
    """Return the first part of a language code, or "" if unknown; a three-letter code becomes the two-letter one if known.

    >>> primary("pt_BR"), primary("deu_Latn"), primary("gsw"), primary(None)
    ('pt', 'de', 'gsw', '')
    """
    first = (language or "").lower().replace("_", "-").split("-")[0]
    return TWO_LETTERS.get(first, first)


def guard_multilingual(metric: str, flag: str, asked: bool, language: str | None) -> None:
    """Raise InputError, naming the flag, if the multilingual encoder was not trained on the language.

    flag        the flag that selects another model
    asked       whether the user named the model; then a notice takes the place of the error
    language    code of the texts that the model reads, or None if unknown
    """
    if language and primary(language) not in READ_BY_MULTILINGUAL:
        if not asked:
            raise InputError(_unread(metric, flag, language))
        untrained = f"the multilingual encoder was not trained on the language {language!r}"
        notice(f"{untrained}; the scores may be unreliable", metric=metric)


def say_unread_source(metric: str, language: str | None) -> None:
    """Give notice if the multilingual encoder was not trained on the language of the sources."""
    if language and primary(language) not in READ_BY_MULTILINGUAL:
        untrained = f"the multilingual encoder was not trained on the language {language!r} of the sources"
        notice(f"{untrained}; the scores may be unreliable{likely(language)}", metric=metric)


def _unread(metric: str, flag: str, language: str) -> str:
    return f"{metric}: no embedded model reads the language {language!r}; name another with {flag}{likely(language)}"


def guard_english(
    metric: str,
    flag: str,
    asked: bool,
    *,
    language: str | None,
    texts: Iterable[str | None],
    mend: str = "",
    multilingual: bool = False,
) -> None:
    """Raise InputError, or give notice, if the embedded English encoder is about to read another language.

    asked           whether the user named the embedded model; then another language only causes a notice
    language        code of the texts that the model reads, such as "de" or "en_GB", or None if unknown
    texts           judged by looks_english if the language is unknown; texts that do not look English cause a notice
    mend            advice about texts that do not look English, for commands without -l
    multilingual    whether `flag` also takes the multilingual encoder, which is the default if it is installed
    """
    known = primary(language)
    if known == "en":
        return
    if known:
        assert language is not None
        if multilingual and not asked and known not in READ_BY_MULTILINGUAL:
            raise InputError(_unread(metric, flag, language))
        message = f"the model reads only English, but the language is {language!r}"
        if not asked:
            install = f", or install the one for this language with: {EXTRA}" if multilingual else ""
            raise InputError(f"{metric}: {message}; name another with {flag}{install}")
        notice(f"{message}; it is scored because {flag} asks for it", metric=metric)
    elif not looks_english(texts):
        if multilingual:
            another = worded(f"{flag} multilingual", "model='multilingual'")
            mend = f"{name_the_language()}, or another model, such as {another}"
        mend = mend or worded("name another model, or the language pair with -l", "name another model, or the language")
        notice(f"the embedded models read only English, but the text does not look English; {mend}")
