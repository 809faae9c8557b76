"""Which tables there are, how they are read and written again."""

import gzip
import hashlib
import lzma
import re

import fsspec
import pytest

from ctx_metrics.annotate.parts import known_again
from ctx_metrics.annotate.rows import reader_of
from ctx_metrics.annotate.tables import Table, find_tables, opened, packed
from ctx_metrics.errors import InputError

ROWS = [("Es regnet.", "It rains."), ("Wir gehen.", ""), ("„Ja“, sagt er.", 'He says "yes".')]
TSV = "id\tsrc\tmt\n" + "".join(f"{i}\t{src}\t{mt}\n" for i, (src, mt) in enumerate(ROWS))


def write(path, content) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def all_rows(path: str, wanted=("src", "mt"), added=("comet",)):
    [table] = find_tables([path])
    rows = list(reader_of(table, list(wanted), list(added)).rows())
    assert len(rows) == 1
    return rows[0]


def test_files_patterns_and_folders(tmp_path):
    for name in ("b.tsv", "a.tsv", "more/c.tsv", "notes.md", "_summary.json", ".hidden/d.tsv"):
        write(tmp_path / name, TSV)
    found = [table.path[len(str(tmp_path)) + 1 :] for table in find_tables([str(tmp_path)])]
    assert found == ["a.tsv", "b.tsv", "more/c.tsv"]
    assert [table.path[-5:] for table in find_tables([f"{tmp_path}/?.tsv"])] == ["a.tsv", "b.tsv"]
    assert find_tables([f"{tmp_path}/b.tsv"]) == [Table(f"{tmp_path}/b.tsv", "tsv", "")]
    odd = write(tmp_path / "odd[1].tsv", TSV)  # a name, though it looks like a pattern
    assert find_tables([odd])[0].path == odd


def test_a_folder_without_tables(tmp_path):
    write(tmp_path / "notes.md", "")
    with pytest.raises(InputError, match=f"^{re.escape(str(tmp_path))}: no table in this folder; tables end with"):
        find_tables([str(tmp_path)])


