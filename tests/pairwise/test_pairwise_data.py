"""Pairs of a better and a worse output from every layout, and their two sides."""

import random

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.judged import JudgedSet
from ctx_metrics.judgements.options import DataOptions
from ctx_metrics.pairwise.training.data import (
    count_pairs,
    read_pair_sets,
    say_shared,
    split_by_segment,
    usual_threshold,
)


def read_pairs(*args, **options):
    threshold = options.pop("threshold", None)
    return read_pair_sets(*args, DataOptions(**options), threshold).sets


def texts_of(sets: list[JudgedSet]) -> list[tuple]:
    """(better, worse, reference) of every pair."""
    return [
        (judged.hypotheses[better][segment], judged.hypotheses[worse][segment], judged.references[0][segment])
        for judged in sets
        for segment, better, worse in judged.preferences.tolist()
    ]


def preferences(name="toy", references=(("r1", "r2", "r3"),), rows=((0, 0, 1), (1, 0, 1), (2, 1, 0)), **more):
    outputs = [["a1", "a2", "a3"], ["b1", "b2", "b3"]]
    return JudgedSet(name, ["A", "B"], 3, outputs, references, preferences=np.array(rows), **more)


def test_preferences_keep_their_pairs(put, caplog):
    path = put(
        "darr.cs-en.tsv",
        "src|ref|better|worse|better_sys|worse_sys",
        "s1|r1|good|bad|A|B",
        "s1|r1|good|bad|A|B",
        "s1|r1|bad|good|B|A",
        "s2|r2|same|same|A|refB",
        "s3|  |x|y|A|B",
        "s1|r1|good|  |A|C",
        "s4|r4||bad|A|B",
    )
    found = read_pair_sets([path], threshold=99.0)
    assert texts_of(found.sets) == [("good", "bad", "r1"), ("good", "bad", "r1"), ("bad", "good", "r1")]
    left = {"of the same text": 1, "without a reference": 1, "without an output": 2}
    assert found.counts == {path: {"rows": 7, "kept": 3, **left}}
    [said] = caplog.messages
    assert said.startswith(f"{path}: 3 pairs used; left out 1 pair of the same text, 1 without a reference, 2 without")
    [judged] = found.sets
    assert (judged.source_lang, judged.target_lang) == ("cs", "en") and "refB" in judged.systems


def test_a_pair_with_an_output_that_is_not_there(put, monkeypatch):
    path, judged = put("x.tsv", "better|worse|ref", "a|b|r"), preferences(rows=((0, 0, 1), (1, 0, 1)))
    judged.hypotheses[0][1] = None
    monkeypatch.setattr("ctx_metrics.pairwise.training.data.read_chosen", lambda *_, **__: [judged])
    assert read_pair_sets([path]).counts[path] == {"rows": 2, "kept": 1, "without an output": 1}


def test_rankings(put, tmp_path):
    columns = [f"system{k}{what}" for k in range(1, 6) for what in ("Id", "rank")]
    path = put("rank.csv", ",".join(["srclang", "trglang", "segmentId", *columns]), "fr,en,2,A,1,B,2,C,2,D,-1,E,3")
    for name in "ABCDE":
        put(f"outputs/{name}", f"{name}1", f"{name}2" if name != "E" else "A2")
    reference = put("ref.en", "r1", "r2")
    found = read_pair_sets([path], DataOptions(reference=reference, outputs=str(tmp_path / "outputs")))
    # A before B, C and E (of the same text), B and C before E; B and C are alike, D was not judged
    assert sorted(texts_of(found.sets)) == [
        (a, b, "r2") for a, b in [("A2", "B2"), ("A2", "C2"), ("B2", "A2"), ("C2", "A2")]
    ]
    assert found.counts[path] == {"rows": 5, "kept": 4, "of the same text": 1}
    with pytest.raises(InputError, match="rankings need the folder"):
        read_pairs([path])


def test_a_table_with_systems(put, caplog):
    rows = (
        "a|r|A|1|80|x",
        "a|r|A|1|90|y",
        "b|r|B|1|60|x",
        "b|r|B|1||y",
        "c|r|C|1|59|x",
        "h|r|refB|1|1|x",
        "d|r2|A|2|50|x",
    )
    path = put("da.tsv", "mt|ref|system|seg|score|rater", *rows)
    found = read_pairs([path])
    assert texts_of(found) == [("a", "b", "r"), ("a", "c", "r")]  # 85 - 60 is 25, and 60 - 59 is 1
    assert found[0].segment_scores is None and found[0].system_scores is None
    assert caplog.messages[1:] == [  # the first is the reader's, of outputs that some systems lack
        "da: left out human translations (refB)",
        "da: 1 score is of an output that has another; an output's scores are averaged",
        "da: scores of 0 to 100, so outputs 25 points apart or more form a pair (--threshold)",
    ]
    for threshold, pairs in ((0.0, "ab ac bc"), (26.0, "ac")):
        assert texts_of(read_pairs([path], threshold=threshold)) == [(*pair, "r") for pair in pairs.split()]


