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
    (ends, lines, capitals), _, words = marks_and_open(TEXT, SEGMENTS)

    def with_it(mark: Mark) -> list[str]:
        return [word for word, there in zip(words, mark.there) if there]

    assert with_it(ends) == ["All", "Then", "It"]
    assert with_it(lines) == ["It", "long.", "went"]
    assert with_it(capitals) == ["It", "All", "Then", "It"]
    assert (ends.kinds, capitals.kinds) == ([True, True, True, False], [1, 1, 0, 0])


@pytest.mark.parametrize("segment, kind", [('"Yes"', 1), ("«Да»", 1), ("yes", 0), ("3/3", 0), ("你好", 2), ("", 0)])
def test_a_segment_may_begin_with_a_capital(segment, kind):
    assert marks_and_open("Yes. No.", [segment])[0][2].kinds[0] == kind


def test_a_boundary_is_where_the_marks_are():
    marks, is_open, words = marks_and_open(TEXT, SEGMENTS)
    gains = gains_of(marks, is_open, [])
    all_, day, then = (gains[1][words.index(word)] for word in ("All", "day", "Then"))
    assert all_ == then == gains[1][:-1].max() and then > 0 > day
    assert (gains[1][0], gains[1][-1], len(gains)) == (0, 0, 4)


def test_what_the_boundaries_of_a_document_have_counts():
    words = 200
    line = np.arange(words) % 10 == 0
    mark = Mark(line, [0] * 20, (0.5,))
    trusted = gains_of([mark], np.ones(words, bool), [(number, 10 * number) for number in range(1, 20)])[1]
    doubted = gains_of([mark], np.ones(words, bool), [(number, 10 * number + 5) for number in range(1, 20)])[1]
    assert trusted[10] - trusted[11] > 5 > 2 > doubted[10] - doubted[11]


def test_a_text_without_marks_has_equal_places():
    marks, is_open, _ = marks_and_open("es hat geregnet den ganzen tag dann gingen wir", ["Es regnete.", "Wir gingen."])
    gains = gains_of(marks, is_open, [])[1][1:-1]
    assert np.ptp(gains[gains > NOWHERE]) == 0


def test_gains_of_a_long_document_are_shared():
    segments = ["It rained."] * 500 + ["rain"] * 500
    marks, is_open, _ = marks_and_open("It rained. " * 1000, segments)
    gains = gains_of(marks, is_open, [])
    assert len({id(each) for each in gains}) < 5 < len(gains)
