"""Metrics' scores of a judged set, from score files and from tables of `ctx-metrics score`."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.judged import JudgedSet, MetricScores
from ctx_metrics.judgements.score_files import read_score_file, read_score_folder, read_scores, write_score_files

NAN = float("nan")


@pytest.fixture
def judged():
    return JudgedSet("toy", ["A", "B"], 2, source_lang="de", target_lang="en", segment_scores=np.zeros((2, 2)))


def seg(*, b="B\t3\nB\t5\n"):
    """Scores of B, of a human translation that the set lacks, and of A, whose second output has none."""
    return f"{b}refB\t9\nrefB\t9\nA\t1.5\nA\tNone\n"


def test_a_file_is_read_in_the_order_of_the_set(tmp_path, judged, caplog):
    (tmp_path / "COMET-22-refA.seg.score").write_text(seg())
    scores = read_score_file(str(tmp_path / "COMET-22-refA.seg.score"), judged)
    assert (scores.name, scores.signature) == ("COMET-22", "")
    np.testing.assert_array_equal(scores.segment_scores, [[1.5, NAN], [3, 5]])
    np.testing.assert_array_equal(scores.system_scores, [1.5, 4])
    assert [message.partition("score: ")[2] for message in caplog.messages] == ["1 output has no score"]


@pytest.mark.parametrize("asked", [".seg.score", ".sys.score"])
def test_system_scores_beside_it(tmp_path, judged, asked):
    (tmp_path / "chrF-src.seg.score").write_text(seg())
    (tmp_path / "chrF-src.sys.score.gz").write_bytes(gzip.compress(b"B\t70\nA\t60\n"))
    path = tmp_path / f"chrF-src{asked}"
    scores = read_score_file(str(path if path.exists() else f"{path}.gz"), judged, "mine")
    assert scores.name == "mine" and scores.segment_scores[1].tolist() == [3, 5]
    assert scores.system_scores.tolist() == [60, 70]


def test_system_scores_alone(tmp_path, judged):
    (tmp_path / "m-refA.sys.score").write_text("A\t1\nB\tNone\n")
    scores = read_score_file(tmp_path / "m-refA.sys.score", judged)
    assert scores.segment_scores is None
    np.testing.assert_array_equal(scores.system_scores, [1, NAN])


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("m-r.sys.score", seg(), "m-r.sys.score: 2 scores of A, and toy needs 1"),
        ("m-r.seg.score", seg(b="B\nB\t1\n"), "line 1: expected a system, a tab and a score, got 'B'"),
        ("scores.tsv", seg(), "the name of a score file ends in .seg.score or .sys.score"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, judged, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_score_file(str(tmp_path / name), judged)


@pytest.fixture
def folder(tmp_path):
    for name in ("A-refA", "A-refB", "A-src", "UniTE-src-src", "B-refB"):
        (tmp_path / f"{name}.seg.score").write_text(seg())
    (tmp_path / "A-refA.doc.score").write_text("A\t1\n")
    (tmp_path / "A-refA.seg.jsonl").write_text("{}\n")
    (tmp_path / "C-refA.sys.score").write_text("A\t1\nB\t2\n")
    return tmp_path


def test_a_folder_with_one_reference(folder, judged, caplog):
    for reference, names in (("refB", ["A", "A-src", "B", "UniTE-src"]), ("refA", ["A", "A-src", "C", "UniTE-src"])):
        of_reference = read_scores([str(folder)], replace(judged, reference=reference))
        assert [each.name for each in of_reference] == names
    caplog.clear()
    assert len(read_scores([str(folder)], judged)) == 4
    assert f"{folder}: read the scores with refA and without a reference, of refA, refB" in caplog.messages


def test_the_reference_of_the_set_chooses_the_files(folder, judged, tmp_path, caplog):
    named = replace(judged, reference="refB")
    with pytest.raises(InputError, match=r"no scores with reference ref-C; there are refA, refB \(a file that"):
        read_scores([str(folder)], replace(judged, reference="ref-C"))
    several = replace(judged, reference="Human-A.0,refB")
    for each, value in ((judged, 1), (named, 2), (several, 3)):
        write_score_files(tmp_path / "own", each, [MetricScores("m", None, np.full(2, value))])
    names = ["m-Human_A.0.refB.sys.score", "m-ref.sys.score", "m-refB.sys.score"]
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == names
    for each, value in ((judged, 1), (named, 2), (several, 3)):
        assert [scores.system_scores[0] for scores in read_scores([str(tmp_path / "own")], each)] == [value]
    caplog.clear()
    read_scores([str(tmp_path / "own")], replace(judged, reference="refA"))
    assert caplog.messages == [
        f"{tmp_path / 'own'}: the names of its files do not name the reference; read as scores with refA"
    ]


def test_a_metric_without_reference_makes_room_for_another_of_its_name(folder, judged):
    (folder / "slide-src.seg.score").write_text(seg())
    for paths in ([str(folder)], [str(folder / "slide-src.seg.score"), str(folder / "C-refA.sys.score")]):
        names = [each.name for each in read_scores(paths, replace(judged, reference="refA"), taken=["slide", "C"])]
        assert "slide-src" in names and "slide" not in names and "C" in names


def test_outputs_that_are_not_there_are_not_missed(tmp_path, caplog):
    """B has no output for the second segment, and nobody judged A's: neither needs a score."""
    texts = [["x", "y", "z"], ["x", None, "z"]]
    scores = np.array([[1, NAN, 2], [1, NAN, 2]])
    judged = JudgedSet("toy", ["A", "B"], 3, texts, segment_scores=scores)
    write_score_files(tmp_path, judged, [MetricScores("m", scores, None)])
    read_scores([str(tmp_path)], judged)
    assert caplog.messages == []
    gaps = np.where([[0, 0, 1], [0, 0, 0]], NAN, scores)
    write_score_files(tmp_path, judged, [MetricScores("m", gaps, None)])
    read_scores([str(tmp_path)], judged)
    assert [message.partition(": ")[2] for message in caplog.messages] == ["1 output has no score"]


