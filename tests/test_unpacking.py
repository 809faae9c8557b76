"""Compressed files: read whole, member by member, or refused; and the longest line."""

import gzip
import io
import lzma
import os
import re
import struct
import subprocess
import sys

import pytest
from selection import some

from ctx_metrics import reading
from ctx_metrics.annotate.rows import reader_of
from ctx_metrics.annotate.tables import Table, _packing_of, find_tables
from ctx_metrics.errors import InputError
from ctx_metrics.models.word_vectors import read_vectors
from ctx_metrics.reading import lines_of, read_lines, unpacked

zstandard = pytest.importorskip("zstandard")
TEXT = "".join(f"{k}\t{k * 7919 % 1000}\n" for k in range(200)).encode()
PACK = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstandard.ZstdCompressor(write_checksum=True).compress}
SKIPPED = struct.pack("<II", 0x184D2A53, 5) + b"notes"  # a frame of zstd that holds no content


def unpack(content: bytes, kind: str) -> bytes:
    packing = _packing_of(Table(f"a.tsv.{kind}", "tsv", kind))
    return unpacked(io.BytesIO(content), packing, "a file").read()


@pytest.mark.parametrize("kind", PACK)
def test_every_cut_is_found(kind):
    """Of one member and of several; only between two of them a file is whole."""
    first, second = PACK[kind](TEXT), PACK[kind](TEXT[:300])
    whole = {len(first): TEXT, len(first + second): TEXT + TEXT[:300]}
    for size in range(len(first + second) + 1):
        if size in whole:
            assert unpack((first + second)[:size], kind) == whole[size]
            continue
        with pytest.raises(InputError, match="^cannot read a file: it is cut short; copy or fetch it again$"):
            unpack((first + second)[:size], kind)


@pytest.mark.parametrize("kind", PACK)
def test_many_members_and_what_fills_up(kind):
    members = [PACK[kind](TEXT[start : start + 9]) for start in range(0, len(TEXT), 9)]
    assert unpack(b"".join(members), kind) == TEXT
    assert unpack(bytes(8).join([*members, b""]), kind) == TEXT
    with pytest.raises(InputError, match="^cannot read a file: it is damaged, or not in .* format "):
        unpack(b"".join([*members, b"and more"]), kind)
    assert unpack(PACK[kind](b""), kind) == b""


def test_frames_that_are_skipped():
    content = SKIPPED + PACK["zst"](TEXT[:50]) + SKIPPED + SKIPPED + PACK["zst"](TEXT[50:]) + SKIPPED
    assert unpack(content, "zst") == TEXT
    for cut in (1, 9, 12, len(content) - 1):
        with pytest.raises(InputError, match="cut short"):
            unpack(content[:cut], "zst")


@pytest.mark.parametrize("ending", PACK)
def test_every_reader_names_a_file_that_is_cut(tmp_path, ending):
    path, content = tmp_path / f"a.tsv.{ending}", PACK[ending]
    path.write_bytes(content(b"src\tmt\n" + TEXT) + content(TEXT)[:-20])
    readers = {
        "a table": lambda: list(reader_of(find_tables([str(path)])[0], ["src", "mt"], []).rows()),
        "lines": lambda: read_lines(str(path)),
        "word vectors": lambda: read_vectors(str(path), {"x"}),
    }
    for name in readers if ending != "zst" else ["a table"]:
        with pytest.raises(InputError, match=f"^cannot read {re.escape(str(path))}: it is cut short; copy or fetch"):
            readers[name]()


def test_a_line_that_is_too_long(tmp_path, monkeypatch):
    assert reading.LONGEST == 16 * 2**20
    monkeypatch.setattr(reading, "LONGEST", 2**20)
    longest = b"x" * (reading.LONGEST - 1) + b"\n"
    assert list(lines_of(io.BytesIO(b"a\n" + longest + b"b"), "f")) == [b"a\n", longest, b"b"]
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a 1\nx" + longest, 1))
    said = f"^{re.escape(str(path))}, line 2: it is longer than 1 MiB; a line feed must end each line$"
    with pytest.raises(InputError, match=said):
        read_lines(str(path))
    with pytest.raises(InputError, match=said):
        read_vectors(str(path), {"x"})
    path = tmp_path / "a.csv"
    path.write_bytes(b"src,mt\na,b\n" + b'"x\n",' * (reading.LONGEST // 5 + 1))  # a row of many lines
    with pytest.raises(
        InputError, match="a.csv, line .*: its row is longer than 1 MiB; close each quote, and end each"
    ):
        list(reader_of(find_tables([str(path)])[0], ["src", "mt"], []).rows())


@pytest.mark.parametrize("kind", some(PACK, ["gz"]))
def test_a_small_file_takes_little_memory(tmp_path, kind):
    """One line of 2 GB: a process with 1 GB of memory says that it is too long."""
    path = tmp_path / f"a.tsv.{kind}"
    gigabyte = {
        "gz": lambda: gzip.compress(bytes(2**25), 9) * 64,
        "xz": lambda: lzma.compress(bytes(2**25)) * 64,
        "zst": lambda: PACK["zst"](bytes(2**31)),
    }[kind]()
    path.write_bytes(PACK[kind](b"src\tmt\na\tb\n") + gigabyte)
    assert os.path.getsize(path) < 3 * 10**6
    code = (
        "import resource, sys\n"
        "from ctx_metrics.annotate.rows import reader_of\n"
        "from ctx_metrics.annotate.tables import find_tables\n"
        "[table] = find_tables(sys.argv[1:])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "list(reader_of(table, ['src', 'mt'], []).rows())\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1].endswith(
        f"{path}, line 3: it is longer than 16 MiB; a line feed must end each line"
    )
