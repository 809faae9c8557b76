"""A run's languages ("de") as a translation model's own codes ("de", "de_DE", "deu_Latn")."""

import difflib
from collections.abc import Sequence

from ..errors import InputError

SHOWN = 6


def own_code(language: str | None, given: str | None, codes: Sequence[str], flag: str, model: str) -> str:
    """The model's code of a language: the one that the user gave, or the one that can be meant by the language.

    A language means a code that equals it, or the only one with the same language part. Two letters never mean three:
    "es" begins the code of Estonian in ISO 639-3, and "ja" that of Javanese.

    language    of the run, such as "de" or "pt_BR"; None where unknown
    given       the model's code as the user gave it, or None
    codes       all that the model has
    flag        the flag that takes the code, and `model` the model's name, for messages

    Raises InputError where there is no such code, or none or several are meant.

    >>> own_code("de", None, ["de_DE", "en_XX"], "--rtt-bt-from", "mbart")
    'de_DE'
    """
    if given is not None:
        if given in codes:
            return given
        raise InputError(f"{flag} {given}: {model} does not have this code; {_near(given, codes)}")
    if language is None:
        raise InputError(
            f"{model} translates between several languages: name the language pair with -l, or the model's code with {flag}"
        )
    asked = _parts(language)
    meant = [code for code in codes if _parts(code) == asked]
    meant = meant or [code for code in codes if _parts(code)[0] == asked[0]]
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise InputError(
            f"{language!r} can be several languages of {model}: name one with {flag}: {', '.join(sorted(meant))}"
        )
    raise InputError(f"{model} has no code {language!r}; name its code with {flag}; {_near(language, codes)}")


def _parts(code: str) -> list[str]:
    return code.casefold().replace("-", "_").split("_")


def _near(code: str, codes: Sequence[str]) -> str:
    near = [each for each in sorted(codes) if each.casefold()[:2] == code.casefold()[:2]]
    near += [each for each in difflib.get_close_matches(code, codes, SHOWN, 0.5) if each not in near]
    if near:
        return f"similar codes: {', '.join(near[:SHOWN])}"
    return f"it has {', '.join(sorted(codes)[:SHOWN])}{', ...' if len(codes) > SHOWN else ''}"
