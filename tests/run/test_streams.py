"""What systems are called."""

from ctx_metrics.run.streams import short_names


def test_names_keep_what_tells_them_apart():
    assert short_names(["set.a.b.en", "set.a.c.en"], 5) == ["b", "c"]
    assert short_names(["out/a.txt", "out/ab.txt"], 5) == ["a", "ab"]
    assert short_names(["one", "another-one"], 4) == ["one", "another-one"]  # no part ends there
    assert short_names(["x.same", "x.same"], 2) == ["x.same", "x.same"]
    assert short_names(["x.y", "x.z"], 3) == ["x.y", "x.z"]
    assert short_names(["a.txt", "txt"], 3) == ["a.txt", "txt"]
