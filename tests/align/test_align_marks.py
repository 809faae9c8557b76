"""Marks of boundaries: how much ends of sentences, line breaks and capital letters count, as a document tells."""

import numpy as np
import pytest

from ctx_metrics.align.marks import Mark, gains_of, marks_of
from ctx_metrics.align.path import NOWHERE
from ctx_metrics.align.stream import joined, places

TEXT = "It rained. All day\nlong. Then we\nwent home. It was late."
SEGMENTS = ["It was raining all day.", "Then we went home.", "late"]


def marks_and_open(text: str, segments: list[str]) -> tuple[list[Mark], np.ndarray, list[str]]:
    """Each word is a token."""
    stream = joined(text)
    facts = places(stream)
    at = np.array([0, *(place + 1 for place, c in enumerate(stream.text) if c == " ")])
    return marks_of(stream.text, facts, at, segments), facts.open[at], stream.text.split()


def test_what_is_a_mark():
    (ends, lines, capitals, *signs), _, words = marks_and_open(TEXT, SEGMENTS)

    def with_it(mark: Mark) -> list[str]:
        return [word for word, there in zip(words, mark.there) if there]

    assert with_it(ends) == ["All", "Then", "It"]
    assert with_it(lines) == ["It", "long.", "went"]
    assert with_it(capitals) == ["It", "All", "Then", "It"]
    assert (ends.kinds, capitals.kinds) == ([True, True, True, False], [1, 1, 0, 0])
    assert len(signs) == 4 and not any(mark.there.any() or any(mark.kinds) for mark in signs)
    assert marks_and_open("Ways", ["Ways:", "1. go", "2. stay"])[0][0].kinds == [True, True, True, False]


@pytest.mark.parametrize("segment, kind", [('"Yes"', 1), ("«Да»", 1), ("yes", 0), ("3/3", 0), ("你好", 2), ("", 0)])
def test_a_segment_may_begin_with_a_capital(segment, kind):
    assert marks_and_open("Yes. No.", [segment])[0][2].kinds[0] == kind


def test_a_segment_may_begin_with_a_sign():
    marks, is_open, words = marks_and_open(
        "so late @paul see you #soon he said", ["So late", "@paul See you", " #soon", ""]
    )
    bullets = marks[4]
    assert [word for word, there in zip(words, bullets.there) if there] == ["@paul", "#soon"]
    assert bullets.kinds == [False, True, True, False, 0]
    gains = gains_of(marks, np.ones(len(is_open)), is_open, [])
    assert gains[1].argmax() == gains[2].argmax() == words.index("@paul") != gains[3].argmax()


def test_a_quotation_mark_is_a_sign_where_it_opens():
    marks, _, words = marks_and_open('he said "go on " #now „ja“ 《书》', ['"Go on', "#now", "„Ja“"])
    speech, posts = ([word for word, there in zip(words, mark.there) if there] for mark in marks[3:5])
    assert (speech, posts) == (['"go', "„ja“", "《书》"], ["#now"])
    assert [mark.kinds[:3] for mark in marks[3:5]] == [[True, False, True], [False, True, False]]


def test_a_segment_may_end_with_a_sign():
    marks, is_open, words = marks_and_open(
        "he left “soon” she said well… no he said “go” so", ["He left:", "“Soon”", "She said so...", "He said “go” so"]
    )
    speech, dots = ([word for word, there in zip(words, mark.there) if there] for mark in marks[5:])
    assert (speech, dots) == (["she", "so"], ["no"])
    assert [mark.kinds for mark in marks[5:]] == [[0, False, True, False, False], [0, False, False, True, False]]
    gains = gains_of(marks, np.ones(len(is_open)), is_open, [])
    assert words[gains[2][:-1].argmax()] == "she" and words[gains[3][:-1].argmax()] == "no"


