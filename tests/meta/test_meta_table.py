"""Judged outputs in tables: TSV and JSON lines."""

import gzip
import json

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.readers import read_judged
from ctx_metrics.judgements.readers.table import read_judged_rows, read_table

NAN = float("nan")


@pytest.fixture
def table(tmp_path):
    """A function that reads a table; cells are parted by blanks, _ is an empty cell."""

    def read(*rows, name="t.tsv", **arguments):
        text = "".join("\t".join("" if cell == "_" else cell for cell in row.split()) + "\n" for row in rows)
        (tmp_path / name).write_text(text)
        (judged,) = read_judged(str(tmp_path / name), **arguments)
        return judged

    return read


def test_columns_in_any_order(table):
    judged = table(
        "other score ref seg mt system doc src", "x -1 r 1 m A d s", "x None r 1 n B d s", name="a.de-en.tsv"
    )
    assert (judged.name, judged.source_lang, judged.target_lang) == ("a.de-en", "de", "en")
    assert (judged.systems, judged.segments) == (["A", "B"], 1)
    assert (judged.hypotheses, judged.references, judged.sources) == ([["m"], ["n"]], [["r"]], ["s"])
    assert judged.doc_ids == ["d"]
    np.testing.assert_array_equal(judged.segment_scores, [[-1], [NAN]])
    np.testing.assert_array_equal(judged.system_scores, [-1, NAN])


def test_the_least_that_a_table_holds(table):
    judged = table("mt score", "a 1", "b 2", "a 3")
    assert (judged.systems, judged.hypotheses) == (["outputs"], [["a", "b", "a"]])
    assert (list(judged.references), judged.sources, judged.doc_ids) == ([], None, None)
    assert judged.segment_scores.tolist() == [[1, 2, 3]] and judged.system_scores is None


REFERENCES = [["r", "q"], ["s", "_"]]  # of two segments, by columns


@pytest.mark.parametrize(
    "columns, wanted, read, called",
    [
        ("ref", None, [0], None),
        ("ref", "refA", [0], None),
        ("ref2", None, [0], None),
        ("ref ref2", None, [0], "ref"),
        ("ref_B ref", None, [1], "ref"),
        ("refA refB", "refC", [0], "refA"),
        ("ref ref2", "ref2", [1], "ref2"),
        ("ref ref2", "ref2,ref", [1, 0], "ref2,ref"),
        ("ref other", "other", [1], "other"),
        ("pe reference", None, [1], "reference"),
        ("refs reference_length", None, [], None),
    ],
)
def test_references(table, caplog, columns, wanted, read, called):
    """Of several the first is read, which is said, as of a tree's references."""
    cells = [" ".join(of_segment) for of_segment in zip(*REFERENCES[: len(columns.split())])]
    judged = table(f"mt score {columns}", f"a 1 {cells[0]}", f"b 2 {cells[1]}", reference=wanted)
    said = f"t.tsv: {called} is the reference, of " in caplog.text
    assert said == (called is not None and called != wanted)
    lists = table(f"better worse {columns}", f"a b {cells[0]}", f"b c {cells[1]}", reference=wanted)
    streams = [[None if text == "_" else text for text in REFERENCES[k]] for k in read]
    assert lists.references == streams and judged.reference == lists.reference == called
    # where no stream has a reference, the segment is left out of judgements
    left = [k for k in range(2) if not streams or any(stream[k] for stream in streams)]
    assert list(judged.references) == [[stream[k] for k in left] for stream in streams]


def test_two_columns_of_one_meaning(table, caplog):
    judged = table("hypothesis mt z_mean score rater annotator", "x a 9 1 _ y", "x a 9 3 _ z")
    assert judged.hypotheses == [["a", "a"]] and judged.segment_scores.tolist() == [[1, 3]]
    assert [message.partition(": ")[2] for message in caplog.messages] == [
        "column mt is read, not hypothesis",
        "column score is read, not z_mean",
        "column rater is read, not annotator",
    ]


def test_other_names_of_columns(table):
    judged = table("source hypothesis reference human", "s m r 0.5")
    assert (judged.sources, judged.hypotheses, judged.references) == (["s"], [["m"]], [["r"]])
    prepared = table("system doc seg_in_doc src mt ref mqm n_raters", "A d 1 s m r -0.1 3")
    assert (prepared.doc_ids, prepared.segment_scores.tolist()) == (["d"], [[-0.1]])


def test_mlqe_pe(table, caplog):
    header, row = "src mt pe da_mean z_mean hter doc_id", "s m p 80 0.5 0.25 d"
    judged = table(header, row, row)
    assert (judged.references, judged.segment_scores.tolist()) == ([["p", "p"]], [[0.5, 0.5]])
    assert judged.doc_ids is None
    assert table(header, row, score="da_mean").segment_scores.tolist() == [[80]]
    assert not caplog.messages
    assert table(header, row, score="hter").segment_scores.tolist() == [[-0.25]]
    assert [message.partition(": ")[2] for message in caplog.messages] == [
        "hter counts edits, so the score is its negative"
    ]


