"""Tables of `ctx-metrics score` as scores of a judged set."""

import gzip
import json

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.meta.judgements.judged import JudgedSet
from ctx_metrics.meta.judgements.score_files import read_scores

NAN = float("nan")
HEADER = "level\tsystem\tdocument\tsegment\tmetric\tscore\n"


@pytest.fixture
def judged():
    return JudgedSet("toy", ["A", "B"], 2, segment_scores=np.zeros((2, 2)))


def rows(*places: str) -> str:
    """TSV of rows such as "segment A 1 chrf 3.5"; a system has no segment, which is "-"."""
    cells = [place.split() for place in places]
    return HEADER + "".join(
        f"{level}\t{system}\t\t{'' if segment == '-' else segment}\t{metric}\t{'' if score == '-' else score}\n"
        for level, system, segment, metric, score in cells
    )


WHOLE = ["segment B 1 m 3", "segment B 2 m 5", "segment A 2 m -", "segment A 1 m 1.5"]


def test_rows_in_any_order(tmp_path, judged, caplog):
    others = ["segment refB 1 m 9", "document A 1 m 8"]
    (tmp_path / "scores.tsv").write_text(rows(*others, *WHOLE))
    [scores] = read_scores([str(tmp_path / "scores.tsv")], judged)
    assert (scores.name, scores.signature) == ("m", "")
    np.testing.assert_array_equal(scores.segment_scores, [[1.5, NAN], [3, 5]])
    np.testing.assert_array_equal(scores.system_scores, [1.5, 4])
    assert [message.partition("scores.tsv: ")[2] for message in caplog.messages] == ["1 output has no score of m"]


def test_json_lines_tell_systems_and_signatures(tmp_path, judged):
    objects = [
        {"level": "segment", "system": system, "document": None, "segment": i + 1, "metric": metric, "score": i}
        for system in "AB"
        for metric in "mn"
        for i in range(2)
    ]
    objects += [
        {
            "level": "system",
            "system": system,
            "document": None,
            "segment": None,
            "metric": metric,
            "score": 7.25,
            "signature": f"of {metric}",
            "counts": {"empty": 0},
        }
        for system in "AB"
        for metric in "mn"
    ]
    text = "".join(json.dumps(each) + "\n" for each in objects)
    (tmp_path / "scores.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    found = read_scores([str(tmp_path / "scores.jsonl.gz")], judged)
    assert [(each.name, each.signature) for each in found] == [("m", "of m"), ("n", "of n")]
    for each in found:
        np.testing.assert_array_equal(each.segment_scores, [[0, 1], [0, 1]])
        assert each.system_scores.tolist() == [7.25, 7.25]


def test_systems_alone(tmp_path, judged):
    (tmp_path / "scores.tsv").write_text(rows("system A - m 1", "system B - m 2"))
    [scores] = read_scores([str(tmp_path / "scores.tsv")], judged)
    assert scores.segment_scores is None and scores.system_scores.tolist() == [1, 2]


@pytest.mark.parametrize(
    "text, message",
    [
        (rows(*WHOLE[:3]), "scores.tsv: no score of m for A, segment 1"),
        (rows(*WHOLE, "system B - m 2"), "scores.tsv: no score of m for A"),
        (rows(*WHOLE, WHOLE[1]), "scores.tsv, line 6: a second score of m for B, segment 2"),
        (rows(*WHOLE, "segment A 3 m 2"), "scores.tsv, line 6: segment '3', and toy has segments 1 to 2"),
        (rows(*WHOLE, "segment A 0 m 2"), "scores.tsv, line 6: segment '0', and toy has segments 1 to 2"),
        (rows(*WHOLE, f"segment A {'9' * 5000} m 2"), f"line 6: segment '{'9' * 40}', and toy has segments 1 to 2"),
        (rows(*WHOLE, "segment A x m 2"), "scores.tsv, line 6: segment 'x', and toy has segments 1 to 2"),
        (rows("segment A 1 m high"), "scores.tsv, line 2: 'high' is not a score"),
        (rows("segment C 1 m 1"), "scores.tsv: no scores of A, B"),
        ("system\tscore\nA\t1\n", "scores.tsv: no column level: not a table of `ctx-metrics score`"),
    ],
)
def test_one_line_for_each_fault(tmp_path, judged, text, message):
    (tmp_path / "scores.tsv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_scores([str(tmp_path / "scores.tsv")], judged)
    assert message in str(caught.value)