def test_a_boundary_is_where_the_marks_are():
    marks, is_open, words = marks_and_open(TEXT, SEGMENTS)
    gains = gains_of(marks, np.ones(len(is_open)), is_open, [])
    all_, day, then = (gains[1][words.index(word)] for word in ("All", "day", "Then"))
    assert all_ == then == gains[1][:-1].max() and then > 0 > day
    assert (gains[1][0], gains[1][-1], len(gains)) == (0, 0, 4)


def test_what_the_boundaries_of_a_document_have_counts():
    words = 200
    line = np.arange(words) % 10 == 0
    mark = Mark(line, [0] * 20, (0.5,))
    even, is_open = np.ones(words), np.ones(words, bool)
    trusted = gains_of([mark], even, is_open, [(number, 10 * number) for number in range(1, 20)])[1]
    doubted = gains_of([mark], even, is_open, [(number, 10 * number + 5) for number in range(1, 20)])[1]
    assert trusted[10] - trusted[11] > 5 > 2 > doubted[10] - doubted[11]


def test_a_text_without_marks_has_equal_places():
    marks, is_open, _ = marks_and_open("es hat geregnet den ganzen tag dann gingen wir", ["Es regnete.", "Wir gingen."])
    gains = gains_of(marks, np.ones(len(is_open)), is_open, [])[1][1:-1]
    assert np.ptp(gains[gains > NOWHERE]) == 0


def test_gains_of_a_long_document_are_shared():
    segments = ["It rained."] * 500 + ["rain"] * 500
    marks, is_open, _ = marks_and_open("It rained. " * 1000, segments)
    gains = gains_of(marks, np.ones(len(is_open)), is_open, [])
    assert len({id(each) for each in gains}) < 5 < len(gains)


@pytest.mark.parametrize("ends, least, most", [(0, 2, 9), (19, 0, 0.3)])
def test_chances_count_where_boundaries_have_no_ends(ends, least, most):
    """Of 20 segments of ten words, some begin after an end of a sentence; the last one where one probably begins."""
    words = np.arange(200)
    mark = Mark((words % 10 == 0) & (words > 0) & (words <= 10 * ends), [1] * 21, (0.2, 0.95))
    chances = np.where(words == 195, 0.5, 0.01)
    begun = [(number, 10 * number) for number in range(1, 20)]
    gains = gains_of([mark], chances, np.ones(200, bool), begun)[1]
    assert least <= gains[195] - gains[194] < most and gains[194] == pytest.approx(gains[196])


@pytest.mark.parametrize("kind", [0, 1])
def test_chances_count_less_where_boundaries_are_inside_sentences(kind):
    """Segments of subtitles end anywhere; the first pass tells."""
    words = np.arange(200)
    mark = Mark(np.zeros(200, bool), [kind] * 21, (0.2, 0.95))
    chances = np.where(words % 10 == 5, 0.5, 0.01)

    def gain(begun):
        gains = gains_of([mark], chances, np.ones(200, bool), begun)[1]
        return gains[195] - gains[194]

    at_sentences, inside = ([(number, 10 * number + place) for number in range(1, 20)] for place in (5, 2))
    assert gain(at_sentences) > 5 > 3 > gain(inside) > 0
    assert gain([]) == (pytest.approx(gain(at_sentences)) if kind else 0)


def test_chances_make_boundaries_no_cheaper():
    marks, is_open, _ = marks_and_open("es hat geregnet den ganzen tag dann gingen wir", ["Es regnete.", "Wir gingen."])
    chances = np.array([0.5, 0.1, 0.1, 0.2, 0.1, 0.1, 0.8, 0.1, 0.1])
    even = gains_of(marks, np.ones(9), is_open, [])[1][:-1]
    gains = gains_of(marks, chances, is_open, [])[1][:-1] - even
    assert np.average(gains[is_open], weights=chances[is_open]) == pytest.approx(0, abs=1e-9)
    assert gains[is_open].argmax() == 5  # the seventh word; no span may begin with the first


def test_chances_of_a_text_with_no_place_to_begin():
    marks, is_open, _ = marks_and_open("Word", ["Wort"])
    assert not is_open.any()
    assert gains_of(marks, np.array([0.3]), is_open, [])[1].tolist() == [0, 0]
