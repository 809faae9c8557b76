"""Texts that cannot be translations are told, and short, copied and mixed ones that can be are not."""

import pytest
from texts_by_language import TEXTS as BY_LANGUAGE

from ctx_metrics.checks.untranslated import untranslated

ENGLISH = BY_LANGUAGE["en"]
TEXTS = {language: text for language, text in BY_LANGUAGE.items() if language != "en"}


@pytest.mark.parametrize("language", TEXTS)
def test_only_the_target_language_is_a_translation(language):
    assert not untranslated(TEXTS[language], ENGLISH, "en", language)
    for other in [each for each in TEXTS if each != language]:
        assert untranslated(TEXTS[other], ENGLISH, "en", language), other
    assert untranslated(ENGLISH, ENGLISH, "en", language)


@pytest.mark.parametrize(
    "text, pair",
    [
        ("...", ("en", "de")),
        ("🎉🎉 !!", (None, None)),  # whatever the languages are
        ("on tuesday evening, the town council decided to convert the old fishing harbour", (None, None)),
        ("市议会决定", ("en", "de")),  # short, but in a script in which German has no names
        ("市议会 (council) 决定将旧渔港改建 #blacklivesmatter", ("en", "de")),
        ("Городской совет", ("en", "ja")),
    ],
)
def test_what_needs_no_long_text(text, pair):
    assert untranslated(text, ENGLISH, *pair)


@pytest.mark.parametrize(
    "source, pair, floored",
    [
        ("Go to your Home screen.", ("en", "de"), True),
        ("Go to your Home screen.", ("en", "zh"), True),
        ("Go to your Home screen.", ("de", "en"), False),
        ("Go to your Home screen.", (None, "de"), False),
        ("Bitte gehen Sie weiter!", ("de", "en"), True),
        ("Pacta sunt servanda...", ("cs", "en"), False),
        ("E-mail: 0000 @ gmail.com", ("uk", "cs"), False),
        ("Unacceptable", ("zh", "en"), False),
    ],
)
def test_short_copies(source, pair, floored):
    assert untranslated(source, source, *pair) == floored


@pytest.mark.parametrize(
    "text, source, pair",
    [
        ("OK", "OK", ("en", "de")),
        ("1.234", "1,234", ("en", "de")),
        ("...", "!?", ("en", "de")),  # no words in the source either
        ("https://example.com/the/old/fishing/harbour", "https://example.com/the/old/fishing/harbour", ("en", "de")),
        ("Johann Sebastian Bach, Wohltemperiertes Klavier", "Johann Sebastian Bach", ("en", "ja")),
        ("Das ist gut.", ENGLISH, ("en", "fr")),  # too short to tell
        (TEXTS["cs"], TEXTS["cs"], ("sk", "cs")),
        (TEXTS["de"], TEXTS["de"], ("de_AT", "de")),
        (ENGLISH, ENGLISH, ("de", "en")),  # in the target language already
        (ENGLISH, ENGLISH, ("fr", "de")),  # quoted in a French text, and left as it was
        ("Oder „36 quai des Orfèvres“ mit Daniel Auteuil und Gérard Depardieu.", "", ("fr", "de")),
        ("EverGrow与Shiba Inu非常不同。", "EverGrow is very different from Shiba Inu.", ("en", "zh")),
        ("С начала 2020 года это два шага вперед и один назад (а иногда наоборот).", ENGLISH, ("en", "ru")),
        ("I’ll recollect you and smile ☺️❤️❤️❤️", "І, буду згадувати та посміхатися ☺️❤️❤️❤️", ("uk", "en")),
        (TEXTS["fr"], ENGLISH, ("en", None)),
        (TEXTS["fr"], ENGLISH, ("en", "mas")),  # a language that nothing is known of
    ],
)
def test_what_can_be_a_translation(text, source, pair):
    assert not untranslated(text, source, *pair)