def test_documents_are_brought_together_and_sorted_by_segment(table):
    judged = table(
        "system doc seg mt score", "A d2 10 a 1", "A d1 1 b 2", "A d2 9 c 3", "B d2 9 d 4", "B d3 1 e 5", "B d2 10 f 6"
    )
    assert judged.doc_ids == ["d2", "d2", "d1", "d3"]
    assert judged.hypotheses == [["c", "a", "b", None], ["d", "f", None, "e"]]
    np.testing.assert_array_equal(judged.segment_scores, [[3, 1, 2, NAN], [4, 6, NAN, 5]])


def test_what_parts_segments(table):
    """Also texts, where numbers are equal; what is no whole number stays in order."""
    assert table("seg src ref mt score", "1 s r a 1", "1 s q b 2", "1 t r c 3").hypotheses == [["a", "b", "c"]]
    assert table("doc seg mt score", "d 2b a 1", "x 1 b 1", "d 2a c 1").hypotheses == [["a", "c", "b"]]


def test_repeats_without_a_segment_column_are_further_segments(table):
    judged = table("system src mt score", "A s a 1", "A s b 2", "B s c 3", "A s a 4", "B s d 5")
    assert judged.hypotheses == [["a", "b", "a"], ["c", "d", None]]
    np.testing.assert_array_equal(judged.segment_scores, [[1, 2, 4], [3, 5, NAN]])


def test_raters_are_averaged(table):
    rows = ["1 A a 1 r1", "1 A a 4 r2", "1 B b _ r1", "1 B b 3 r2", "2 A c None r1", "2 B d 1 r1"]
    judged = table("seg system mt score annotator", *rows)
    np.testing.assert_array_equal(judged.segment_scores, [[2.5, NAN], [3, 1]])


def test_raters_without_a_segment_column(table):
    # r2 judges A's output of the first row; r1's second judgement of it is of a further segment, which r2 judges too
    of_a = ["s A a 1 r1", "s A a 3 r2", "s A a 5 r1", "s A b 7 r1", "s A a 6 r2"]
    of_b = ["s B c 9 r1", "s B d 9 r1", "s B e 8 r1"]
    judged = table("src system mt score rater", *of_a, *of_b)
    assert judged.hypotheses == [["a", "a", "b"], ["c", "d", "e"]]
    np.testing.assert_array_equal(judged.segment_scores, [[2, 5.5, 7], [9, 9, 8]])


def test_segments_without_a_reference_are_left_out_where_others_have_one(table, caplog):
    judged = table("seg ref mt score", "1 r a 1", "2 _ b 2", "3 _ c 3")
    assert (judged.hypotheses, judged.references, judged.segment_scores.tolist()) == ([["a"]], [["r"]], [[1]])
    assert caplog.messages == ["t: left out 2 segments without a reference, of 3"]
    assert list(table("ref mt score", "_ a 1", "_ b 2").references) == []


def test_segments_with_numbers_of_any_length(table):
    """Beyond 18 digits they are names, which only tell segments apart."""
    judged = table("system seg mt score", f"A {'9' * 5000} a 1", "A 2 b 2", f"B {'9' * 5000} c 3", "B 2 d 4")
    np.testing.assert_array_equal(judged.segment_scores, [[1, 2], [3, 4]])


def test_rows_of_another_output_than_most_raters_judged_are_left_out(table, caplog):
    rows = ["1 A a 1 r", "1 A x 9 q", "1 A a 3 p", "1 B b 2 r", "2 A c 4 r", "2 A y 9 q", "2 B d 6 r"]
    judged = table("seg system mt score rater", *rows)
    assert judged.hypotheses == [["a", "c"], ["b", "d"]]  # of as many raters, what the first one saw
    assert judged.segment_scores.tolist() == [[2, 4], [2, 6]]
    [line] = caplog.messages
    assert line.endswith(
        "t.tsv, line 3: A has another output for this segment in other rows; left out 2 such rows of 7"
    )
    caplog.clear()
    table("seg system mt score rater", *rows[:4], rows[-1])
    assert caplog.messages[0].endswith("left out 1 such row of 5")


@pytest.mark.parametrize("nothing", ["_", "None", "NA", "nan", "NaN"])
def test_what_is_no_score(table, nothing):
    np.testing.assert_array_equal(table("mt score", "a 1", f"b {nothing}").segment_scores, [[1, NAN]])


@pytest.mark.parametrize(
    "rows, message",
    [
        (["mt score", "a inf"], "line 2: 'inf' is not a score"),
        (["seg mt score rater", "1 a 1 r", "1 b 1 q"], "line 3: outputs has different outputs .* 1 of 2 rows"),
        (["doc mt score", "d a 1", "_ b 1"], "line 3: column doc is empty"),
        (["mt score"], "no rows below the header"),
        (["mt ref", "a b"], "no column score; .* mt, ref; --score-column names another"),
        (["segment,mt,score", "1,a,2"], "its columns are separated by commas"),
    ],
)
def test_tables_that_cannot_be_used(table, rows, message):
    with pytest.raises(InputError, match=message):
        table(*rows)


