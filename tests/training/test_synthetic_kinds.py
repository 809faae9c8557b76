"""Each kind of synthetic error really changes what a text says, in scripts with and without case, spaces and its own digits."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ctx_metrics.training.quality.synthetic import corruptions as put
from ctx_metrics.training.quality.synthetic import harmless
from ctx_metrics.training.quality.synthetic.kinds import ERRORS, FULL, Clean, errors, harmless_change
from ctx_metrics.training.quality.synthetic.kinds import HARMLESS as HARMLESS_KINDS
from ctx_metrics.training.quality.synthetic.negation import LANGUAGES, flip_negation
from ctx_metrics.training.quality.synthetic.parts import added, clauses, lost, moved, sentences, words

TEXTS = {
    "en": 'In May, Angela Merkel met 12 ministers in Rome, and they didn\'t agree. "It is over" - she said that in 2019.',
    "de": "Im Mai traf Angela Merkel 12 Minister in Rom, aber sie einigten sich nicht. „Es ist vorbei“ – das sagte sie 2019.",
    "ru": "В мае Ангела Меркель встретила 12 министров в Риме, но они не договорились. «Всё кончено» – сказала она в 2019 году.",
    "zh": "五月，默克尔在罗马会见了12位部长，但他们不同意这个计划。她在2019年说：“一切都结束了。”",
    "ar": 'في مايو، التقت ميركل ١٢ وزيرا في روما، لكنهم لم يتفقوا على شيء. قالت "انتهى الأمر" - وكان ذلك عام ٢٠١٩.',
}
SOURCES = {
    "en": "Im Mai traf Merkel zwölf Minister, doch einigten sie sich mitnichten. Das wäre aus, sagte sie hinterher allen.",
    "de": "In spring Merkel saw twelve ministers, yet nothing came of it. All is lost, she told everyone afterwards.",
    "ru": "In spring Merkel saw twelve ministers, yet nothing came of it. All is lost, she told everyone afterwards.",
    "zh": "In spring Merkel saw twelve ministers, yet nothing came of it. All is lost, she told everyone afterwards.",
    "ar": "In spring Merkel saw twelve ministers, yet nothing came of it. All is lost, she told everyone afterwards.",
}
DROPS = [put.drop_clause, put.drop_half, put.drop_sentence, put.drop_words]
SPACED = ["en", "de", "ru", "ar"]
SEEDS = range(40)


def seeded(seed):
    return np.random.default_rng(seed)


def made(change, *given):
    """The different results of a change for many seeds; it must apply."""
    results = {change(*given, seeded(seed)) for seed in SEEDS}
    assert None not in results and given[0] not in results
    return results


def bare(text):
    """The words of a text, or its Chinese characters, each with its number."""
    return Counter(re.findall(r"[一-鿿]|[^\W一-鿿]+", text.casefold()))


def letters(text):
    return "".join(filter(str.isalnum, text)).casefold()


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("drop", DROPS)
def test_dropping_leaves_part_of_the_text_in_its_order(drop, language):
    text = TEXTS[language]
    whole = []
    for result in made(drop, text):
        assert 0 < len(letters(result)) < len(letters(text)) and not bare(result) - bare(text)
        left = iter(words(text.casefold()))
        assert all(any(letters(word) == letters(other) for other in left) for word in words(result) if letters(word))
        capital = result[0].isupper() or result[0] in '"„«' or language in ("zh", "ar")
        whole.append(capital and result.rstrip('"”')[-1] in ".。")
    # it still looks like a whole sentence; only some halves do not
    assert all(whole) or (drop is put.drop_half and np.mean(whole) > 0.5)


@pytest.mark.parametrize("language", TEXTS)
def test_repeating_keeps_everything_and_adds_something_that_was_there(language):
    text = TEXTS[language]
    results = made(put.repeat, text)
    for result in results:
        assert not bare(text) - bare(result) and len(letters(result)) > len(letters(text))
        assert set(bare(result)) == set(bare(text))
    assert len({added(text, result) > 1 for result in results}) == 2  # once, and several times


@pytest.mark.parametrize("language", TEXTS)
def test_source_words_take_the_place_of_words_of_the_text(language):
    text, source = TEXTS[language], SOURCES[language]
    for result in made(put.keep_source_words, text, source):
        new = bare(result) - bare(text)
        assert new and not new - bare(source) - bare(text)
        assert bare(text) - bare(result) and bare(text) & bare(result)


@pytest.mark.parametrize("language", TEXTS)
def test_a_changed_number_has_as_many_digits_of_the_same_script(language):
    text = TEXTS[language]
    results = made(put.change_number, text)
    assert len(results) > 10
    for result in results:
        assert len(result) == len(text)
        changed = [(one, other) for one, other in zip(text, result) if one != other]
        digits = [one.isdigit() and other.isdigit() and abs(ord(one) - ord(other)) <= 9 for one, other in changed]
        assert digits and (all(digits) or {*changed[0]} <= {*"二三四五六七八九"})


@pytest.mark.parametrize(
    "text,possible",
    [
        ("on 3 May", {f"on {day} May" for day in (2, *range(4, 10))}),
        ("on 31.12.", None),
        ("in 2019", {f"in {year}" for year in range(1999, 2031) if year != 2019}),
        ("the 1980s", {f"the {year}s" for year in (1960, 1970, 1990, 2000)}),
        ("400 metres", {f"{digit}00 metres" for digit in (1, 2, 3, 5, 6, 7, 8, 9)}),
        ("3.5 %", None),
        ("No. 0025", None),
        ("No. 0900", None),
        ("00:30 and 000", None),
        ("820 000 people", {f"{hundred} 000 people" for hundred in range(100, 1000, 10) if hundred != 820}),
        ("三年后", {f"{numeral}年后" for numeral in "二四五六七八九"}),
    ],
)
def test_a_changed_number_is_plausible(text, possible):
    results = {put.change_number(text, seeded(seed)) for seed in range(200)}
    assert results <= possible if possible else all(len(result) == len(text) for result in results)
    assert len(results) > 3 and text not in results


@pytest.mark.parametrize("language", ["en", "de", "ru"])
def test_another_name_takes_the_place_of_a_name(language):
    text, others = TEXTS[language], ["Müller", "Ivan Petrow", "Рим", "Angela Merkel", "Rom", "Rome"]
    for result in made(put.change_name, text, others):
        assert sum((bare(result) - bare(text)).values()) in (1, 2) and bare(result) - bare(text) <= bare(
            " ".join(others)
        )


@pytest.mark.parametrize("language", TEXTS)
def test_shuffled_words_are_the_same_words(language):
    for result in made(put.shuffle_words, TEXTS[language]):
        assert Counter(result.replace(" ", "")) == Counter(TEXTS[language].replace(" ", ""))
        assert letters(result) != letters(TEXTS[language])
        assert result[-1] == TEXTS[language][-1]


@pytest.mark.parametrize("language", SPACED)
def test_shuffled_letters_stay_in_their_words(language):
    for result in made(put.shuffle_characters, TEXTS[language]):
        pairs = list(zip(words(TEXTS[language]), words(result), strict=True))
        assert all(Counter(one) == Counter(other) and one[0] == other[0] for one, other in pairs)


@pytest.mark.parametrize("language", TEXTS)
def test_punctuation_alone_says_nothing(language):
    assert all(not letters(result) and result.strip() for result in made(put.punctuation_only, TEXTS[language]))


def test_another_text_is_of_about_the_same_length_and_not_the_text():
    others = ["a b c", "x", "A b c!", "much longer than the others are"]
    results = [put.another("a b c", others, seeded(seed)) for seed in SEEDS]
    assert set(results) - {None} == {"x", "much longer than the others are"}
    assert results.count("x") > results.count("much longer than the others are")


def test_a_copied_source_that_is_the_translation_is_no_error():
    assert put.copy_source("Rom 2019.", "rom 2019") is None
    assert put.copy_source("Rome", "Rom") == "Rom"


NEGATIONS = {
    # with and without a negation: each becomes the other, or as the third text says
    "en": [
        ("He is not here today.", "He is here today.", "He is not here today."),
        ("They didn't go home.", "They did go home.", None),
        ("You cannot see it.", "You can see it.", None),
        ("Prices will rise soon.", "Prices will not rise soon.", "Prices will rise soon."),
    ],
    "de": [
        ("Er ist nicht krank.", "Er ist krank.", None),
        ("Sie hat keine Zeit.", "Sie hat diese Zeit.", None),
        ("Das ist ein Fehler.", "Das ist kein Fehler.", "Das ist ein Fehler."),
        ("Er kann heute kommen.", "Er kann nicht heute kommen.", "Er kann heute kommen."),
    ],
    "fr": [
        ("Il ne vient pas demain.", "Il vient demain.", None),
        ("Ce n’est pas vrai.", "C’est vrai.", "Ce n’est pas vrai."),
        ("La ville est belle.", "La ville n’est pas belle.", "La ville est belle."),
        ("C'est vrai.", "Ce n'est pas vrai.", "C'est vrai."),
    ],
    "es": [
        ("Él no viene hoy.", "Él viene hoy.", None),
        ("La casa es grande.", "La casa no es grande.", "La casa es grande."),
    ],
    "it": [
        ("Lui non viene oggi.", "Lui viene oggi.", None),
        ("La casa è grande.", "La casa non è grande.", "La casa è grande."),
    ],
    "pt": [
        ("Ele não vem hoje.", "Ele vem hoje.", None),
        ("A casa é grande.", "A casa não é grande.", "A casa é grande."),
    ],
    "ru": [
        ("Он не придёт завтра.", "Он придёт завтра.", None),
        ("Он никогда не спит.", "Он всегда спит.", None),
        ("Дом будет большим.", "Дом не будет большим.", "Дом будет большим."),
    ],
    "uk": [
        ("Він не прийде завтра.", "Він прийде завтра.", None),
        ("Дім буде великим.", "Дім не буде великим.", "Дім буде великим."),
    ],
    "cs": [
        ("To není pravda.", "To je pravda.", "To není pravda."),
        ("On nemůže přijít.", "On může přijít.", "On nemůže přijít."),
    ],
    "pl": [
        ("On nie przyjdzie jutro.", "On przyjdzie jutro.", None),
        ("Dom jest duży.", "Dom nie jest duży.", "Dom jest duży."),
    ],
    "zh": [("我们不能同意。", "我们能同意。", None), ("你可以走了。", "你不可以走了。", "你可以走了。")],
    "ja": [
        ("これは本です。", "これは本ではありません。", "これは本です。"),
        ("彼は行きません。", "彼は行きます。", "彼は行きません。"),
    ],
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_negation_goes_or_comes(language):
    for text, changed, back in NEGATIONS[language]:
        assert {flip_negation(text, language, seeded(seed)) for seed in range(5)} == {changed}
        if back is not None:
            assert {flip_negation(changed, language, seeded(seed)) for seed in range(5)} == {back}


@pytest.mark.parametrize(
    "change, given",
    [
        *((put.change_number, [text]) for text in ("no number", "the 1st of them", "H2O", "三")),
        # names begin no sentence and no headline
        (put.change_name, ["Rome is old. Paris, too.", ["Berlin"]]),
        (put.change_name, ["Old Rome Meets New Paris", ["Berlin"]]),
        (put.change_name, ["默克尔在罗马", ["Berlin"]]),
        (put.change_name, ["It is in Rome.", []]),
        *((put.shuffle_characters, [text]) for text in (TEXTS["zh"], "It is so.")),
        *((put.another, ["a", others]) for others in ([], ["a."])),
        (flip_negation, ["It is not only red.", "en"]),
        (flip_negation, ["He doesn't know anything.", "en"]),  # would become "does know anything"
        (flip_negation, ["Is that true?", "en"]),
        (flip_negation, ["Das gilt nicht nur heute.", "de"]),
        (flip_negation, ["Kommt er, wenn sie krank ist und bleibt?", "de"]),
        (flip_negation, ["Il ne dit rien.", "fr"]),
        (flip_negation, ["Il se lève.", "fr"]),
        (flip_negation, ["No se puede ver nada.", "es"]),
        (flip_negation, ["Он не только пел.", "ru"]),
        (flip_negation, ["这个社会的会议", "zh"]),
        (flip_negation, ["لم يتفقوا", "ar"]),
        (flip_negation, ["It is red.", None]),
    ],
)
def test_a_text_is_left_where_a_change_does_not_apply_or_is_not_safe(change, given):
    assert {change(*given, seeded(seed)) for seed in SEEDS} == {None}


HARMLESS = [
    harmless.change_case,
    harmless.change_full_stop,
    harmless.change_quotes,
    harmless.change_dashes,
    harmless.double_spaces,
]


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("change", HARMLESS)
def test_harmless_changes_keep_all_letters_and_digits(change, language):
    text = TEXTS[language]
    results = {change(text, seeded(seed)) for seed in SEEDS}
    caseless, unspaced = language in ("zh", "ar"), language == "zh"
    if (change is harmless.change_case and caseless) or (change is harmless.change_dashes and unspaced):
        assert results == {None}
    elif (change is harmless.double_spaces and unspaced) or (change is harmless.change_full_stop and unspaced):
        assert results == {None}  # it ends with a quotation mark after the full stop
    else:
        assert None not in results and text not in results
        kept = {"".join(filter(str.isalnum, result)) for result in results}
        own = "".join(filter(str.isalnum, text))
        assert kept == ({own} if change is not harmless.change_case else {own[0].lower() + own[1:]})


def test_the_final_full_stop_comes_or_goes():
    texts = {
        "So ist es.": "So ist es",
        "So ist es": "So ist es.",
        "他来了": "他来了。",
        "他来了。": "他来了",
        "Wait...": None,
    }
    assert {text: harmless.change_full_stop(text, seeded(1)) for text in texts} == texts


def test_quotes_change_in_pairs_and_apostrophes_stay_apostrophes():
    results = {harmless.change_quotes("„Ja“, sagte er, „nein“.", seeded(seed)) for seed in SEEDS}
    assert results == {'"Ja", sagte er, "nein".', "“Ja”, sagte er, “nein”.", "«Ja», sagte er, «nein»."}
    assert harmless.change_quotes("It's 5 o'clock.", seeded(1)) == "It’s 5 o’clock."


def test_targets_depend_on_the_extent():
    kind, text = ERRORS["half dropped"], "one two six ten"
    assert kind.target(text, "one two six") == pytest.approx(-0.8 - 1.2 * 0.25 / FULL, abs=1e-3)
    assert kind.target(text, "one") == kind.target(text, "two") == -2.0
    assert ERRORS["number changed"].target("in 2019", "in 2018") == -1.0
    assert (lost(text, "ten two"), added(text, f"one {text}"), moved(text, "one six two ten")) == (0.5, 0.25, 0.5)


def test_the_page_shows_the_table():
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    for name, kind in ERRORS.items():
        target = kind.worst if kind.extent is None else f"{kind.mildest} to {kind.worst}"
        assert f"| {name} | {kind.often} | {target} | " in page
    for name, (_, often) in HARMLESS_KINDS.items():
        assert f"| {name} | {often} | 0 | harmless" in page
    assert f"at {FULL:.0%}".replace("%", " %") in page and f"put in: {', '.join(sorted(LANGUAGES))} |" in page


@pytest.mark.parametrize("language", TEXTS)
def test_parts_joined_are_the_text(language):
    for split in (words, clauses, sentences):
        assert "".join(split(TEXTS[language])) == TEXTS[language] and len(split(TEXTS[language])) > 1
    assert len(sentences(TEXTS[language])) == 2


def clean(text, source, language=None, nearby=(), names=(), foreign=()):
    return Clean(text, source, language, nearby, names, foreign)


@pytest.mark.parametrize("language", TEXTS)
def test_all_kinds_are_drawn_where_they_apply(language):
    others = {"nearby": ["Something else."], "names": ["Rim", "Rom"], "foreign": ["Hyvää päivää"]}
    given = clean(TEXTS[language], SOURCES[language], language, **others)
    drawn = Counter(each.kind for seed in range(300) for each in errors(given, 3, seeded(seed)))
    never = {"zh": {"letters shuffled", "name changed"}, "ar": {"name changed", "negation"}}.get(language, set())
    assert set(drawn) == set(ERRORS) - never
    assert drawn["number changed"] > 2 * drawn["source copied"]
    for seed in SEEDS:
        kinds = errors(given, 3, seeded(seed))
        assert len({each.kind for each in kinds}) == len({each.text for each in kinds}) == 3
        assert all(each.target < -0.5 for each in kinds) and harmless_change(given, seeded(seed)).target == 0


def test_a_single_word_still_gets_errors_and_a_text_without_a_harmless_change_stays():
    given = clean("你好？", "Hello?")
    assert {each.kind for seed in SEEDS for each in errors(given, 3, seeded(seed))} >= {
        "source copied",
        "only punctuation",
    }
    assert harmless_change(given, seeded(1)) == ("unchanged", "你好？", 0.0)
