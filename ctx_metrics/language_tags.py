"""Language tags as users write them: one language, such as de, pt-BR or zh_Hans, or a pair, such as zh-Hans-en."""

import re
from collections.abc import Collection

from .errors import InputError

LANGUAGES = ("source_lang", "target_lang")
# ISO 639-1, including withdrawn codes that tools still write
TWO_LETTERS = frozenset(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja ji "
    "jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb "
    "nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr "
    "ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu".split()
)
# Codes that are often mistaken for a language's, such as its country's, and the right code.
LIKELY = dict(
    each.split("=")
    for each in (
        "al=sq at=de by=be cn=zh cz=cs dk=da ee=et gb=en ge=ka gr=el il=he in=id ir=fa iw=he ji=yi jp=ja jw=jv kr=ko kz=kk "
        "mo=ro mx=es pk=ur rs=sr se=sv sh=sr sp=es tw=zh ua=uk us=en vn=vi"
    ).split()
)
OFTEN_REGIONS = frozenset({"br", "ca", "ch", "tw"})  # also the languages Breton, Catalan, Chamorro and Twi
# what may follow a language's code: script, region, variant
_SUBTAG = re.compile(r"[A-Za-z]{4}|[A-Za-z]{2}|\d{3}|[A-Za-z0-9]{5,8}|\d[A-Za-z0-9]{3}")


def check_language(name: str, tag: str, taken: Collection[str] = LANGUAGES) -> None:
    """Raise InputError unless the tag names one language.

    name     the parameter: source_lang or target_lang
    taken    which of the two the caller accepts, for the message

    >>> check_language("target_lang", "pt-BR")
    >>> check_language("target_lang", "de-en")
    Traceback (most recent call last):
    ctx_metrics.errors.InputError: target_lang 'de-en' is a language pair; give source_lang='de', target_lang='en'
    """
    if not isinstance(tag, str):
        raise InputError(f"{name}: expected a language code such as 'de', got {type(tag).__name__}")
    if _is_pair(tag):
        halves = zip(LANGUAGES, _halves(tag) or (), strict=False)
        apart = ", ".join(f"{each}={half!r}" for each, half in halves if each in taken)
        raise InputError(f"{name} {tag!r} is a language pair; give {apart or 'one language'}{_of_region(tag)}")
    if fault := _fault(tag):
        raise InputError(f"{name} {tag!r}: {fault}")


def language_pair(text: str) -> tuple[str, str]:
    """Return the source and target languages of a pair; each may have a script and a region.

    Raises InputError if the text is not a pair of languages; the message suggests what was probably meant.

    >>> language_pair("de-en"), language_pair("zh-Hans-en"), language_pair("en-pt-BR"), language_pair("eng_Latn-deu_Latn")
    (('de', 'en'), ('zh-Hans', 'en'), ('en', 'pt-BR'), ('eng_Latn', 'deu_Latn'))
    """
    if pair := _halves(text):
        return pair
    source, _, target = text.partition("-")
    faults = [fault for half in (source, target) if half and (fault := _fault(half))]
    if not (source and target and "-" not in target and faults):
        raise InputError(f"{text} is not a language pair such as de-en or zh-Hans-en{_of_region(text)}")
    raise InputError(f"{text}: {faults[0]}")


def likely(tag: str) -> str:
    """Return a suggestion for a code that is often mistaken for another language's; "" for other tags.

    >>> likely("jp"), likely("de")
    ("; did you mean 'ja'?", '')
    """
    meant = LIKELY.get(tag.lower(), "")
    return f"; did you mean {meant!r}?" if meant else ""


def _halves(text: str) -> tuple[str, str] | None:
    """Return the two languages of a pair; None if the text is not a pair or is ambiguous."""
    halves = [(text[: dash.start()], text[dash.end() :]) for dash in re.finditer("-", text)]
    pairs = [half for half in halves if not any(_is_pair(tag) or _fault(tag) for tag in half)]
    # In "fr-fr-CA", the region in capitals is not a language.
    lower = [pair for pair in pairs if all(re.match("[a-z]+(?![A-Za-z])", tag) for tag in pair)] or pairs
    return lower[0] if len(lower) == 1 else None


def _is_pair(tag: str) -> bool:
    """Whether a second language follows the first."""
    first, *more = re.split("[-_]", tag)
    return any(
        each != first and (each in TWO_LETTERS or re.fullmatch("[a-z]{3}", each)) for each in _before_private_use(more)
    )


def _fault(tag: str) -> str:
    """Say what is wrong with the tag of one language; "" if nothing is."""
    first, *more = re.split("[-_]", tag)
    code = first.lower()
    if not re.fullmatch("[a-z]{2,3}", code) or not all(map(_SUBTAG.fullmatch, _before_private_use(more))):
        return f"{tag!r} is not a language code such as de, pt-BR or zh-Hans"
    if len(code) == 2 and code not in TWO_LETTERS:
        return f"{first!r} is not a language code of ISO 639{likely(code)}"
    return ""


def _before_private_use(subtags: list[str]) -> list[str]:
    """Return the subtags before the first single-character one, such as x, after which anything is allowed."""
    return subtags[: next((k for k, each in enumerate(subtags) if len(each) == 1), len(subtags))]


def _of_region(tag: str) -> str:
    """Say how to write a region if a subtag is a language code that is often meant as a region; else ""."""
    regions = [each for each in re.split("[-_]", tag)[1:] if each in OFTEN_REGIONS]
    return f", or write a region in capitals: {regions[0].upper()}" if regions else ""
