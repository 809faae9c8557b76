"""Rows that are not learned because a file lists their document or their source."""

import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.training.quality.examples import read_training_set, with_windows
from ctx_metrics.training.quality.judgements import Judgement
from ctx_metrics.training.quality.leave_out import LeftOut

HEADER = "system|doc|seg|src|mt|ref|score"
ROWS = [f"A|{doc}|{k}|s{doc}{k}|m{doc}{k}|r|{k}" for doc in "xyz" for k in (1, 2, 3)]


def row(document=None, source=None):
    return Judgement("m", "r", 0.0, "toy", "A", document, source)


def test_rows_are_left_out_by_document_and_by_source(put, caplog):
    files = put("held-out.txt", "y", "", "  sz2 ", "sz2"), put("test.en", "sx1", "sy1", "absent"), put("none.txt", "t")
    path = put("t.tsv", HEADER, *ROWS)
    other = put("other.tsv", "mt|ref|score", "a|r|1", "b|r|2")
    found = read_training_set([path, other], normalise="none", leave_out=files)
    assert found.hypotheses == ["mx2", "mx3", "mz1", "mz3", "a", "b"]
    # the first file that lists a row counts it
    assert found.counts[path] == {"rows": 9, "kept": 4, "listed in held-out.txt": 4, "listed in test.en": 1}
    assert found.counts[other] == {"rows": 2, "kept": 2}
    assert found.left_out == dict(zip(files, ({"lines": n, "found": k} for n, k in ((2, 2), (3, 2), (1, 0)))))
    assert caplog.messages[0].startswith(
        f"{path}: 4 rows to learn from; left out 4 rows listed in held-out.txt, 1 listed"
    )
    assert caplog.messages[1].startswith(f"{files[2]}: none of its lines is a document or a source")


def test_targets_are_standardised_without_them(put):
    path = put("t.tsv", "doc|mt|ref|score", "a|m|r|1", "a|n|r|3", "b|o|r|100")
    assert read_training_set([path], leave_out=[put("l.txt", "b")]).targets.tolist() == [-1, 1]


def test_sources_count_where_only_references_are_read(put):
    path = put("t.tsv", "src|mt|ref|score", "s|m|r|1", "t|n|r|3", "s|o|r|4")
    found = read_training_set([path], "mt+ref", leave_out=[put("l.txt", "t")])
    assert found.hypotheses == ["m", "o"] and found.sources == [None, None]


def test_windows_do_not_bridge_a_sentence_that_is_left_out(put):
    path = put("t.tsv", HEADER, *(f"A|x|{k}|s{k}|m{k}|r{k}|{k}" for k in range(1, 6)))
    found = read_training_set([path], leave_out=[put("l.txt", "s3")])
    windows = with_windows(found, 5, seed=1).hypotheses[len(found) :]
    assert windows == ["m1 m2", "m4 m5"]


def test_a_file_whose_lines_another_has_too_is_not_without_effect(put):
    left = LeftOut([put("a.txt", "x"), put("b.txt", "x")])
    kept, counts = left.without([row("x"), row(source=" x\t"), row("y", "z"), row()])
    assert kept == [row("y", "z"), row()] and counts == {"listed in a.txt": 2}
    assert [each["found"] for each in left.counts().values()] == [1, 1]


def test_a_part_of_a_text_is_not_the_text(put):
    kept, counts = LeftOut([put("a.txt", "the cat")]).without([row("the"), row(source="the cat sat"), row("The cat")])
    assert len(kept) == 3 and not counts


def test_files_that_leave_nothing(put):
    path = put("a.txt", "x")
    with pytest.raises(InputError, match="given twice"):
        LeftOut([path, path])
    with pytest.raises(InputError, match="no rows are left to learn from; left out 9 rows listed in all.txt"):
        read_training_set([put("t.tsv", HEADER, *ROWS)], leave_out=[put("all.txt", "x", "y", "z")])
