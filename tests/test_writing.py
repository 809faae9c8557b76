"""Files that appear whole or not at all."""

import os

import pytest

from ctx_metrics import InputError
from ctx_metrics.writing import replacing, write_whole


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    target, link, folder = tmp_path / "scores", tmp_path / "link", tmp_path / "folder"
    target.write_text("old")
    link.symlink_to(target)
    folder.mkdir()
    write_whole(str(link), "new\n")
    assert target.read_bytes() == b"new\n" and link.is_symlink()
    with pytest.raises(InputError, match="cannot write .*folder: Is a directory; the scores above are complete"):
        write_whole(str(folder), "new\n", "; the scores above are complete")
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
    with pytest.raises(
        InputError, match=r"lines: line 2: '€' \(U\+20AC\) is not in latin1; .* leave out -e latin1; so$"
    ):
        write_whole(str(target), "a\n€\n", "; so", "latin1")
    assert target.read_bytes() == b"gr\xf6\xdfer\r\n"
