"""Shifted lines are found, aligned ones never; entities are counted where they are entities."""

import lzma
import random

import pytest

from ctx_metrics.checks.line_shifts import Shift, shifts
from ctx_metrics.checks.texts import check_byte_order_marks, check_texts, unescape
from ctx_metrics.corpus import named

RNG = random.Random(7)
WORDS = ["".join(RNG.choices("abcdefghijklmnopqrstuvwxyz", k=RNG.randint(3, 9))) for _ in range(600)]
FOREIGN = ["".join(RNG.choices("абвгдежзиклмнопрстуфхц", k=RNG.randint(3, 9))) for _ in range(600)]


def sentence() -> list[int]:
    return RNG.choices(range(len(WORDS)), k=RNG.randint(3, 25))


SENTENCES = [sentence() for _ in range(300)]
REF = [" ".join(WORDS[i] for i in each) for each in SENTENCES]
SOURCE = [" ".join(FOREIGN[i] for i in each) for each in SENTENCES]
# a system that gets two words of three
HYP = [" ".join(WORDS[i] if RNG.random() < 0.67 else RNG.choice(WORDS) for i in each) for each in SENTENCES]


def without(lines: list[str], dropped: int, added: int) -> list[str]:
    """The lines without one of them, and with an empty line that ends up at another place."""
    left = lines[:dropped] + lines[dropped + 1 :]
    return [*left[:added], "", *left[added:]]


@pytest.mark.parametrize("translated", [False, True])
@pytest.mark.parametrize("length", [12, 40])
def test_finds_a_shifted_block_and_where_it_lies(translated, length):
    others, length = SOURCE if translated else REF, 2 * length if translated else length
    for moved, offset, first in (
        (without(HYP, 100, 100 + length), 1, 100),
        (without(HYP, 100 + length, 100), -1, 101),
        (without(without(HYP, 100, 100 + length), 100, 100 + length), 2, 100),
    ):
        [found] = shifts(moved, others, translated)
        assert found.offset == offset
        assert abs(found.first - first) <= 2 and abs(found.last - (first + length - 1)) <= 3


def test_finds_several_blocks_and_those_over_the_border_of_a_chunk(monkeypatch):
    moved = without(without(HYP, 40, 70), 200, 180)
    assert [each.offset for each in shifts(moved, REF)] == [1, -1]
    monkeypatch.setattr("ctx_metrics.checks.line_shifts.CHUNK", 100)
    [found] = shifts(without(HYP, 60, 140), REF)
    assert found.first <= 61 and found.last >= 138


@pytest.mark.parametrize(
    "lines, others",
    [
        (HYP, REF),
        (REF, REF),
        (["Yes."] * 200, ["Yes."] * 200),
        (["Yes.", "No."] * 100, ["No.", "Yes."] * 100),
        (["Yes.", "", "I think so."] * 70, ["", "Yes.", "I do."] * 70),
        ([""] * 100, REF[:100]),
        ([None] * 100, REF[:100]),
        (["The same garbage in every line."] * 300, REF),
        ([f"Item {i}: see page {i + 1}." for i in range(200)], [f"Item {i}, page {i + 1}" for i in range(200)]),
        (sorted(HYP), REF),
        (REF[:1], HYP[:1]),
        (REF[:2], HYP[:2]),
        ([""], [None]),
        ([], []),
    ],
)
def test_nothing_is_found_in_aligned_repeated_empty_or_unrelated_lines(lines, others):
    assert shifts(lines, others) == []
    assert shifts(lines, others, translated=True) == []


def test_streams_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match="2 and 1 lines"):
        shifts(["a", "b"], ["a"])


def test_finds_the_lines_of_a_published_set_that_are_shifted_and_no_others(shared_data):
    """WMT21's TED talks, zh-en: the outputs of one of the systems are a line late from 182 to 198."""
    header, *rows = lzma.open(shared_data / "wmt20_21_mqm/wmt21.ted.zh-en.tsv.xz", "rt", encoding="utf-8", newline="\n")
    at = {name: i for i, name in enumerate(header.rstrip("\n").split("\t"))}
    of_system: dict[str, list[list[str]]] = {}
    for row in rows:
        cells = row.rstrip("\n").split("\t")
        of_system.setdefault(cells[at["system"]], []).append(cells)
    for partner, translated in (("ref", False), ("src", True)):
        found = {
            system: shifts([each[at["mt"]] for each in own], [each[at[partner]] for each in own], translated)
            for system, own in of_system.items()
        }
        [shift] = found.pop("metricsystem5")
        assert shift.offset == -1 and abs(shift.first - 181) <= 1 and abs(shift.last - 198) <= 2
        assert not any(found.values())