def test_a_table_without_systems_compares_what_shares_source_and_reference(put, caplog):
    """And the document."""
    rows = ["good|s|r|d|.5", "else|s2|r|d|-3", "bad|s|r|d|.4", "bad|s|r|d|-2", "best|s|r|d|", "good|s|r2|d|-9"]
    path = put("rows.tsv", "mt|src|ref|doc|score", *rows, "fair|s|r|d|.25", "worse|s|r|d2|-9")
    found = read_pairs([path])
    # bad has -.8, the mean; of s and r2, of s2, and of d2 there is one output
    assert texts_of(found) == [("good", "bad", "r"), ("good", "fair", "r"), ("fair", "bad", "r")]
    assert caplog.messages == ["rows: 1 score is of an output that has another; an output's scores are averaged"]
    assert found[0].sources[0] == "s"
    # of these outputs, a and b share a source, and c and d only what they lack
    path = put("t.tsv", "mt|src|ref|score", "a|s|  |1", "b|s| |2", "c||  |3", "d||  |4", "e|s|r|5", "f|s|r|6")
    assert read_pair_sets([path]).counts[path] == {"rows": 2, "kept": 1, "without a reference": 1}


def test_direct_assessment_and_trees(put, tmp_path):
    for kind, lines in {"source": "sst", "mt-system": "abc", "reference": "rrq", "human": ["-.5", ".5", "0"]}.items():
        put(f"da/DAseg.news.{kind}.cs-en", *lines)
    assert texts_of(read_pairs([str(tmp_path / "da")])) == [("b", "a", "r")]
    for system in ("A", "B", "refA"):
        put(f"tree/system-outputs/de-en/{system}.txt", f"{system}1", f"{system}2")
    put("tree/sources/de-en.txt", "s1", "s2")
    put("tree/references/de-en.refA.txt", "refA1", "refA2")
    put("tree/human-scores/de-en.mqm.seg.score", "A|1", "A|None", "B|2", "B|0", "refA|9", "refA|9")
    assert texts_of(read_pairs([str(tmp_path / "tree")])) == [("B1", "A1", "refA1")]


def test_errors_want_a_reference(put):
    rows = "A|d|1|x|s|a|Fluency|Major", "B|d|1|x|s|b|Fluency|Minor", "Human-A.0|d|1|x|s|h|no-error|no-error"
    path = put("mqm_ende.tsv", "system|doc|doc_id|rater|source|target|category|severity", *rows)
    assert texts_of(read_pairs([path], reference="Human-A.0")) == [("b", "a", "h")]
    with pytest.raises(InputError, match="mqm_ende: has no references.* --reference"):
        read_pairs([path])


@pytest.mark.parametrize(
    "scores, least", [([0, 10], 0), ([0, 10.5], 25), ([-0.1, 90], 0), ([5, 100], 25), ([5, 101], 0), ([], 0)]
)
def test_the_usual_threshold(scores, least):
    assert usual_threshold(np.array([*scores, np.nan])) == least


def test_names_languages_and_paths(put, caplog):
    one, two = (put(f"{folder}/p.tsv", "better|worse|ref", "a|b|r") for folder in "xy")
    assert [judged.name for judged in read_pairs([one, two])] == ["p", f"p ({two})"]
    [judged] = read_pairs([one], pairs=["cs-en"])
    assert (judged.source_lang, judged.target_lang) == ("cs", "en")
    named = put("p.de-en.tsv", "better|worse|ref", "a|b|r")
    assert len(read_pairs([named], pairs=["cs-en", "de-en"])) == 1
    for paths, pairs, says in (
        ([one], ["cs-en", "de-en"], "its name contains no language pair"),
        ([named], ["cs-en"], "language pair is de-en, not cs-en"),
        ([one, one], None, "given twice"),
    ):
        with pytest.raises(InputError, match=says):
            read_pairs(paths, pairs=pairs)
    assert caplog.messages == []


def test_a_set_of_a_folder_without_pairs(put, tmp_path, caplog):
    for pair, scores in (("cs-en", ["1", "2"]), ("de-en", ["1", "1"])):
        for kind, lines in {"mt-system": ["a", "b"], "reference": ["r", "r"], "human": scores}.items():
            put(f"DAseg.news.{kind}.{pair}", *lines)
    assert [judged.name for judged in read_pairs([str(tmp_path)])] == ["news.cs-en"]
    assert caplog.messages == [f"{tmp_path}: news.de-en has no usable pair"]


