import gzip
import lzma
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics.corpus import Corpus
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
def test_compressed_files(reading, tmp_path, ending, pack):
    """tests/test_unpacking.py has those that are cut or damaged."""
    assert reading(pack("één\ntwee\n".encode()), name=f"text.{ending}") == ["één", "twee"]
    with pytest.raises(InputError, match=f"cannot read .*plain.{ending}: "):
        reading(b"not compressed at all\n", name=f"plain.{ending}")
    with pytest.raises(InputError, match=f"cannot read .*absent.{ending}: No such file"):
        read_lines(str(tmp_path / f"absent.{ending}"))


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


def test_files_that_cannot_be_read(reading, tmp_path):
    with pytest.raises(InputError, match="cannot read .*absent: No such file or directory"):
        read_lines(str(tmp_path / "absent"))
    with pytest.raises(InputError, match="cannot read .*: Is a directory"):
        read_lines(str(tmp_path))


def test_xz_where_python_lacks_lzma(reading, monkeypatch):
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(InputError, match="no lzma module"):
        reading(b"", name="text.xz")


def test_a_corpus_keeps_what_it_is_given():
    corpus = Corpus(("a", ""), [("b", None), ("c", "")], ("d", "e"), ("x", "y"), "de", "en")
    assert len(corpus) == 2
    assert (corpus.hypotheses, corpus.references, corpus.sources) == (["a", ""], [["b", None], ["c", ""]], ["d", "e"])
    assert (corpus.source_lang, corpus.target_lang) == ("de", "en")


@pytest.mark.parametrize(
    "streams, message",
    [
        ({"references": [["r"] * 4]}, "references: 4 segments for 3 hypotheses"),
        ({"references": [["r"] * 3, ["r"] * 2]}, "reference stream 2: 2 segments for 3 hypotheses"),
        ({"references": [[]]}, "references: 0 segments for 3 hypotheses"),
        ({"sources": ["s"] * 5}, "sources: 5 segments for 3 hypotheses"),
        ({"doc_ids": ["d"] * 2}, "document ids: 2 segments for 3 hypotheses"),
    ],
)
def test_lengths_that_differ(streams, message):
    with pytest.raises(InputError) as caught:
        Corpus(["h"] * 3, **streams)
    assert str(caught.value) == message


def test_no_hypotheses():
    with pytest.raises(InputError, match="no hypotheses to score"):
        Corpus([])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((["a", None],), "hypotheses, segment 2: expected a string, got NoneType"),
        ((["a", b"b"],), "hypotheses, segment 2: expected a string, got bytes"),
        ((["a", "b"], [["a", 3]]), "references, segment 2: expected a string, got int"),
        ((["a", "b"], [["a", None]], [None, "b"]), "sources, segment 1: expected a string, got NoneType"),
        (("ab",), "hypotheses: expected a list of strings, got one string"),
        ((["a", "b"], ["ab"]), "references: expected a list of strings, got one string"),
        ((["a", "b"], (), "ab"), "sources: expected a list of strings, got one string"),
        ((["a", "b"], (), None, "ab"), "document ids: expected a list of strings, got one string"),
    ],
)
def test_what_is_no_text_is_refused(arguments, message):
    with pytest.raises(InputError) as caught:
        Corpus(*arguments)
    assert str(caught.value) == message


def test_lone_surrogates_are_refused_and_placed():
    with pytest.raises(InputError, match=r"reference stream 2, segment 2: lone surrogate U\+DCE9 at character 3"):
        Corpus(["a", "b"], [["a", "b"], ["a", "né\udce9"]])
    Corpus(["a \N{GRINNING FACE}"])  # a whole character outside the first plane is none


def test_nul_is_kept_and_said(caplog):
    corpus = Corpus(["a", "b\0c", "\0"], [["a", "b", "c"]])
    assert corpus.hypotheses == ["a", "b\0c", "\0"]
    [said] = caplog.messages
    assert "NUL" in said and "(segment 2, 3)" in said


def test_byte_order_mark_of_a_stream_goes_and_is_said(caplog):
    corpus = Corpus(["\ufeffa", "\ufeffb"], [["a", "b"]])
    assert corpus.hypotheses == ["a", "\ufeffb"]
    assert caplog.messages == ["hypotheses: 1 segment starts with a byte-order mark, which is dropped (segment 1)"]


def test_the_callers_lists_are_left_alone():
    hypotheses = ["\ufeffa"]
    Corpus(hypotheses)
    assert hypotheses == ["\ufeffa"]


def test_documents():
    assert Corpus(list("abcde")).documents() == [(0, 5)]
    assert Corpus(list("abcde"), doc_ids=["x", "y", "y", "y", "z"]).documents() == [(0, 1), (1, 4), (4, 5)]


def test_a_document_that_returns_is_refused():
    with pytest.raises(
        InputError, match=r"document ids, line 4: 'x' returns after its document had ended \(it began 3 "
    ):
        Corpus(list("abcd"), doc_ids=["x", "x", "y", "x"])


@pytest.mark.parametrize("doc_ids", [["a", "", "b"], ["a", None, "b"], ["a", " ", "b"]])
def test_every_line_needs_a_document_id(doc_ids):
    with pytest.raises(InputError, match="document ids, line 2: the document id is missing; every line needs one"):
        Corpus(["x", "y", "z"], doc_ids=doc_ids)


@pytest.mark.parametrize(
    "text, read",
    [("\u200b", ""), (" \u2060\ufeff\u00ad ", ""), ("a\u200b", "a\u200b"), (" ", " "), ("\u0301", "\u0301")],
)
def test_a_hypothesis_of_invisible_characters_is_empty(text, read):
    assert Corpus(["x", text], [["y", text]]).hypotheses == ["x", read]
    assert Corpus(["x", text], [["y", text]]).references == [["y", text]]
