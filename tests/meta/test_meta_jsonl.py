import gzip
import json
import lzma

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.meta.judgements.readers import read_judged
from ctx_metrics.meta.judgements.readers.table import read_judged_rows

NAN = float("nan")


@pytest.fixture
def jsonl(tmp_path):
    """A function that writes objects (or lines as they are) and reads them as judged outputs."""

    def read(*objects, name="t.jsonl", **arguments):
        lines = [each if isinstance(each, str) else json.dumps(each) for each in objects]
        pack = gzip.compress if name.endswith(".gz") else lzma.compress if name.endswith(".xz") else bytes
        (tmp_path / name).write_bytes(pack(("\n".join(lines) + "\n").encode()))
        (judged,) = read_judged(str(tmp_path / name), **arguments)
        return judged

    return read


@pytest.mark.parametrize("name", ["a.de-en.jsonl", "a.de-en.jsonl.gz", "a.de-en.jsonl.xz"])
def test_the_names_of_a_table(jsonl, name):
    judged = jsonl(
        {"score": -1, "ref": "r\t1", "seg": 2, "mt": "m", "system": "A", "doc": "d", "src": "s", "other": [1]},
        {
            "doc": "d",
            "seg": 1,
            "system": "A",
            "hypothesis": "ignored",
            "mt": "n",
            "src": "t",
            "ref": "q",
            "score": None,
        },
        name=name,
    )
    assert (judged.name, judged.source_lang, judged.target_lang) == ("a.de-en", "de", "en")
    assert (judged.systems, judged.hypotheses, judged.doc_ids) == (["A"], [["n", "m"]], ["d", "d"])  # by number: 1, 2
    assert (judged.sources, judged.references) == (["t", "s"], [["q", "r\t1"]])
    np.testing.assert_array_equal(judged.segment_scores, [[NAN, -1]])


def test_byte_order_mark_line_ends_and_empty_lines(jsonl):
    judged = jsonl('\ufeff{"target": "a\\nb", "human": "0.5"}\r', "", " ", '{"target": "c\u2028", "human": 1e1}')
    assert judged.hypotheses == [["a\nb", "c\u2028"]] and judged.segment_scores.tolist() == [[0.5, 10]]


def test_what_only_some_objects_name(jsonl, caplog):
    judged = jsonl({"mt": "a", "score": 1}, {"mt": "b", "ref": "r", "score": 2, "rater": "x"})
    assert (judged.hypotheses, judged.references) == ([["b"]], [["r"]])
    assert caplog.messages == ["t: left out 1 segment without a reference, of 2"]


def test_another_score(jsonl, tmp_path):
    assert jsonl({"mt": "a", "score": 1, "da": 80}, score="da").segment_scores.tolist() == [[80]]
    assert jsonl({"mt": "a", "hter": 0.25}, score="hter").segment_scores.tolist() == [[-0.25]]


def test_raters_are_averaged_or_kept(jsonl, tmp_path):
    rows = [{"mt": "a", "ref": "r", "score": score, "rater": rater} for score, rater in ((1, "x"), (4, "y"))]
    assert jsonl(*rows).segment_scores.tolist() == [[2.5]]
    kept = read_judged_rows(str(tmp_path / "t.jsonl"))
    assert [(row.hypothesis, row.score, row.rater) for row in kept] == [("a", 1, "x"), ("a", 4, "y")]
    assert kept[0].segment == kept[1].segment and kept[0].texts == (None, None, None, "r")


def test_lists_of_references(jsonl, caplog):
    rows = [{"mt": "a", "score": 1, "ref": ["r", "s"]}, {"mt": "b", "score": 2, "ref": "q"}, {"mt": "c", "score": 3}]
    judged = jsonl(*rows, {"mt": "d", "score": 4, "ref": []}, reference="ref,ref2")
    assert judged.references == [["r", "q"], ["s", None]] and judged.reference == "ref,ref2"
    assert jsonl(*rows).references == [["r", "q"]]
    assert caplog.messages[-2].endswith("t.jsonl: ref is the reference, of ref, ref2 (--reference)")


GOOD = {"mt": "a", "score": 1}


@pytest.mark.parametrize(
    "second, message",
    [
        ("{", r"t.jsonl, line 2: not JSON \(Expecting property name.*\); write one object per line"),
        ("[" * 100_000, r"t.jsonl, line 2: not JSON \("),
        ('["a", 1]', "t.jsonl, line 2: not a JSON object; write one per line, such as"),
        ({"score": 1}, "t.jsonl, line 2: no mt$"),
        ({"mt": "a"}, "t.jsonl, line 2: no score$"),
        ({"mt": ["a"], "score": 1}, "t.jsonl, line 2: mt is neither text nor number"),
        ({"mt": "a", "score": 1, "ref": ["r", 1.5, {}]}, "t.jsonl, line 2: ref3 is neither text nor number"),
        (
            {"mt": "a", "score": 1, "ref": ["r", "s"], "ref2": "t"},
            "t.jsonl, line 2: ref is a list of 2, but column ref2 is given too",
        ),
        ({"mt": "a", "score": True}, "t.jsonl, line 2: score is neither text nor number"),
        ({"mt": "a", "score": "good"}, "t.jsonl, line 2: 'good' is not a score"),
        ('{"mt": "a", "score": Infinity}', "t.jsonl, line 2: 'inf' is not a score"),
        ('{"mt": "\\ud800", "score": 1}', "t.jsonl, line 2: mt holds half of a surrogate pair"),
        ({"mt": "a", "score": 1, "seg": None}, "t.jsonl, line [12]: column seg is empty"),
    ],
)
def test_objects_that_cannot_be_used(jsonl, second, message):
    with pytest.raises(InputError, match=message):
        jsonl(GOOD, second)


def test_names_that_no_object_has(jsonl):
    with pytest.raises(
        InputError, match="line 1: no column score; its objects name mt, da; --score-column names another"
    ):
        jsonl({"mt": "a", "da": 1})
    with pytest.raises(InputError, match="line 1: no column mt; its objects name nothing"):
        jsonl("")
