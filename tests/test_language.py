import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.language import MIN_WORDS, SAMPLE_WORDS, guard_english, looks_english

ENGLISH = "It was not the first time that they had seen the river from the bridge, and it would not be the last."
GERMAN = "Es war nicht das erste Mal, dass sie den Fluss von der Brücke aus sahen, und es sollte nicht das letzte sein."
FRENCH = "Ce n'était pas la première fois qu'ils voyaient le fleuve depuis le pont, et ce ne serait pas la dernière."
DUTCH = "Het was niet de eerste keer dat zij de rivier vanaf de brug zagen en het zou ook niet de laatste keer zijn."
RUSSIAN = "Они не впервые видели реку с моста."
CHINESE = "他们不是第一次从桥上看到这条河。"


@pytest.mark.parametrize(
    "text, english",
    [(ENGLISH, True), (GERMAN, False), (FRENCH, False), (DUTCH, False), (RUSSIAN, False), (CHINESE, False)],
)
def test_looks_english(text, english):
    assert looks_english([text] * 3) is english


def test_too_little_to_tell_counts_as_english():
    assert looks_english([])
    assert looks_english(["", None, "42 % !"])
    assert looks_english([" ".join(["Katze"] * (MIN_WORDS - 1))])
    assert not looks_english([" ".join(["Katze"] * MIN_WORDS)])


def test_only_a_sample_is_read():
    def texts():
        yield "the cat and the dog " * (SAMPLE_WORDS // 5)
        raise AssertionError("read on after the sample")

    assert looks_english(texts())


@pytest.mark.parametrize("language", ["en", "EN", "en_GB", "en-US", "eng"])
def test_english_passes_in_silence(language, caplog):
    guard_english("bertr", "--flag", False, language=language, texts=[GERMAN] * 3)
    assert not caplog.records


def test_a_known_other_language_is_an_error_unasked_and_said_when_asked(caplog):
    with pytest.raises(InputError, match="bertr: .* the language is 'de'; name another with --flag"):
        guard_english("bertr", "--flag", False, language="de", texts=[ENGLISH])
    guard_english("bertr", "--flag", True, language="de", texts=[ENGLISH])
    assert caplog.messages == [
        "bertr: the model reads only English, but the language is 'de'; it is scored because --flag asks for it"
    ]


def test_an_unknown_language_is_said_when_the_text_is_not_english(caplog):
    guard_english("bertr", "--flag", False, language=None, texts=[ENGLISH] * 3)
    assert not caplog.records
    guard_english("bertr", "--flag", False, language=None, texts=[GERMAN] * 3)
    guard_english("bertr", "--flag", False, language=None, texts=[GERMAN] * 3, mend="ask another")
    looks = "the embedded models read only English, but the text does not look English; "
    assert caplog.messages == [looks + "name another model, or the language", looks + "ask another"]
