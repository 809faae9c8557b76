"""What systems are called, and streams of other lengths."""

import pytest

from ctx_metrics.corpus import named
from ctx_metrics.errors import InputError
from ctx_metrics.run.streams import check_lengths
from ctx_metrics.system_names import short_names
from ctx_metrics.wording import by_flags


def test_streams_of_other_lengths_are_refused():
    check_lengths([named(["a", "b"], "x"), named(["c", "d"], "y")])
    with by_flags(), pytest.raises(InputError, match="^y has 1 line, but x has 2$"):
        check_lengths([named(["a", "b"], "x"), named(["c"], "y")])
    with by_flags(), pytest.raises(InputError, match="^z is empty"):
        check_lengths([named(["a", "b"], "x"), named(["c"], "y"), named([], "z")])
    with pytest.raises(InputError, match="^y: 1 segment for 2 segments of x$"):
        check_lengths([named(["a", "b"], "x"), named(["c"], "y")])


def test_names_keep_what_tells_them_apart():
    assert short_names(["set.a.b.en", "set.a.c.en"], 5) == ["b", "c"]
    assert short_names(["out/a.txt", "out/ab.txt"], 5) == ["a", "ab"]
    assert short_names(["one", "another-one"], 4) == ["one", "another-one"]  # no part ends there
    assert short_names(["x.same", "x.same"], 2) == ["x.same", "x.same"]
    assert short_names(["x.y", "x.z"], 3) == ["x.y", "x.z"]
    assert short_names(["a.txt", "txt"], 3) == ["a.txt", "txt"]
