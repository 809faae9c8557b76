import pytest

from ctx_metrics.corpus import Corpus
from ctx_metrics.errors import InputError


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
    assert "NUL" in said and "(segments 2, 3)" in said


def test_byte_order_mark_of_a_stream_goes_and_is_said(caplog):
    hypotheses = ["\ufeffa", "\ufeffb"]
    assert Corpus(hypotheses, [["a", "b"]]).hypotheses == ["a", "\ufeffb"]
    assert hypotheses == ["\ufeffa", "\ufeffb"]  # the caller's list is left alone
    assert caplog.messages == ["hypotheses: 1 segment starts with a byte-order mark, which is dropped (segment 1)"]


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
