"""Scores that are sums of several columns of a table."""

import json

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.readers.score_columns import Term, names_of, terms_of
from ctx_metrics.judgements.readers.table import read_judged_rows

NAN = float("nan")


def scores(path, *formulas):
    [rated] = read_judged_rows(path, formulas=formulas)
    return [row.score for row in rated.rows], rated.scores


def test_one_name_is_the_column_as_it_is(put):
    path = put("t.tsv", "mt|score|A|B", "a|9|-1.5|4", "b|9||5", "c|9|2|6")
    found, said = scores(path, ["A"])
    np.testing.assert_array_equal(found, [-1.5, NAN, 2])
    assert said == "A"
    assert scores(path, ["C"]) == ([9, 9, 9], "score (its usual column)")
    assert scores(path) == ([9, 9, 9], "")


def test_a_sum_of_standardised_columns(put):
    """A of the complete rows: 1 3 5, mean 3, variance 8/3; B: 10 10 40, mean 20, variance 200."""
    path = put("t.tsv", "mt|A|B", "a|1|10", "b|99|", "c|3|10", "d|None|7", "e|5|40")
    found, said = scores(path, ["A", "B:-0.5"])
    a, b = (8 / 3) ** 0.5, 200**0.5
    np.testing.assert_allclose(found, [-2 / a + 5 / b, NAN, 5 / b, NAN, 2 / a - 10 / b])
    assert said == "z(A) - 0.5 z(B)"


def test_one_column_with_a_weight_is_standardised(put):
    path = put("t.tsv", "mt|ter", "a|10", "b|30")
    assert scores(path, ["ter:-1"]) == ([1, -1], "-z(ter)")


def test_edits_count_negative_as_they_do_alone(put, caplog):
    path = put("t.tsv", "mt|hter|A", "a|.1|3", "b|.3|1")
    assert scores(path, ["hter", "A"])[0] == pytest.approx([2, -2])
    assert scores(path, ["hter"])[0] == [-0.1, -0.3]
    assert caplog.text.count("hter counts edits, so the score is its negative") == 2


def test_a_column_of_one_value_counts_nothing(put, caplog):
    path = put("t.tsv", "mt|A|B", "a|1|7", "b|3|7")
    assert scores(path, ["A", "B"])[0] == [-1, 1]
    assert "t: column B has the same value in all rows, so it counts as 0 in their scores" in caplog.text


def test_no_row_has_all_columns(put):
    assert np.isnan(scores(put("t.tsv", "mt|A|B", "a|1|", "b||7"), ["A", "B"])[0]).all()


def test_a_table_is_read_by_the_first_formula_that_it_has():
    formulas = [["A", "B"], ["C:2", "D"]]
    assert terms_of(formulas, ["D", "C", "mt"], "t") == [Term("C", 2), Term("D", 1)]
    assert terms_of(formulas, ["A", "B", "C", "D"], "t") == [Term("A", 1), Term("B", 1)]
    assert terms_of([["A", "B"], ["A"]], ["A"], "t") == [Term("A")]
    assert terms_of(formulas, ["mt", "score"], "t") == []
    for header, there, lacks in ((["mt", "B"], "B", "A"), (["mt", "C"], "C", "D")):
        with pytest.raises(
            InputError, match=f"t, line 1: it has column {there} of --score-column, but no column {lacks};"
        ):
            terms_of(formulas, header, "t")


def test_a_name_with_a_colon_is_a_column_where_there_is_one():
    assert terms_of([["A:2"]], ["A", "A:2"], "t") == [Term("A:2")]
    assert terms_of([["A:2", "A"]], ["A", "A:2"], "t") == [Term("A:2", 1), Term("A", 1)]
    assert terms_of([["A:2:-.5e1"]], ["A:2"], "t") == [Term("A:2", -5)]
    assert terms_of([["A:x"]], ["A"], "t") == []
    assert names_of([["A:2:3"]]) == {"A:2:3", "A:2"}


@pytest.mark.parametrize("weight", ["0", "-0.0", "1e999"])
def test_weights_that_make_no_score(weight):
    with pytest.raises(InputError, match=f"--score-column A:{weight}: a weight of"):
        terms_of([[f"A:{weight}"]], ["A"], "t")


def test_columns_of_json_objects(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [{"mt": "a", "A": 1, "B": 2}, {"mt": "b", "A": 3, "B": 0}, {"mt": "c", "A": None, "B": 0}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    np.testing.assert_array_equal(scores(str(path), ["A", "B:-1"])[0], [-2, 2, NAN])
    path.write_text(path.read_text() + '{"mt": "d", "A": 1}\n')
    with pytest.raises(InputError, match="t.jsonl, line 4: no B"):
        scores(str(path), ["A", "B:-1"])
