"""The guard for models that read one language only: is this text English?"""

import re
from collections.abc import Iterable

from .errors import InputError
from .notices import notice

# Frequent English function words that are rare as words of other languages in Latin script.
FUNCTION_WORDS = frozenset(
    "the of and to that it for with this is are was were be been has have had not but from they which you he she his her "
    "their we our at by on as would will there what who when can could should about into than them its".split()
)
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


def guard_english(
    metric: str,
    flag: str,
    asked: bool,
    *,
    language: str | None,
    texts: Iterable[str | None],
    mend: str = "name another model, or the language pair with -l",
) -> None:
    """Stop or warn when the embedded English encoder is about to read another language.

    asked       whether the user named the embedded model; then a known other language is only said
    language    code of the texts that the model reads, such as "de" or "en_GB", or None where unknown
    mend        what to do about texts that do not look English, for commands without -l
    """
    known = language.lower().replace("_", "-").split("-")[0] if language else None
    if known in ("en", "eng"):
        return
    if known:
        message = f"{metric}: the model reads English only, and the language is {language!r}"
        if not asked:
            raise InputError(f"{message}; name another with {flag}")
        notice(f"{message}; scored all the same, since {flag} asks for it")
    elif not looks_english(texts):
        notice(f"the embedded models read English only, and the text does not look English; {mend}")
