"""Where a segment may begin in a hypothesis, and where sentences end."""

import pytest

from ctx_metrics.align.stream import PIECE, joined, pieces, places
from ctx_metrics.sentences import sentence_ends


@pytest.mark.parametrize(
    "text, sentences",
    [
        ('He said "No!" Then he left... Then?', ['He said "No!" ', "Then he left... ", "Then?"]),
        ("Version 3.5 of example.org", ["Version 3.5 of example.org"]),
        ("Dne 18. října pršelo. Konec", ["Dne 18. října pršelo. ", "Konec"]),
        ("你好。“好！”他说。走", ["你好。", "“好！”", "他说。", "走"]),
        ("是吗?！ 好", ["是吗?！ ", "好"]),
        ("मैं आया। वह गया।", ["मैं आया। ", "वह गया।"]),
        ("What a day 😠 and then", ["What a day 😠 ", "and then"]),
        ("いいね！🤣次", ["いいね！🤣", "次"]),
        ("Am 3. und 4. Mai. Kapitel 12.", ["Am 3. und 4. Mai. ", "Kapitel 12."]),
        ("It was in 2019. It is CO2. Yes", ["It was in 2019. ", "It is CO2. ", "Yes"]),
        ("Ways: 1. Go 2. Stay 4. May 1) A 2) B", ["Ways: ", "1. Go ", "2. Stay 4. May ", "1) A ", "2) B"]),
        ("方法：1.去2.留", ["方法：", "1.去", "2.留"]),
        ("Well... yes… no. Well... No.", ["Well... yes… no. ", "Well... ", "No."]),
        ("שלום לכם.\u200f מה", ["שלום לכם.\u200f ", "מה"]),
        ("Go. \u200e Now.\ufeff", ["Go. \u200e ", "Now.\ufeff"]),
        ("അവന്\u200d ഇന്നലെ വീട്ടില്\u200d വന്നു.", ["അവന്\u200d ഇന്നലെ വീട്ടില്\u200d വന്നു."]),
        ("See 👩\u200d💻 here ‼\ufe0f Yes", ["See 👩\u200d💻 ", "here ‼\ufe0f ", "Yes"]),
        ("うーん……はい……「いえ」「え⁈」と", ["うーん……はい……", "「いえ」", "「え⁈」", "と"]),
    ],
)
def test_sentences(text, sentences):
    ends = sentence_ends(text)
    begins = [0, *(end for end in ends if end < len(text))]
    assert [text[a:b] for a, b in zip(begins, [*begins[1:], len(text)], strict=True)] == sentences


def test_a_segment_begins_with_a_word_or_a_character_of_a_script_without_blanks():
    text = "It is 你好！“再见”ok"
    facts = places(joined(text))
    assert [text[i:] for i in range(len(text)) if facts.open[i]] == [
        "is 你好！“再见”ok",
        "你好！“再见”ok",
        "好！“再见”ok",
        "“再见”ok",
        "见”ok",
        "ok",
    ]


@pytest.mark.parametrize(
    "text, places_to_begin",
    [
        ("いいね🚀@user", ["いね🚀@user", "ね🚀@user", "🚀@user", "@user"]),
        ("So 👍🏽👍! 👩‍💻Yes", ["👩‍💻Yes", "Yes"]),
        ("何⁈はい", ["はい", "い"]),
    ],
)
def test_a_segment_begins_after_emoji_and_not_between_them(text, places_to_begin):
    is_open = places(joined(text)).open
    assert [text[i:] for i in range(len(text)) if is_open[i]] == [text[3:], *places_to_begin][text[0] != "S" :]


@pytest.mark.parametrize(
    "text, opens", [("残念:(でも", True), ("残念：（でも", True), ("残念;-(でも", True), ("残念(でも", False)]
)
def test_a_segment_begins_after_a_face(text, opens):
    is_open = places(joined(text)).open
    assert is_open[text.index("でも")] == opens


def test_lines_are_joined_without_losing_where_they_began():
    stream = joined("  One two \r\n\nthree\n四\n五 \n")
    assert stream.text == "One two three四五"
    assert [stream.text[begin] for begin in stream.begins] == ["O", "t", "四", "五"]
    assert places(stream).line.nonzero()[0].tolist() == stream.begins


@pytest.mark.parametrize(
    "text, ends",
    [
        ("A heading\n\nA text without an end\nand more", ["A text without an end and more"]),
        ("```markdown\nA heading\nA text\n```", ["A heading A text ```", "```"]),
        ("Here it is:\nA text:\nmore", ["A text: more"]),
    ],
)
def test_a_paragraph_ends_as_a_sentence_does(text, ends):
    facts = places(stream := joined(text))
    assert [stream.text[end:] for end in facts.end.nonzero()[0] if stream.text[end:]] == ends


@pytest.mark.parametrize(
    "line, is_fence",
    [
        ("```", True),
        ("  ````md ", True),
        ("``` zh-Hant", True),
        ("``", False),
        ("```One.```", False),
        ("``` One. Two.", False),
    ],
)
def test_a_fence_has_one_word_at_most(line, is_fence):
    stream = joined(f"One.\n{line}\nTwo.", fences=False)
    assert stream.text == ("One. Two." if is_fence else f"One. {line.strip()} Two.")
    assert [*stream.fences.items()] == ([(1, line.strip())] if is_fence else [])
    assert not is_fence or (stream.begins, stream.paragraphs) == ([0, 4, 5], [5])


def test_long_sentences_are_encoded_in_parts():
    for text in ("word " * 300, "字" * 1000):
        parts = list(pieces(text))
        assert all(0 < end - begin <= PIECE for begin, end in parts)
        assert "".join(text[begin:end] for begin, end in parts) == text
    assert list(pieces("")) == []
