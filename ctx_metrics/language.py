"""Language tags as users write them (de, pt-BR, zh_Hans; a pair is zh-Hans-en), and checks that a model reads a text's
language."""

import re
from collections.abc import Collection, Iterable

from .errors import InputError
from .language_codes import NAMES, SHORTEST
from .notices import notice
from .wording import name_the_language, worded

# Frequent English function words that are rare as words of other languages in Latin script.
FUNCTION_WORDS = frozenset(
    "the of and to that it for with this is are was were be been has have had not but from they which you he she his her "
    "their we our at by on as would will there what who when can could should about into than them its".split()
)
# Languages that multilingual-e5 was trained on, which its model card gives as those of XLM-R.
READ_BY_MULTILINGUAL = frozenset(
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is "
    "it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my nb ne nl nn no om or pa pl ps pt ro ru sa sd si "
    "sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh".split()
)
# Chinese languages, whose texts in Chinese script need the same tokenizer as Mandarin
CHINESE = frozenset("zh yue wuu nan hak gan hsn cdo cjy lzh".split())
SCRIPT_OF_CHINESE = {"CN": "Hans", "SG": "Hans", "TW": "Hant", "HK": "Hant", "MO": "Hant"}
EXTRA = "pip install 'ctx-metrics[multilingual]'"
WORD = re.compile(r"[^\W\d_]+")
MIN_LETTERS = 20  # of shorter texts no language is told, and no fault
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
        words += WORD.findall((text or "").lower())
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
    """Return the shortest ISO 639 code of the language that a tag names, without script and region; "" if unknown.

    A code of a language that is written as another one, such as arz or cmn, becomes the code of that one.

    >>> primary("pt_BR"), primary("deu_Latn"), primary("GER"), primary("gsw"), primary(None)
    ('pt', 'de', 'de', 'gsw', '')
    """
    first = (language or "").lower().replace("_", "-").split("-")[0]
    return SHORTEST.get(first, first)


def script(language: str | None) -> str:
    """Return the ISO 15924 code of the script that a language tag names, or that a region implies for Chinese; else "".

    >>> script("zho_hans"), script("sr-Latn-RS"), script("zh-TW"), script("pt_BR")
    ('Hans', 'Latn', 'Hant', '')
    """
    subtags = _before_private_use(re.split("[-_]", language or "")[1:])
    named = next((each.capitalize() for each in subtags if re.fullmatch("[A-Za-z]{4}", each)), "")
    return named or (SCRIPT_OF_CHINESE.get(region(language), "") if primary(language) == "zh" else "")


def region(language: str | None) -> str:
    """Return the region that a language tag names, in capitals; "" if it names none.

    >>> region("pt_br"), region("sr-Latn-RS"), region("es-419"), region("deu_Latn")
    ('BR', 'RS', '419', '')
    """
    subtags = _before_private_use(re.split("[-_]", language or "")[1:])
    return next((each.upper() for each in subtags if re.fullmatch(r"[A-Za-z]{2}|\d{3}", each)), "")


def is_variant(tag: str, wanted: str) -> bool:
    """Whether a tag names the wanted language, in the wanted script and region as far as both tags say so.

    >>> is_variant("zho_Hans", "zh_CN"), is_variant("zh-TW", "zh_CN"), is_variant("pt-BR", "pt"), is_variant("de", "cs")
    (True, False, True, False)
    """
    parts = ((script(tag), script(wanted)), (region(tag), region(wanted)))
    return primary(tag) == primary(wanted) and all(not one or not other or one == other for one, other in parts)


def language_name(tag: str) -> str:
    """Return a language's English name and its tag, for messages; the tag alone if the name is unknown.

    >>> language_name("de"), language_name("zho_Hans"), language_name("pt-BR"), language_name("Cyrillic")
    ('German (de)', 'Chinese (zho_Hans)', 'Portuguese (pt-BR)', 'Cyrillic')
    """
    name = NAMES.get(primary(tag))
    return f"{name} ({tag})" if name else tag


def bleu_language(language: str | None) -> str:
    """Return the code by which BLEU chooses a tokenizer: the shortest one, "zh" for all Chinese languages, and "" for texts
    in Latin script, such as Pinyin, and if the language is unknown.

    >>> bleu_language("zh_CN"), bleu_language("yue-Hant"), bleu_language("jpn_Jpan"), bleu_language("zh-Latn")
    ('zh', 'zh', 'ja', '')
    """
    if script(language) == "Latn":
        return ""
    code = primary(language)
    return "zh" if code in CHINESE else code