@pytest.fixture
def said(caplog):
    """Runs the checks and gives what they say."""

    def call(systems, references=(), source=None) -> list[str]:
        caplog.clear()
        check_texts(*([named(lines, name) for name, lines in each] for each in (systems, references)), source)
        return caplog.messages

    return call


def test_says_which_lines_fit_another_line(said):
    moved = without(HYP, 100, 140)
    again = without(REF, 100, 140)
    lines = "lines 101-140 fit line+1 of {} better than their own; look for a missing or additional line"
    assert said([("a.txt", HYP), ("b.txt", REF)], [("ref.txt", REF)], named(SOURCE, "src.txt")) == []
    assert said([("a.txt", moved), ("b.txt", REF)], [("ref.txt", REF)]) == [f"a.txt: {lines.format('ref.txt')}"]
    assert said([("a.txt", HYP)], [("one", REF), ("two", again)]) == [f"two: {lines.format('one')}"]
    assert said([("a.txt", moved), ("b.txt", HYP)], source=named(SOURCE, "src.txt")) == [
        f"a.txt: {lines.format('src.txt')}".replace("101", "102")
    ]
    # where most texts disagree with the reference, the reference is shifted
    [both] = said([("a.txt", HYP), ("b.txt", REF)], [("ref.txt", again)], named(SOURCE, "src.txt"))
    assert both == (
        "a.txt, b.txt, src.txt: lines 101-141 fit line-1 of ref.txt better than their own; look for a missing or additional line in ref.txt"
    )


def test_says_where_entities_are(said):
    escaped = [line.replace(" ", " &quot; ", 1) if i % 3 == 0 else line for i, line in enumerate(HYP)]
    few = [*HYP[:-1], "Tom &amp; I"]
    fix = "`ctx-metrics score` and `ctx-metrics meta` replace them with --unescape"
    such = "HTML entities such as &quot; are in 100 of 300 lines (33.3 %) of a.txt"
    assert said([("a.txt", escaped), ("b.txt", HYP)], [("ref.txt", REF)]) == [f"{such}; ref.txt: none; {fix}"]
    assert said([("a.txt", escaped)], [("ref.txt", few)]) == [f"{such}; ref.txt: 1 line; {fix}"]
    assert said([("a.txt", escaped)]) == [f"{such}; no reference was given to compare with; {fix}"]
    [of_reference] = said([("a.txt", HYP), ("b.txt", HYP)], [("ref.txt", escaped)])
    assert of_reference == f"{such.replace('a.txt', 'ref.txt')}; a.txt, b.txt: none; {fix}"
    [all_of_them] = said([("a.txt", escaped)], [("ref.txt", escaped)])
    assert all_of_them == (
        f"{such}, 100 of 300 lines (33.3 %) of ref.txt; the test set is escaped too, or about HTML; {fix}"
    )
    assert said([("a.txt", few)], [("ref.txt", REF)]) == []  # one line in 300 does not move a score
    assert said([("a.txt", ["AT&T; IBM", "R&D", "&copy; &unknown;"])], [("ref.txt", ["x"] * 3)]) == []


def test_unescapes_each_stream_and_says_so(caplog):
    streams = [
        named(["&lt;b&gt;", "plain", None], "a.txt"),
        named(["&amp;quot;", "it&#x27;s&#10;x", "&#0;"], "ref.txt"),
    ]
    assert unescape(streams) == [["<b>", "plain", None], ["&quot;", "it's x", "\ufffd"]]
    assert unescape([named(["AT&T"], "a.txt")]) == [["AT&T"]]
    assert caplog.messages == [
        "--unescape: HTML entities replaced in 1 of 2 lines (50.0 %) of a.txt, 3 of 3 lines (100.0 %) of ref.txt",
        "--unescape: HTML entities are in none of the texts",
    ]


def test_says_which_metrics_read_a_byte_order_mark(caplog):
    streams = [named(["\ufeffHello"], "a.txt"), named(["Hello"], "ref.txt"), named([], "none")]
    check_byte_order_marks(streams, [])
    check_byte_order_marks(streams[1:], ["bleu"])
    assert caplog.messages == []
    check_byte_order_marks(streams, ["bleu", "chrf"])
    assert caplog.messages == [
        "the byte-order mark at the start of a.txt is part of the first word for bleu, chrf; save the file without it "
        "(plugin metrics and ctx-metrics score remove it)"
    ]


def test_a_shift_is_of_lines_from_0():
    assert shifts(without(REF, 10, 40), REF) == [Shift(10, 39, 1)]
