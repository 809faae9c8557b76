"""Files that appear whole or not at all, with nobody's link followed and nobody's permissions changed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from comet_checkpoints import RECIPES, build
from disk_faults import at_most, refused

from ctx_metrics import InputError
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.folder import write_model
from ctx_metrics.training.quality.teacher import _write as write_scores
from ctx_metrics.training.state import TrainingState, write_state
from ctx_metrics.writing import LINK, check_writable, is_stream, replacing, write_tensors, write_whole

ADDRESS = "it is an address, but only files on this machine can be written here; give a path"


def mode(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def umask_077():
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    target, link, folder = tmp_path / "scores", tmp_path / "link", tmp_path / "folder"
    target.write_text("old")
    link.symlink_to(target)
    folder.mkdir()
    with pytest.raises(InputError, match="nothing is written through a link"):
        write_whole(str(link), "new\n")
    assert target.read_bytes() == b"old" and link.is_symlink()
    write_whole(str(target), "new\n")
    with pytest.raises(InputError, match="cannot write .*folder: Is a directory; the scores above are complete"):
        write_whole(str(folder), "new\n", "the scores above are complete")
    with pytest.raises(UnicodeEncodeError):
        write_whole(str(target), "half\ud800")
    assert target.read_text() == "new\n" and sorted(os.listdir(tmp_path)) == ["folder", "link", "scores"]


def test_a_block_that_fails_leaves_the_old_file(tmp_path):
    target = tmp_path / "figure.png"
    target.write_text("old")
    with pytest.raises(RuntimeError), replacing(str(target)) as beside:
        with open(beside, "w") as file:
            file.write("half")
        raise RuntimeError
    assert target.read_text() == "old" and os.listdir(tmp_path) == ["figure.png"]


def test_another_encoding(tmp_path):
    target = tmp_path / "lines"
    write_whole(str(target), "größer\r\n", encoding="latin1")
    assert target.read_bytes() == b"gr\xf6\xdfer\r\n"
    with pytest.raises(InputError, match=r"line 2: '€' \(U\+20AC\) is not in latin1; .*; so$"):
        write_whole(str(target), "a\n€\n", "so", "latin1")
    assert target.read_bytes() == b"gr\xf6\xdfer\r\n"


def test_a_name_that_is_no_text_is_written_as_its_bytes(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    write_whole(str(tmp_path / "scores"), f"{name}\t1.0\n")
    assert (tmp_path / "scores").read_bytes() == b"caf\xe9\t1.0\n"


def test_nothing_planted_is_followed_and_nobody_else_may_look(tmp_path):
    """Another user can list a folder that all may write to, and plant links there under names that can be foreseen."""
    victim, target = tmp_path / "victim", tmp_path / "scores"
    victim.write_text("mine")
    (tmp_path / f"scores.{os.getpid()}.tmp").symlink_to(victim)
    for path, found in ((target, "new"), (tmp_path / "model", "weights")):
        with replacing(str(path)) as beside:
            own = Path(beside).parent
            assert own.parent == tmp_path and mode(own) == 0o700 and os.listdir(own) == []
            Path(beside).write_text(found)
        assert path.read_text() == found
    assert victim.read_text() == "mine" and not list(tmp_path.glob(".*"))


def test_two_writers_of_one_file_do_not_meet(tmp_path):
    """Two containers share a folder and both have the process id 1."""
    target = tmp_path / "scores"
    with replacing(str(target)) as first:
        Path(first).write_text("first")
        with replacing(str(target)) as second:
            Path(second).write_text("second")
        assert target.read_text() == "second"
    assert target.read_text() == "first" and os.listdir(tmp_path) == ["scores"]


def test_permissions_stay_and_new_files_have_the_umasks(tmp_path, umask_077):
    tensors = {"w": torch.zeros(3)}
    for name, write in (
        ("text", lambda path: write_whole(str(path), "new")),
        ("tensors", lambda path: write_tensors(str(path), tensors)),
        ("scores.npz", lambda path: write_scores(path, "key", np.zeros(2))),
    ):
        path = tmp_path / name
        write(path)
        assert mode(path) == 0o600
        for kept in (0o640, 0o644):
            path.chmod(kept)
            write(path)
            assert mode(path) == kept
    convert(str(build(RECIPES["regression"], tmp_path / "old")), tmp_path / "new")
    assert {mode(path) for path in (tmp_path / "new").iterdir()} == {0o600} and mode(tmp_path / "new") == 0o700


FULL = {
    "text": lambda path, tensors: write_whole(str(path), "x" * 9999),
    "tensors": lambda path, tensors: write_tensors(str(path), tensors),
    "state": lambda path, tensors: write_state(path, TrainingState(tensors, {}, {}, "{}"), {}),
    "scores": lambda path, tensors: write_scores(path, "key", np.zeros(999)),
    "a trained model": lambda path, tensors: write_model(path.parent, {}, tensors),
}


@pytest.mark.parametrize("what", FULL)
def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path, what):
    path = tmp_path / "model.safetensors"
    path.write_text("old")
    with at_most(4096), pytest.raises(InputError) as error:
        FULL[what](path, {"w": torch.zeros(9999)})
    assert str(error.value) == f"cannot write {path}: File too large"
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["model.safetensors"]


def test_a_conversion_to_a_full_disk_leaves_nothing(tmp_path):
    old = build(RECIPES["regression"], tmp_path / "old")
    for size in (4096, 99_999):  # in the tokenizer's file, in the weights
        with at_most(size), pytest.raises(InputError, match="cannot write .*new: File too large$"):
            convert(str(old), tmp_path / "new")
        assert os.listdir(tmp_path) == ["old"]


def test_what_another_process_is_writing_is_no_leftover(tmp_path):
    target = tmp_path / "scores"
    with replacing(str(target)) as beside:
        dead = tmp_path / ".dead.tmp"
        dead.mkdir()
        subprocess.run(
            [sys.executable, "-c", f"from ctx_metrics.writing import *; remove_leftovers(Path({str(tmp_path)!r}))"],
            check=True,
        )
        assert not dead.exists()
        Path(beside).write_text("new")
    assert target.read_text() == "new" and os.listdir(tmp_path) == ["scores"]


@pytest.mark.parametrize(
    "path, options, says",
    [
        ("new/deep/scores", {}, None),
        ("new/deep", {"folder": True}, None),
        ("file", {}, None),
        ("/dev/stdout", {}, None),
        ("folder", {}, "cannot write folder: it is a folder"),
        ("link", {}, f"cannot write link: {LINK}"),
        ("", {}, "cannot write '': the name is empty; give the name of a file"),
        ("link", {"folder": True}, "cannot write into link: link is not a folder, but one is needed there"),
        ("file/a/b", {"flag": "--out"}, "--out file/a/b: file is a file, but a folder is needed there"),
        ("folder", {"flag": "--out"}, "--out folder: cannot write there: it is a folder"),
        ("s3:/bucket", {"folder": True, "flag": "--out"}, "--out s3:/bucket: " + ADDRESS),
        ("memory://x", {}, "cannot write memory://x: " + ADDRESS),
        ("x" * 300, {}, f"cannot write {'x' * 300}: File name too long"),
    ],
)
def test_a_place_is_tried_before_the_work(tmp_path, monkeypatch, path, options, says):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    Path("link").symlink_to("nowhere")
    if says is None:
        check_writable(path, **options)
    else:
        with pytest.raises(InputError) as error:
            check_writable(path, **options)
        assert str(error.value) == says
    assert sorted(os.listdir()) == ["file", "folder", "link"] and Path("file").read_text() == ""


def test_places_that_the_system_refuses(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "scores").touch()
    with at_most(100), pytest.raises(InputError, match="cannot write .*scores: File too large$"):
        check_writable(str(shared / "scores"))
    shared.chmod(0o1777)
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: 12345)
        with pytest.raises(InputError, match="scores: Operation not permitted, it is another user's file$"):
            check_writable(str(shared / "scores"))
    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    with pytest.raises(InputError, match="^cannot write into .*new: Permission denied$"):
        check_writable(str(shared / "new"), folder=True)


def test_a_device_is_written_and_not_replaced():
    write_whole("/dev/null", "x")
    assert is_stream("/dev/null") and not is_stream("/dev/shm") and not is_stream(__file__)
    with pytest.raises(InputError, match="^cannot write /dev/full: No space left on device$"):
        write_whole("/dev/full", "x")