def guard_multilingual(metric: str, flag: str, asked: bool, language: str | None) -> None:
    """Raise InputError, naming the flag, if the multilingual encoder was not trained on the language.

    asked    whether the user named the model; then a notice takes the place of the error
    """
    if language and primary(language) not in READ_BY_MULTILINGUAL:
        if not asked:
            raise _unread(metric, flag, language)
        untrained = f"the multilingual encoder was not trained on {language_name(language)}"
        notice(f"{untrained}; the scores may be unreliable", metric=metric)


def say_unread_source(metric: str, language: str | None) -> None:
    if language and primary(language) not in READ_BY_MULTILINGUAL:
        untrained = f"the multilingual encoder was not trained on {language_name(language)}, the source language"
        notice(f"{untrained}; the scores may be unreliable{likely(language)}", metric=metric)


def _unread(metric: str, flag: str, language: str) -> InputError:
    fix = f"name another with {flag}{likely(language)}"
    return InputError(f"no embedded model reads {language_name(language)}", about=metric, fix=fix)


def guard_english(
    metric: str,
    flag: str,
    asked: bool,
    *,
    language: str | None,
    texts: Iterable[str | None],
    fix: str = "",
    multilingual: bool = False,
) -> None:
    """Raise InputError, or give notice, if the embedded English encoder is about to read another language.

    asked           whether the user named the embedded model; then another language only causes a notice
    texts           judged by looks_english if the language is unknown; texts that do not look English cause a notice
    multilingual    whether `flag` also takes the multilingual encoder, which is the default if it is installed
    """
    known = primary(language)
    if known == "en":
        return
    if known:
        assert language is not None
        if multilingual and not asked and known not in READ_BY_MULTILINGUAL:
            raise _unread(metric, flag, language)
        message = f"the model reads only English, but the language is {language_name(language)}"
        if not asked:
            install = f", or install the one for this language with: {EXTRA}" if multilingual else ""
            raise InputError(message, about=metric, fix=f"name another with {flag}{install}")
        notice(f"{message}; it is scored because {flag} asks for it", metric=metric)
    elif not looks_english(texts):
        if multilingual:
            another = worded(f"{flag} multilingual", "model='multilingual'")
            fix = f"{name_the_language()}, or another model, such as {another}"
        fix = fix or worded("name another model, or the language pair with -l", "name another model, or the language")
        notice(f"the embedded models read only English, but the text does not look English; {fix}")


LANGUAGES = ("source_lang", "target_lang")
# Codes that are often mistaken for a language's, such as its country's, and the right code.
LIKELY = dict(
    each.split("=")
    for each in (
        "al=sq at=de by=be cn=zh cz=cs dk=da ee=et gb=en ge=ka gr=el il=he in=hi ir=fa jp=ja kr=ko kz=kk "
        "mx=es pk=ur rs=sr se=sv sh=sr sp=es tw=zh ua=uk us=en vn=vi"
    ).split()
)
# also the languages Breton, Catalan, Chamorro, Indonesian (an old code) and Twi
OFTEN_REGIONS = frozenset({"br", "ca", "ch", "in", "tw"})
# parts that may follow a language's code: script, region, variant
_SUBTAG = re.compile(r"[A-Za-z]{4}|[A-Za-z]{2}|\d{3}|[A-Za-z0-9]{5,8}|\d[A-Za-z0-9]{3}")


def check_language(name: str, tag: str, taken: Collection[str] = LANGUAGES) -> None:
    """Raise InputError unless the tag names one language.

    >>> check_language("target_lang", "pt-BR"), check_language("target_lang", "ko_kr")
    (None, None)
    >>> check_language("target_lang", "de-en")
    Traceback (most recent call last):
    ctx_metrics.errors.InputError: target_lang 'de-en' is a language pair; give source_lang='de', target_lang='en'
    """
    if not isinstance(tag, str):
        raise InputError(f"{name}: expected a language code such as 'de', got {type(tag).__name__}")
    if _is_pair(tag):
        halves = zip(LANGUAGES, _halves(tag) or (), strict=False)
        apart = ", ".join(f"{each}={half!r}" for each, half in halves if each in taken)
        raise InputError(f"{name} {tag!r} is a language pair", fix=f"give {apart or 'one language'}{_of_region(tag)}")
    if fault := _fault(tag):
        raise InputError(f"{name} {tag!r}: {fault}")


