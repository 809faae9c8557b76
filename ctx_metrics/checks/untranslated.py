"""Texts that cannot be translations, whatever a model makes of them: no words, a copy of the source, another language."""

from ..language import MIN_LETTERS, WORD
from .languages import are_close, in_other_script, likelier, looks_like
from .texts import copied, repetitive

# By how many nats another language must be likelier, with and without names; and the source's, for a short copy of it. The
# checks of texts, which only warn, ask for less; docs/comet.md says how often this is wrong.
SURE, OF_COPY = 30.0, 6.0
LEAST = 8  # letters in words that are not names


def untranslated(text: str, source: str, source_lang: str | None = None, target_lang: str | None = None) -> bool:
    """Whether a hypothesis, which is not empty, cannot be a translation of its source.

    Its language is not checked if `target_lang` is unknown. In doubt, as for a short text, the answer is no.

    >>> untranslated("Der Vertrag wurde gestern unterschrieben.", "The contract was signed yesterday.", "en", "zh")
    True
    >>> untranslated("?!", "The contract was signed yesterday."), untranslated("OK", "OK", "en", "de")
    (True, False)
    """
    if not any(map(str.isalnum, text)):
        return WORD.search(source) is not None
    if not target_lang:
        return copied(text, source)
    if in_other_script(text, target_lang):
        return True
    if not are_close(source_lang, target_lang) and copied(text, source, LEAST):
        return _must_be_translated(text, copied(text, source), source_lang, target_lang)
    # a word repeated many times does not reveal the language
    return _surely_other(text, target_lang, MIN_LETTERS) and (
        _surely_other(_without_names(text), target_lang) and not repetitive(text, source)
    )


def _must_be_translated(source: str, is_long: bool, source_lang: str | None, target_lang: str) -> bool:
    """Whether a source is not in the target language already, nor quoted from a third one."""
    told = likelier(source, target_lang, LEAST)
    if told is None:
        return is_long
    if looks_like(told.looks, source_lang):
        return told.nats > (0 if is_long else OF_COPY)
    return is_long and told.nats > 0 and not (source_lang and _surely_other(source, source_lang))


def _surely_other(text: str, language: str, least: int = LEAST) -> bool:
    told = likelier(text, language, least)
    return told is not None and told.nats > SURE


def _without_names(text: str) -> str:
    """Return the words that do not begin with a capital letter; all of them if there are only capitals.

    >>> _without_names("Der Zug hält in Brandýs nad Labem.")
    'hält in nad'
    """
    if text.isupper():
        return text
    return " ".join(word for word in text.split() if (found := WORD.search(word)) and not found.group()[0].isupper())
