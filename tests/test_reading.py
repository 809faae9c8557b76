"""Text files: how they are decoded, unpacked and split into lines."""

import gzip
import lzma
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.errors import InputError
from ctx_metrics.reading import read_lines


@pytest.fixture
def reading(tmp_path):
    """A function that writes bytes to a file and reads its lines."""

    def read(content: bytes, encoding: str = "utf-8", name: str = "text"):
        (tmp_path / name).write_bytes(content)
        return read_lines(str(tmp_path / name), encoding)

    return read


@pytest.mark.parametrize(
    "content, lines",
    [
        (b"", []),
        (b"\n", [""]),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\n\none\n\n", ["", "", "one", ""]),
        (b"one\n  \t\ntwo\n", ["one", "", "two"]),
        (b"  one  \t\n", ["  one"]),
        (b"one\rmore\ntwo\n", ["one\rmore", "two"]),
        (b"nul\0here\n", ["nul\0here"]),
        ("a\u2028b\u2029c\u0085d\fe\vf\x1cg\nnext\n".encode(), ["a\u2028b\u2029c\u0085d\fe\vf\x1cg", "next"]),
    ],
)
def test_lines_end_at_newlines_only(reading, content, lines):
    assert reading(content) == lines


def test_says_where_carriage_returns_are_taken_for_text(reading, caplog):
    assert reading(b"one\rtwo\rthree\r", name="cr.txt") == ["one\rtwo\rthree"]
    [said] = caplog.messages
    assert "cr.txt: one line with 2 carriage returns" in said


any_line = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])).map(lambda text: f"x{text}x")


@given(st.lists(any_line))
def test_any_text_comes_back(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("any") / "text"
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    assert read_lines(str(path)) == lines


def test_byte_order_mark_goes_and_is_said(reading, caplog):
    assert reading("\ufeffone\n\ufefftwo\n".encode()) == ["one", "\ufefftwo"]
    assert [text.partition(": ")[2] for text in caplog.messages] == ["dropped the byte-order mark at its start"]
    caplog.clear()
    assert reading(b"one\n") == ["one"]
    assert not caplog.records


@pytest.mark.parametrize("ending, pack", [("gz", gzip.compress), ("xz", lzma.compress)])
def test_compressed_files(reading, ending, pack):
    """tests/test_unpacking.py has those that are cut or damaged."""
    assert reading(pack("één\ntwee\n".encode()), name=f"text.{ending}") == ["één", "twee"]


def test_other_encodings(reading):
    assert reading("né\n".encode("latin-1"), "latin-1") == ["né"]
    assert reading("né\nзуб\n".encode("utf-16"), "utf-16") == ["né", "зуб"]


def test_bad_bytes_are_named_by_file_line_and_byte(reading, tmp_path):
    with pytest.raises(InputError) as caught:
        reading("ok\nné\nab".encode() + b"\xe9cd\nok\n")
    assert str(caught.value).startswith(f"{tmp_path / 'text'}, line 3: byte 3 (0xe9) is not utf-8; ")
    with pytest.raises(InputError, match=r"line 1: byte 1 \(0xff\)"):
        reading(b"\xff")


def test_unknown_encoding(reading):
    with pytest.raises(InputError, match="unknown encoding 'utf-88'"):
        reading(b"one\n", "utf-88")
    for encoding in ("punycode", "undefined"):  # Python does not say where these fail
        with pytest.raises(InputError, match=f"text is not {encoding}; "):
            reading(b"One two.\n", encoding)


def test_files_that_cannot_be_read(tmp_path):
    for name in ("absent", "absent.xz"):
        with pytest.raises(InputError, match=f"cannot read .*{name}: No such file or directory"):
            read_lines(str(tmp_path / name))
    with pytest.raises(InputError, match="cannot read .*: Is a directory"):
        read_lines(str(tmp_path))


def test_xz_where_python_lacks_lzma(reading, monkeypatch):
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(InputError, match="no lzma module"):
        reading(b"", name="text.xz")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no /dev/zero here")
def test_a_device_is_not_read_without_end():
    with pytest.raises(InputError, match=r"^/dev/zero, line 1: it is longer than 16 MiB"):
        read_lines("/dev/zero")