def language_pair(text: str) -> tuple[str, str]:
    """Return the source and target languages of a pair; each may have a script and a region.

    >>> language_pair("de-en"), language_pair("zh-Hans-en"), language_pair("en-pt-BR"), language_pair("eng_Latn-deu_Latn")
    (('de', 'en'), ('zh-Hans', 'en'), ('en', 'pt-BR'), ('eng_Latn', 'deu_Latn'))
    >>> language_pair("en-ko_kr")
    ('en', 'ko_KR')
    >>> language_pair("zh-TW")
    Traceback (most recent call last):
    ctx_metrics.errors.InputError: zh-TW is one language with a region; give a pair, such as en-zh-TW
    """
    if re.fullmatch(
        "(?:zh(?:[-_][A-Z][a-z]{3})?[-_]TW|pt[-_]BR|fr[-_](?:CA|CH)|it[-_]CH)", text
    ):  # not Twi, Breton, ...
        raise InputError(f"{text} is one language with a region", fix=f"give a pair, such as en-{text}")
    if pair := _halves(text):
        return pair
    source, _, target = text.partition("-")
    faults = [fault for half in (source, target) if half and (fault := _fault(half))]
    if not (source and target and "-" not in target and faults):
        raise InputError(f"{text} is not a language pair such as de-en or zh-Hans-en{_of_region(text)}")
    raise InputError(f"{text}: {faults[0]}")


def named_languages(text: str) -> tuple[str | None, str | None]:
    """Return the source and target languages of a pair, or of a single tag, which is the target's; None if not named.

    >>> named_languages("en-zh-Hans"), named_languages("pt-BR"), named_languages("")
    (('en', 'zh-Hans'), (None, 'pt-BR'), (None, None))
    """
    if not text or not (_is_pair(text) or _fault(text)):
        return None, text or None
    return language_pair(text)


def say_country(tag: str) -> None:
    """Give notice if a tag is the code of a language, but more often written for a country whose language was meant."""
    if (code := primary(tag)) in NAMES and likely(tag):
        notice(f"{tag!r} is the code of {NAMES[code]}{likely(tag)}")


def likely(tag: str) -> str:
    """Return a suggestion for a code that is often mistaken for another language's; "" for other tags.

    >>> likely("jp"), likely("de")
    ("; did you mean 'ja'?", '')
    """
    meant = LIKELY.get(tag.lower(), "")
    return f"; did you mean {meant!r}?" if meant else ""


def _halves(text: str) -> tuple[str, str] | None:
    halves = [(text[: dash.start()], text[dash.end() :]) for dash in re.finditer("-", text)]
    if len(halves) == 1 and "_" in text and not any(map(_fault, halves[0])):
        source, target = (_with_region(half) for half in halves[0])
        return source, target
    pairs = [half for half in halves if not any(_is_pair(tag) or _fault(tag) for tag in half)]
    # In "fr-fr-CA", the region in capitals is not a language.
    lower = [pair for pair in pairs if all(re.match("[a-z]+(?![A-Za-z])", tag) for tag in pair)] or pairs
    return lower[0] if len(lower) == 1 else None


def _is_pair(tag: str) -> bool:
    first, *more = re.split("[-_]", tag)
    if "_" in tag and len(more) == 1 and (more[0] in OFTEN_REGIONS or LIKELY.get(more[0]) == primary(first)):
        return False  # a locale, such as pt_br or ko_kr
    return any(
        each != first and (each in SHORTEST or re.fullmatch("[a-z]{3}", each)) for each in _before_private_use(more)
    )


def _with_region(tag: str) -> str:
    """Return one language of a pair; the part after its underscore is a region, not a language: ko_kr becomes ko_KR."""
    return re.sub("(?<=_)[a-z]{2}$", lambda region: region[0].upper(), tag)


def _fault(tag: str) -> str:
    first, *more = re.split("[-_]", tag)
    code = first.lower()
    if not re.fullmatch("[a-z]{2,3}", code) or not all(map(_SUBTAG.fullmatch, _before_private_use(more))):
        return f"{tag!r} is not a language code such as de, pt-BR or zh-Hans"
    if len(code) == 2 and code not in SHORTEST:
        return f"{first!r} is not a language code of ISO 639{likely(code)}"
    return ""


def _before_private_use(subtags: list[str]) -> list[str]:
    """Return the subtags before the first single-character one, such as x, after which anything is allowed."""
    return subtags[: next((k for k, each in enumerate(subtags) if len(each) == 1), len(subtags))]


def _of_region(tag: str) -> str:
    """Say how to write a region if a subtag is a language code that is often meant as a region; else ""."""
    regions = [each for each in re.split("[-_]", tag)[1:] if each in OFTEN_REGIONS]
    return f", or write a region in capitals: {regions[0].upper()}" if regions else ""