def test_a_name_with_two_colons_is_local(tmp_path, monkeypatch):
    """fsspec would take it for a chain of addresses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a::b.tsv").write_text(TSV, encoding="utf-8")
    [table] = find_tables(["a::b.tsv"])
    with opened(table) as file:
        assert file.read().decode() == TSV
    assert known_again([table]) == [["a::b.tsv", hashlib.sha256(TSV.encode()).hexdigest()]]
    with pytest.raises(InputError, match="^cannot read zip::c.tsv: no such file or folder$"):
        find_tables(["zip::c.tsv"])


def test_an_address_of_fsspec():
    fsspec.filesystem("memory").pipe("/tables/a.tsv", TSV.encode())
    [table] = find_tables(["memory://tables"])
    rows = next(iter(reader_of(table, ["mt"], []).rows()))
    assert rows.texts("mt") == [mt for _, mt in ROWS]


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
def test_tsv_is_kept_as_it_is(tmp_path, ending):
    if ending == ".zst":
        pytest.importorskip("zstandard")
    path = write(tmp_path / f"a.tsv{ending}", packed(TSV.encode(), ending[1:]))
    rows = all_rows(path)
    assert (len(rows), rows.texts("src"), rows.texts("mt")) == (3, [src for src, _ in ROWS], [mt for _, mt in ROWS])
    content = rows.content({"comet": [71.25, None, -3.00001]}, [True, True, True])
    back = write(tmp_path / f"b.tsv{ending}", content)
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress}.get(ending)
    if unpack:
        cells = ["comet", "71.2500", "", "-3.0000"]
        lines = [f"{line}\t{cell}" for line, cell in zip(TSV.splitlines(), cells, strict=True)]
        assert unpack(content).decode().splitlines() == lines
    assert all_rows(back, ["comet"], []).texts("comet") == ["71.2500", "", "-3.0000"]
    assert content == rows.content({"comet": [71.25, None, -3.00001]}, [True, True, True])  # no time stamps


def test_tsv_has_no_quotes_and_no_other_line_ends(tmp_path):
    path = write(tmp_path / "a.tsv", '\ufeffsrc\tmt\r\n"one\ttwo"\x0b\u2028x \r\n')
    rows = all_rows(path)
    assert (rows.texts("src"), rows.texts("mt")) == (['"one'], ['two"\x0b\u2028x'])
    assert rows.content({"comet": [1.0]}, [True]).decode() == 'src\tmt\tcomet\n"one\ttwo"\x0b\u2028x \t1.0000\n'


def test_columns_by_number(tmp_path):
    rows = all_rows(write(tmp_path / "a.tsv", "a\tb\nc\td\n"), ["2", "1"])
    assert (rows.texts("1"), rows.texts("2")) == (["a", "c"], ["b", "d"])
    assert rows.part(1, 2).content({"comet": [1.0]}, [True]) == b"c\td\t1.0000\n"


@pytest.mark.parametrize(
    "number, said",
    [
        ("3", "has 2 columns, and no column 3"),
        ("0", "has 2 columns, and no column 0"),
        ("9" * 5000, f"has 2 columns, and no column {'9' * 40}"),
        ("\u00b2", "has no column \u00b2; it has a, b (choose with --columns)"),
        ("\u0662", "has no column \u0662; it has a, b (choose with --columns)"),
    ],
)
def test_columns_that_are_no_number_of_one(tmp_path, number, said):
    path = write(tmp_path / "a.tsv", "a\tb\nc\td\n")
    with pytest.raises(InputError, match=re.escape(f"{path} {said}") + "$"):
        all_rows(path, [number])
    assert all_rows(path, ["0" * 5000 + "2"]).texts("0" * 5000 + "2") == ["b", "d"]


def test_parquet_that_is_not_utf8(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    texts = pyarrow.array([b"one", b"caf\xe9"] * 3000)
    table = pyarrow.table({"src": texts.cast(pyarrow.binary()), "mt": pyarrow.array(["a"] * 6000)})
    broken = pyarrow.Array.from_buffers(pyarrow.string(), 6000, texts.buffers())
    parquet.write_table(table.set_column(0, "src", broken), tmp_path / "a.parquet")
    reader = reader_of(find_tables([str(tmp_path / "a.parquet")])[0], ["src", "mt"], ["comet"])
    for chunk, rows in zip(reader.rows(), (2, 4098), strict=True):
        with pytest.raises(InputError, match=f"a.parquet, row {rows}: byte 4 of column src is not utf-8"):
            chunk.texts("src")
        assert chunk.texts("mt")[:2] == ["a", "a"]  # which alone may be scored


def test_parquet_with_names_that_are_not_utf8(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"src": ["a"], "mt": ["b"], "caf_": ["c"]})
    parquet.write_table(table, tmp_path / "a.parquet", store_schema=False)
    path = write(tmp_path / "a.parquet", (tmp_path / "a.parquet").read_bytes().replace(b"caf_", b"caf\xe9"))
    reader = reader_of(find_tables([path])[0], ["src", "mt"], ["comet"])
    for read in (reader.names, lambda: list(reader.rows())):
        with pytest.raises(InputError, match=f"^cannot read {re.escape(path)}: the name of a column is not utf-8"):
            read()


def test_parquet_of_bytes(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"src": ["a"], "mt": pyarrow.array([b"b"])}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="a.parquet, row 1: column mt holds b'b', not text"):
        all_rows(str(tmp_path / "a.parquet")).texts("mt")


def test_csv_keeps_quotes_and_line_ends(tmp_path):
    text = 'src,mt,"my, own"\n"a ""b"" c","two\nlines",1\nplain,text,"x"\n'
    rows = all_rows(write(tmp_path / "a.csv", text))
    assert (rows.texts("src"), rows.texts("mt")) == (['a "b" c', "plain"], ["two\nlines", "text"])
    expected = 'src,mt,"my, own",comet\n"a ""b"" c","two\nlines",1,1.0000\nplain,text,"x",\n'
    assert rows.content({"comet": [1.0, None]}, [True, True]).decode() == expected


def test_json_lines_keep_what_they_hold(tmp_path):
    text = '{"mt": "A", "n": 1e3, "src": null, "more": {"a": [1]}}\n{"mt":"\\u00e4","src":"B"}  \n'
    rows = all_rows(write(tmp_path / "a.jsonl", text))
    assert (rows.texts("src"), rows.texts("mt")) == ([None, "B"], ["A", "ä"])
    assert rows.content({"comet": [70.12345678, None]}, [True, True]).decode() == (
        '{"mt": "A", "n": 1e3, "src": null, "more": {"a": [1]}, "comet": 70.12345678}\n'
        '{"mt":"\\u00e4","src":"B", "comet": null}\n'
    )


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    number = 10_000
    table = pyarrow.table(
        {"src": [f"s{i}" for i in range(number)], "mt": ["t", None] * (number // 2), "n": range(number)}
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3000)
    reader = reader_of(find_tables([str(tmp_path / "a.parquet")])[0], ["src", "mt"], ["comet"])
    assert reader.names() == ["src", "mt", "n"]
    chunks = list(reader.rows())
    assert [text for chunk in chunks for text in chunk.texts("src")] == [f"s{i}" for i in range(number)]
    last = chunks[-1].part(len(chunks[-1]) - 1, len(chunks[-1]))
    rows = last.with_more(last)
    back = write(tmp_path / "b.parquet", rows.content({"comet": [1.5, None]}, [True, False]))
    assert parquet.read_table(back).to_pylist() == [{"src": "s9999", "mt": None, "n": 9999, "comet": 1.5}]


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.tsv", "src\tmt\tmt\n", "has two columns mt; it has src, mt, mt"),
        ("a.jsonl", "[" * 100_000, "line 1: not JSON (it is nested too deeply); write one object per line"),
        ("a.jsonl", '{"mt": ' + "[" * 500 + "]" * 500 + ', "src": "a"}', "row 1: column mt holds a list, not text"),
        ("a.jsonl", '{"mt": 1' + "0" * 5000 + "}", "line 1: not JSON (Exceeds the limit"),
        ("a.tsv.gz", b"plain", "it is damaged, or not in gzip format (Error -3 while decompressing data"),
        ("a.tsv.xz", b"plain", "it is damaged, or not in xz format (Input format not supported by decoder)"),
    ],
)
def test_broken_tables(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(InputError) as caught:
        list(reader_of(find_tables([path])[0], ["src", "mt"], ["comet"]).rows())
    assert message in str(caught.value) and path in str(caught.value) and "\n" not in str(caught.value)
