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
        ({"sources": "abc"}, "sources: expected a list of strings, got one string"),
        ({"doc_ids": "abc"}, "document ids: expected a list of strings, got one string"),
        ({"references": ["abc"]}, "references: expected a list of strings, got one string"),
    ],
)
def test_streams_that_do_not_fit(streams, message):
    with pytest.raises(InputError) as caught:
        Corpus(["h"] * 3, **streams)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "arguments, about, segment",
    [
        ((["a", b"b"],), "hypotheses", 1),
        ((["a", None],), "hypotheses", 1),
        ((["a", "b"], [["a", 3]]), "references", 1),
        ((["a", "b"], [["a", None]], [None, "b"]), "sources", 0),
        ((["a", "b"], [["a", "b"], ["a", "né\udce9"]]), "reference stream 2", 1),
        ((list("abcd"), (), None, ["x", "x", "y", "x"]), "document ids", 3),
        ((list("xyz"), (), None, ["a", "", "b"]), "document ids", 1),
        ((list("xyz"), (), None, ["a", None, "b"]), "document ids", 1),
        ((list("xyz"), (), None, ["a", " ", "b"]), "document ids", 1),
        (([],), "", None),
    ],
)
def test_what_is_no_text_or_document_is_refused(arguments, about, segment):
    """tests/bad_input.md has the sentences."""
    with pytest.raises(InputError) as caught:
        Corpus(*arguments)
    assert (caught.value.about, caught.value.segment) == (about, segment)


def test_a_character_outside_the_first_plane_is_no_surrogate():
    assert Corpus(["a \N{GRINNING FACE}"]).hypotheses == ["a \N{GRINNING FACE}"]


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


@pytest.mark.parametrize(
    "text, read",
    [("\u200b", ""), (" \u2060\ufeff\u00ad ", ""), ("a\u200b", "a\u200b"), (" ", " "), ("\u0301", "\u0301")],
)
def test_a_hypothesis_of_invisible_characters_is_empty(text, read):
    assert Corpus(["x", text], [["y", text]]).hypotheses == ["x", read]
    assert Corpus(["x", text], [["y", text]]).references == [["y", text]]
