"""Blocks: planned from the input alone, documents never split."""

from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.annotate.rows import blocks


class Ids(list):
    """Rows that are their document's id."""

    def texts(self, column):
        return list(self)

    def part(self, start, end):
        return Ids(self[start:end])

    def with_more(self, other):
        return Ids([*self, *other])


def planned(ids, size, document="doc", chunk=3, first=100):
    chunks = [Ids(ids[i : i + chunk]) for i in range(0, len(ids), chunk)]
    return list(blocks(chunks, size, document, first))


def test_rows_without_documents():
    assert planned("abcdefg", 3, None) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert planned("abc", 3, None) == [["a", "b", "c"]]
    assert planned("", 3) == []


def test_the_first_blocks_of_a_run_are_small():
    """Each may have twice as many rows as the one before."""
    rows = range(2000)
    assert [len(own) for own in planned(rows, 500, None)] == [100, 200, 400, 500, 500, 300]
    assert [len(own) for own in planned(rows[300:], 500, None, first=400)] == [400, 500, 500, 300]
    assert [len(own) for own in planned(["a"] * 70 + ["b"] * 40 + ["c"] * 170, 500)] == [70, 40, 170]


@given(st.lists(st.integers(1, 12), max_size=12), st.integers(1, 10), st.integers(1, 30))
def test_documents_stay_whole(lengths, size, chunk):
    ids = [str(number) for number, length in enumerate(lengths) for _ in range(length)]
    found = planned(ids, size, chunk=chunk)
    assert [each for rows in found for each in rows] == ids
    for number, rows in enumerate(found):
        documents = list(dict.fromkeys(rows))
        assert len(rows) <= size or len(documents) == 1
        if number:
            before = found[number - 1]
            assert before[-1] != rows[0]  # no document goes on in the next block
            assert len(before) + rows.count(rows[0]) > size  # and the next one would not have fitted
    assert found == planned(ids, size, chunk=1)  # however the rows come
