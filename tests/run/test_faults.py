"""Copies, other languages and repetitions: of single texts, and what is said of whole files."""

from argparse import ArgumentTypeError

import pytest
from plugin_conftest import REF, SOURCE, A, B, lines_of

from ctx_metrics.checks.texts import LEAST, check_faults, copied, faults, kinds, repetitive
from ctx_metrics.corpus import named

SENTENCE = "Der Vertrag wurde gestern von beiden Seiten unterschrieben."
GERMAN, ENGLISH, OTHER, REFERENCE = map(lines_of, (SOURCE, A, B, REF))
FRENCH = ["Le conseil municipal a décidé hier de transformer l'ancien port de pêche."] * len(GERMAN)


@pytest.mark.parametrize(
    "text, source, copy",
    [
        (SENTENCE, SENTENCE, True),
        (f"  {SENTENCE.upper()}", SENTENCE.replace(".", "!"), False),  # capital letters throughout may be names
        (SENTENCE.lower(), SENTENCE, True),
        ("The contract was signed by both sides yesterday.", SENTENCE, False),
        ("Ja, das ist gut.",) * 2 + (False,),
        ("Wolfgang Amadeus Mozart, Johann Sebastian Bach",) * 2 + (False,),
        ("https://example.com/what/is/this?really=yes 1234567",) * 2 + (False,),
        ("mail to some.body.or.other@example.com",) * 2 + (False,),
        ("市议会星期二晚上决定将旧渔港改建为住宅区，工程预计将于明年春天开始。",) * 2 + (True,),
        ("", "", False),
    ],
)
def test_copies(text, source, copy):
    assert copied(text, source) is copy


@pytest.mark.parametrize(
    "text, repeats",
    [
        ("y " * 50_000, True),
        ("He said that the of the of the of the of the of the of the house.", True),
        ("Lougõ-lougõ pūojpūojpūojpūojpūojpūoj bet idā", True),
        ("是的是的是的是的是的是的是的是的是的是的是的是的", True),
        ("ha ha ha ha ha", False),
        ("1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1", False),
        ("Name ............................................................ Date -------------------------", False),
        (" ".join(GERMAN), False),
        ("", False),
    ],
)
def test_repetitions(text, repeats):
    assert repetitive(text) is repeats
    assert not repetitive(text, text)


def test_all_faults_of_a_text():
    assert faults(SENTENCE, SENTENCE, "de", "en") == ["copies", "wrong-language"]
    assert faults(SENTENCE, SENTENCE, "de", "de") == faults(SENTENCE, None, None, None) == []
    assert faults("je je je je je je je je je je je je", None, "en", "fr") == ["repeats"]


@pytest.mark.parametrize("text", ["copy", "copies,", "none,copies", ""])
def test_kinds_that_are_not_known(text):
    with pytest.raises(ArgumentTypeError, match="is not one of copies, wrong-language, repeats"):
        kinds(text)


def said(caplog, systems, references=(), source=None, languages=("de", "en")):
    caplog.clear()
    given = [[named(lines, name) for name, lines in each] for each in (systems, references)]
    check_faults(*given, None if source is None else named(source, "src"), languages)
    return caplog.messages


def test_nothing_is_said_of_translations(caplog):
    assert said(caplog, [("a", ENGLISH), ("b", OTHER)], [("ref", REFERENCE)], GERMAN) == []
    assert said(caplog, [("a", ENGLISH)], [], GERMAN, (None, None)) == []


def test_the_source_in_the_references_place_is_no_translation(caplog):
    """As sacrebleu's command line has it for metrics that read no reference."""
    assert said(caplog, [("a", ENGLISH)], [("src", [*GERMAN])], GERMAN) == []
    assert len(said(caplog, [("a", ENGLISH)], [("ref", [*GERMAN])])) == 1


def test_copies_are_said_without_languages_too(caplog):
    for languages in (("de", "en"), (None, None)):
        [found] = said(caplog, [("a", GERMAN), ("b", ENGLISH)], [("ref", REFERENCE)], GERMAN, languages)
        assert found == "a: 52 of 57 checked lines are copies of the source: is this the translation?"
    assert said(caplog, [("a", GERMAN)], [], GERMAN, ("de", "de")) == []


def test_a_pair_that_is_the_wrong_way_round(caplog):
    wrong = "the language pair is {}, but {} checked lines of a{} look {}; if the pair is reversed, give -l {}"
    expected = wrong.format("de-en", "57 of 57", "", "German (de)", "en-de")
    assert said(caplog, [("a", GERMAN)]) == [expected]
    expected = wrong.format("en-de", "58 of 58", " (and of 2 more)", "English (en)", "de-en")
    texts = [("a", ENGLISH), ("b", OTHER)], [("ref", REFERENCE)]
    assert said(caplog, *texts, None, ("en", "de")) == said(caplog, *texts, GERMAN, ("en", "de")) == [expected]


def test_a_system_that_is_not_translated(caplog):
    expected = ["b: 57 of 57 checked lines look German (de), the source language: is this the translation?"]
    assert said(caplog, [("a", ENGLISH), ("b", GERMAN)], [("ref", REFERENCE)]) == expected
    other = [*GERMAN[1:], GERMAN[0]]  # no copies, and the source is what it should be
    assert said(caplog, [("b", other)], [], GERMAN) == expected


def test_a_third_language(caplog):
    looks = "checked lines look French (fr), not {}; check the file and -l"
    assert said(caplog, [("a", FRENCH)], [("ref", REFERENCE)]) == [f"a: 59 of 59 {looks.format('English (en)')}"]
    assert said(caplog, [("a", ENGLISH)], [], FRENCH) == [f"src: 59 of 59 {looks.format('German (de)')}"]


def test_few_lines_are_chance(caplog):
    half = len(ENGLISH) // 2
    assert said(caplog, [("a", [*GERMAN[: half - 1], *ENGLISH[half - 1 :]])], [], GERMAN) == []
    assert said(caplog, [("a", GERMAN[: LEAST - 1])]) == []
    assert len(said(caplog, [("a", GERMAN[:LEAST])])) == 1


def test_repetitions_of_a_system(caplog):
    looped = ["The the the the the the the the the the the."] * 20 + ENGLISH[20:]
    [found] = said(caplog, [("a", looped)])
    assert found == "a: 20 of 58 checked lines repeat a word or phrase many times; check the system"