@pytest.mark.parametrize(
    "lines, says",
    [
        (["mt|ref|score", "a|r|1", "b|r|1"], "no pairs to learn from: no two outputs of a segment differ enough"),
        (["mt|ref|score", "a|r|50", "b|r|60"], "no pairs to learn from"),
        (["mt|ref|score", "a|r|1", "b|q|2"], "no pairs to learn from"),
        (["mt|score", "a|1", "b|2"], "has no references"),
        (["better|worse|ref|better_sys|worse_sys", "a|a|r|A|B"], "no pairs are left to learn from; left out 1 pair"),
        (["mt|ref|system|score", "a|r|refA|1"], "no pairs to learn from"),
    ],
)
def test_a_path_without_a_pair(put, lines, says):
    with pytest.raises(InputError, match=says):
        read_pairs([put("t.tsv", *lines)])


def test_scores_of_systems_alone(put, monkeypatch):
    judged = JudgedSet("toy", ["A", "B"], 1, [["a"], ["b"]], [["r"]], system_scores=np.array([1.0, 2]))
    monkeypatch.setattr("ctx_metrics.pairwise.training.data.read_chosen", lambda *_, **__: [judged])
    with pytest.raises(InputError, match="toy: has only system scores"):
        read_pairs([put("any.tsv")])


def test_no_source_and_no_reference_is_on_both_sides():
    draw = random.Random(5)
    sets = []
    for number in range(4):
        references = [f"r{draw.randrange(60)}" for _ in range(40)]
        sources = [f"s{draw.randrange(200)}" if draw.random() < 0.8 else "" for _ in range(40)]
        rows = [(draw.randrange(40), *draw.sample([0, 1], 2)) for _ in range(50)]
        outputs = [[f"{number}{system}{k}" for k in range(40)] for system in "AB"]
        sets.append(
            JudgedSet(
                f"set{number}", ["A", "B"], 40, outputs, [references], sources=sources, preferences=np.array(rows)
            )
        )
    sides = split_by_segment(sets, 0.3, seed=7)
    assert sorted(sum(map(texts_of, sides), [])) == sorted(texts_of(sets))
    for of_text in (
        lambda judged, segment: judged.references[0][segment],
        lambda judged, segment: judged.sources[segment] or None,
    ):
        training, development = (
            {of_text(judged, segment) for judged in side for segment in judged.preferences[:, 0].tolist()} - {None}
            for side in sides
        )
        assert training and development and not training & development
    again = split_by_segment(sets, 0.3, seed=7)
    assert [texts_of(side) for side in again] == [texts_of(side) for side in sides]
    assert texts_of(split_by_segment(sets, 0.3, seed=8)[1]) != texts_of(sides[1])
    for judged in sides[0]:  # the order of a set's pairs is kept
        whole = next(each for each in sets if each.name == judged.name).preferences.tolist()
        rows = iter(whole)
        assert all(row in rows for row in judged.preferences.tolist())


@pytest.mark.parametrize("share, held", [(0.34, 1), (0.5, 2), (0.65, 2)])
def test_how_much_is_drawn(share, held):
    training, development = split_by_segment([preferences()], share, seed=1)
    assert count_pairs(development) == (held, held) and count_pairs(training) == (3 - held, 3 - held)


def test_the_same_reference_in_two_sets(caplog):
    one, other = preferences("one"), preferences("other", [["r4", "r1", "r5"]])
    for seed in range(20):
        for side in split_by_segment([one, other], 0.4, seed):
            names = [judged.name for judged in side for row in texts_of([judged]) if row[2] == "r1"]
            assert names in ([], ["one", "other"])
    left = preferences("other", [["r4", "r1", "r5"]], rows=((0, 0, 1),))  # r1 is of no pair
    assert len(split_by_segment([one, left], 0.5, 1)[1]) and caplog.messages == []


def test_said_if_references_are_on_both_sides(caplog):
    say_shared([preferences()], [preferences(references=[["x1", "x2", "x3"]])])
    assert caplog.messages == []
    say_shared([preferences()], [preferences(references=[["r1", "r3", "r2"]], rows=((0, 0, 1), (0, 0, 1), (2, 0, 1)))])
    assert caplog.messages[0].startswith("2 of 2 development references are in the training data too")


def test_several_references_and_counts():
    judged = preferences(references=[[None, "r2", "r3"], ["q1", "q2", None]])
    assert count_pairs([judged, preferences(rows=((1, 0, 1), (1, 1, 0)))]) == (5, 4)
    sides = split_by_segment([judged], 0.34, seed=1)
    assert sum(map(len, sides)) == 2


@pytest.mark.full
def test_real_preferences(shared_data, caplog):
    found = read_pair_sets([str(shared_data / "wmt19_darr" / "gu-en.tsv.xz")])
    assert count_pairs(found.sets) == (20110, 1016)
    assert caplog.messages == []
    training, development = split_by_segment(found.sets, 0.1, seed=1)
    assert count_pairs(development)[1] == 102 and count_pairs(training)[1] == 914