def test_files_and_folders(folder, judged):
    write_score_files(folder / "all" / "de-en", judged, [MetricScores("x", np.ones((2, 2)), None)])
    paths = [str(folder / "B-refB.seg.score"), str(folder / "all")]
    assert {each.name for each in read_scores(paths, replace(judged, reference="refA"))} == {"B", "x"}
    write_score_files(folder / "all" / "toy", judged, [MetricScores("y", np.ones((2, 2)), None)])
    assert {each.name for each in read_scores(paths, replace(judged, reference="refA"))} == {"B", "y"}
    paths = [str(path) for path in sorted(folder.glob("*-ref?.*.score")) if ".doc." not in path.name]
    assert [each.name for each in read_scores(paths, judged)] == ["A-refA", "A-refB", "B", "C"]


def test_what_is_written_comes_back(tmp_path, judged):
    both = MetricScores("slide w6/s2-x", np.array([[0.1, NAN], [1 / 3, -2e-17]]), np.array([0.1, NAN]))
    one = MetricScores("bleu", None, np.array([1.0, 2.0]))
    paths = write_score_files(str(tmp_path / "new" / "folder"), judged, [both, one], reference="ref-a")
    names = ["slide_w6_s2-x-ref_a.seg.score", "slide_w6_s2-x-ref_a.sys.score", "bleu-ref_a.sys.score"]
    assert [path.rpartition("/")[2] for path in paths] == names
    assert sorted(each.name for each in (tmp_path / "new" / "folder").iterdir()) == sorted(names)
    bleu, slide = read_score_folder(str(tmp_path / "new" / "folder"), judged)
    assert (slide.name, bleu.name, bleu.segment_scores) == ("slide_w6_s2-x", "bleu", None)
    np.testing.assert_array_equal(slide.segment_scores, both.segment_scores)
    np.testing.assert_array_equal(slide.system_scores, both.system_scores)