def test_columns_that_are_not_there(table, tmp_path):
    with pytest.raises(InputError, match="no column da; the header names mt, score"):
        table("mt score", "a 1", score="da")
    (tmp_path / "x.tsv").write_text("score\n1\n")
    with pytest.raises(InputError, match="no column mt; the header names score"):
        read_table(str(tmp_path / "x.tsv"))


def test_systems_that_lack_segments_are_said(table, caplog):
    judged = table("system seg mt score", "A 1 a 1", "A 2 b 2", "B 1 c 3", "B 2x d 4")
    assert judged.segments == 3 and not judged.complete
    assert "of 3 segments, A lacks 1, B lacks 1; so there are no system scores" in caplog.text


@pytest.fixture
def jsonl(tmp_path):
    """A function that writes objects (or lines as they are), packed as the name says, and reads them as judged outputs."""

    def read(*objects, name="t.jsonl", **arguments):
        lines = [each if isinstance(each, str) else json.dumps(each) for each in objects]
        pack = gzip.compress if name.endswith(".gz") else bytes
        (tmp_path / name).write_bytes(pack(("\n".join(lines) + "\n").encode()))
        (judged,) = read_judged(str(tmp_path / name), **arguments)
        return judged

    return read


def test_the_names_of_a_table(jsonl):
    first = {"score": -1, "ref": "r\t1", "seg": 2, "mt": "m", "system": "A", "doc": "d", "src": "s", "other": [1]}
    second = {"doc": "d", "seg": 1, "system": "A", "hypothesis": "no", "mt": "n", "src": "t", "ref": "q", "score": None}
    judged = jsonl(first, second, name="a.de-en.jsonl.gz")
    assert (judged.name, judged.source_lang, judged.target_lang) == ("a.de-en", "de", "en")
    assert (judged.systems, judged.hypotheses, judged.doc_ids) == (["A"], [["n", "m"]], ["d", "d"])  # by number: 1, 2
    assert (judged.sources, judged.references) == (["t", "s"], [["q", "r\t1"]])
    np.testing.assert_array_equal(judged.segment_scores, [[NAN, -1]])


def test_lines_of_objects(jsonl):
    """A byte-order mark, carriage returns and empty lines; texts with line ends; columns that only some objects name."""
    rows = ['\ufeff{"target": "a\\nb", "human": "0.5"}\r', "", " ", '{"target": "c\u2028", "human": 1e1, "rater": "x"}']
    judged = jsonl(*rows)
    assert judged.hypotheses == [["a\nb", "c\u2028"]] and judged.segment_scores.tolist() == [[0.5, 10]]


def test_raters_are_averaged_or_kept(jsonl, tmp_path):
    rows = [{"mt": "a", "ref": "r", "score": score, "rater": rater} for score, rater in ((1, "x"), (4, "y"))]
    assert jsonl(*rows).segment_scores.tolist() == [[2.5]]
    [(_, _, kept, _)] = read_judged_rows(str(tmp_path / "t.jsonl"))
    assert [(row.hypothesis, row.score, row.rater) for row in kept] == [("a", 1, "x"), ("a", 4, "y")]
    assert kept[0].segment == kept[1].segment and kept[0].texts == (None, None, None, "r")


def test_lists_of_references(jsonl, caplog):
    rows = [{"mt": "a", "score": 1, "ref": ["r", "s"]}, {"mt": "b", "score": 2, "ref": "q"}, {"mt": "c", "score": 3}]
    judged = jsonl(*rows, {"mt": "d", "score": 4, "ref": []}, reference="ref,ref2")
    assert judged.references == [["r", "q"], ["s", None]] and judged.reference == "ref,ref2"
    assert jsonl(*rows).references == [["r", "q"]]
    assert caplog.messages[-2].endswith("t.jsonl: ref is the reference, of ref, ref2 (--reference)")


@pytest.mark.parametrize(
    "second, message",
    [
        ("{", r"line 2: not JSON \(Expecting property name"),
        ("[" * 100_000, r"line 2: not JSON \("),
        ('["a", 1]', "line 2: not a JSON object"),
        ({"score": 1}, "line 2: no mt$"),
        ({"mt": "a", "score": 1, "ref": ["r", 1.5, {}]}, "line 2: ref3 is neither text nor number"),
        (
            {"mt": "a", "score": 1, "ref": ["r", "s"], "ref2": "t"},
            "line 2: ref is a list of 2, but column ref2 is given",
        ),
        ({"mt": "a", "score": True}, "line 2: score is neither text nor number"),
        ('{"mt": "a", "score": Infinity}', "line 2: 'inf' is not a score"),
        ('{"mt": "\\ud800", "score": 1}', "line 2: mt holds half of a surrogate pair"),
    ],
)
def test_objects_that_cannot_be_used(jsonl, second, message):
    with pytest.raises(InputError, match=f"t.jsonl, {message}"):
        jsonl({"mt": "a", "score": 1}, second)


def test_names_that_no_object_has(jsonl):
    with pytest.raises(InputError, match="line 1: no column score; its objects name mt, da; --score-column"):
        jsonl({"mt": "a", "da": 1})
