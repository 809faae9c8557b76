"""Texts in another language or script are found; names, short texts and close languages give no verdict."""

import sys

import pytest
from plugin_conftest import run
from texts_by_language import TEXTS

from ctx_metrics.checks.languages import Verdict, are_close, described, verdict
from ctx_metrics.language import MIN_LETTERS


@pytest.mark.parametrize("language", TEXTS)
def test_every_other_language_is_wrong(language):
    assert verdict(TEXTS[language], language) == Verdict(False)
    for other in TEXTS.keys() - {language}:
        assert verdict(TEXTS[other], language).wrong, (other, language)


@pytest.mark.parametrize(
    "text, language, looks",
    [
        (TEXTS["de"], "en_GB", "de"),
        (TEXTS["de"].upper(), "eng", "de"),
        (TEXTS["ru"], "de", "Cyrillic"),
        (TEXTS["ja"], "zh-Hans", "ja"),
        (TEXTS["ru"], "gd", "Cyrillic"),  # the model does not know Gaelic, but its script is known
    ],
)
def test_what_a_text_looks_like(text, language, looks):
    assert verdict(text, language) == Verdict(True, looks)


@pytest.mark.parametrize(
    "text, language",
    [
        ("Das ist ein Hund. 1234567890", "en"),
        ("", "en"),
        ("https://example.com/der-alte-fischereihafen @brakensieler_tageblatt", "en"),
        (TEXTS["de"], "tlh"),
        (TEXTS["de"], "mas"),
    ],
)
def test_what_cannot_be_told(text, language):
    assert verdict(text, language) is None


def test_the_first_letters_that_are_enough():
    text = "wir haben dort schon gefragt"
    short = next(text[:k] for k in range(len(text)) if sum(map(str.isalpha, text[:k])) == MIN_LETTERS)
    assert verdict(short, "en") is not None and verdict(short[:-1], "en") is None


@pytest.mark.parametrize(
    "text, language",
    [
        ("New restrictions диспропорционально affect young people and minorities in many countries.", "en"),
        ("Мэр города Jean-Luc Mélenchon-Beauregard выступил в понедельник вечером в прямом эфире.", "ru"),
        ("他在 Saturday Night Live 节目中第一次公开谈论了这部由 Christopher Nolan 执导的电影。", "zh"),
        ("Gradsko vijeće odlučilo je u utorak navečer preurediti staru ribarsku luku u stambenu četvrt.", "sr"),
        ("Градско веће одлучило је у уторак увече да преуреди стару рибарску луку.", "sr"),
        ("Byrådet vedtok tirsdag kveld å bygge om den gamle fiskehavna til et boligområde.", "da"),
    ],
)
def test_names_foreign_words_and_close_languages_are_right(text, language):
    assert verdict(text, language) == Verdict(False)


def test_close_languages():
    assert are_close("nb_NO", "da") and are_close("hrv", "sr")
    assert not are_close("ru", "uk") and not are_close("zh", "ja") and not are_close("xx", "yy")


@pytest.mark.full
def test_the_model_is_loaded_only_for_a_language_that_is_named():
    code = (
        "import sys; from ctx_metrics.corpus import named; from ctx_metrics.checks.texts import check_texts; "
        "text = named(['The council met on Tuesday evening.'] * 9, 'a'); check_texts([text], [], text, {}); "
        "print('py3langid' in sys.modules)"
    )
    assert run(sys.executable, "-c", code.format("(None, None)")).stdout == "False\n"
    assert run(sys.executable, "-c", code.format("('de', 'en')")).stdout == "True\n"


def test_a_model_is_told_the_language_by_name():
    tags = {
        "zho_Hans": "Chinese (Simplified)",
        "ZH": "Chinese",
        "zh_TW": "Chinese (Traditional, TW)",
        "kor_Hang": "Korean",
    }
    tags |= {"deu_Latn": "German", "hi_Latn": "Hindi (Latin)", "en_XX": "English", "sr_Cyrl": "Serbian (Cyrillic)"}
    assert {tag: described(tag) for tag in tags} == tags
    assert described("tlh") == "tlh"