TABLE_HEADER = "level\tsystem\tdocument\tsegment\tmetric\tscore\n"


def table_rows(*places: str) -> str:
    """TSV of table_rows such as "segment A 1 chrf 3.5"; a system has no segment, which is "-"."""
    cells = [place.split() for place in places]
    return TABLE_HEADER + "".join(
        f"{level}\t{system}\t\t{'' if segment == '-' else segment}\t{metric}\t{'' if score == '-' else score}\n"
        for level, system, segment, metric, score in cells
    )


WHOLE = ["segment B 1 m 3", "segment B 2 m 5", "segment A 2 m -", "segment A 1 m 1.5"]


def test_rows_in_any_order(tmp_path, judged, caplog):
    others = ["segment refB 1 m 9", "document A 1 m 8"]
    (tmp_path / "scores.tsv").write_text(table_rows(*others, *WHOLE))
    [scores] = read_scores([str(tmp_path / "scores.tsv")], judged)
    assert (scores.name, scores.signature) == ("m", "")
    np.testing.assert_array_equal(scores.segment_scores, [[1.5, NAN], [3, 5]])
    np.testing.assert_array_equal(scores.system_scores, [1.5, 4])
    assert [message.partition("scores.tsv: ")[2] for message in caplog.messages] == ["1 output has no score of m"]


def test_json_lines_tell_systems_and_signatures(tmp_path, judged):
    objects = []
    for own in ({"system": system, "document": None, "metric": metric} for system in "AB" for metric in "mn"):
        objects += [{"level": "segment", **own, "segment": i + 1, "score": i} for i in range(2)]
        more = {"signature": f"of {own['metric']}", "counts": {"empty": 0}}
        objects.append({"level": "system", **own, "segment": None, "score": 7.25, **more})
    text = "".join(json.dumps(each) + "\n" for each in objects)
    (tmp_path / "scores.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    found = read_scores([str(tmp_path / "scores.jsonl.gz")], judged)
    assert [(each.name, each.signature) for each in found] == [("m", "of m"), ("n", "of n")]
    for each in found:
        np.testing.assert_array_equal(each.segment_scores, [[0, 1], [0, 1]])
        assert each.system_scores.tolist() == [7.25, 7.25]


def test_systems_alone(tmp_path, judged):
    (tmp_path / "scores.tsv").write_text(table_rows("system A - m 1", "system B - m 2"))
    [scores] = read_scores([str(tmp_path / "scores.tsv")], judged)
    assert scores.segment_scores is None and scores.system_scores.tolist() == [1, 2]


@pytest.mark.parametrize(
    "text, message",
    [
        (table_rows(*WHOLE, "system B - m 2"), "scores.tsv: no score of m for A"),
        (table_rows(*WHOLE, WHOLE[1]), "scores.tsv, line 6: a second score of m for B, segment 2"),
        (table_rows(*WHOLE, "segment A 0 m 2"), "line 6: segment '0', and toy has segments 1 to 2"),
        (table_rows(*WHOLE, f"segment A {'9' * 5000} m 2"), f"line 6: segment '{'9' * 40}', and toy has"),
        (table_rows("segment A 1 m high"), "scores.tsv, line 2: 'high' is not a score"),
        (table_rows("segment C 1 m 1"), "scores.tsv: no scores of A, B"),
        ("system\tscore\nA\t1\n", "scores.tsv: no column level: not a table of `ctx-metrics score`"),
    ],
)
def test_one_line_for_each_fault(tmp_path, judged, text, message):
    (tmp_path / "scores.tsv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_scores([str(tmp_path / "scores.tsv")], judged)
    assert message in str(caught.value)
