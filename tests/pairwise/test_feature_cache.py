"""Numbers of texts on disk: computed once, and again where their file is damaged."""

import os

import numpy as np
import pytest
from disk_faults import at_most

from ctx_metrics.errors import InputError
from ctx_metrics.pairwise.training.reader import FeatureCache, texts_key

VALUES = np.array([[[1.5, np.nan]], [[-2.0, 3.25]]])


class Compute:
    def __init__(self, values=VALUES):
        self.values, self.times = values, 0

    def __call__(self):
        self.times += 1
        return self.values


@pytest.mark.parametrize("values", [VALUES, np.zeros((0, 3), np.float32), np.arange(3), np.array(2.0)], ids=str)
def test_computed_once_and_read_by_the_next_run(tmp_path, values):
    compute = Compute(values)
    first = FeatureCache(tmp_path / "new" / "folder").columns("chrf", "k", compute)
    again = FeatureCache(tmp_path / "new" / "folder").columns("chrf", "k", compute)
    assert compute.times == 1
    for found in (first, again):
        assert found.dtype == values.dtype and found.shape == values.shape
        np.testing.assert_array_equal(found, values)
    assert [path.suffix for path in (tmp_path / "new" / "folder").iterdir()] == [".npy"]


def test_other_settings_or_texts_are_other_entries(tmp_path):
    cache, computed = FeatureCache(tmp_path), []
    keys = [("a", "b"), ("a", "c"), ("b", "b"), ("ab", ""), ("", "ab")]
    for number, key in enumerate(keys):
        cache.columns(*key, lambda: computed.append(key) or np.array([float(number)]))
    assert computed == keys
    assert [cache.columns(*key, Compute())[0] for key in keys] == [0, 1, 2, 3, 4]


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cache, compute = FeatureCache(None), Compute()
    assert cache.columns("a", "b", compute) is VALUES is cache.columns("a", "b", compute)
    assert compute.times == 2 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data + b"x",
        lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],  # one bit of a number
        lambda data: b"PK\x03\x04" + data,
    ],
)
def test_a_damaged_file_is_computed_again_and_said(tmp_path, damage, caplog):
    cache, compute = FeatureCache(tmp_path), Compute()
    cache.columns("a", "b", compute)
    [path] = tmp_path.iterdir()
    whole = path.read_bytes()
    assert damage(whole) != whole
    path.write_bytes(damage(whole))
    np.testing.assert_array_equal(cache.columns("a", "b", compute), VALUES)
    assert compute.times == 2 and path.read_bytes() == whole
    assert caplog.messages == [f"{path}: the file is damaged; its content is computed again"]


def test_objects_are_never_unpickled(tmp_path, caplog):
    cache = FeatureCache(tmp_path)
    cache.columns("a", "b", Compute())
    [path] = tmp_path.iterdir()
    with open(path, "wb") as file:
        np.save(file, np.array([{"code": 1}], object), allow_pickle=True)
    np.testing.assert_array_equal(cache.columns("a", "b", Compute()), VALUES)
    with pytest.raises(ValueError):
        cache.columns("c", "d", Compute(np.array([{}], object)))
    assert list(tmp_path.iterdir()) == [path]  # nothing half written


def test_folders_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"^cannot use .*file as feature cache: .*; name another --cache folder$"):
        FeatureCache(tmp_path / "file")
    cache = FeatureCache(tmp_path / "odd")
    with at_most(100), pytest.raises(InputError, match=r"^cannot write .*npy: File too large; name another --cache"):
        cache.columns("a", "b", Compute())
    assert not list((tmp_path / "odd").iterdir())
    cache.columns("a", "b", Compute())
    [path] = (tmp_path / "odd").iterdir()
    path.unlink()
    path.mkdir()  # a folder in the file's place
    with pytest.raises(InputError, match=r"^cannot use .*odd as feature cache: Is a directory"):
        cache.columns("a", "b", Compute())


def test_keys_of_texts():
    texts = [["a", "b"], ["b", "a"], ["ab"], ["a", ""], ["a", None], ["a", "None"], ["a"], ["\ud800"], []]
    keys = [texts_key([stream]) for stream in texts]
    keys += [
        texts_key(streams) for streams in ([["a"], ["b"]], [["a"], None], [["a"], []], [["a"], [None]], [], [None])
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)
    assert texts_key([["ä", None], None]) == texts_key((("ä", None), None))


def test_stopped_it_leaves_nothing(tmp_path, monkeypatch):
    """While it computes, and while it writes: the name of the file is not there yet."""

    def killed(*paths):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FeatureCache(tmp_path).columns("a", "b", killed)
    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        FeatureCache(tmp_path).columns("a", "b", Compute())
    assert not list(tmp_path.iterdir())
