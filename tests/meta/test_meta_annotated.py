"""WMT25's human evaluation as JSON lines, in the versions of its format."""

import json

import numpy as np
import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.judgements.readers import read_judged
from ctx_metrics.notices import collected

RATINGS = {
    "list": lambda *scores: [{"score": score, "annotator": "x", "errors": []} for score in scores],
    "control": lambda *scores: [{"human": score, "times": [1, 2]} for score in scores],
    "rounds": lambda *scores: {f"human{k}": score for k, score in enumerate(scores, 1)} | {"errors1": []},
}


def line(pair, document, number, scores, **texts):
    return {
        "doc_id": f"{pair}_#_news_#_{document}_#_{number}",
        "src_text": f"Source {document}{number}.",
        "tgt_text": texts or {name: f"{name} {document}{number}." for name in ("refA", "Big", "Small")},
        "scores": scores,
    }


@pytest.fixture
def read(tmp_path):
    def read(rows, **more):
        path = tmp_path / "humeval.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return read_judged(str(path), **more)

    return read


@pytest.mark.parametrize("rating", RATINGS.values(), ids=RATINGS)
def test_outputs_have_the_mean_of_their_scores(read, rating):
    rows = [
        line("en-cs_CZ", "a", 1, {"Big": rating(90, 80), "refA": rating(100)}),
        line("en-cs_CZ", "a", 0, {}),
        line("en-cs_CZ", "b", 0, {"Big": rating(70), "Small": rating(10.5)}),
    ]
    [judged] = read(rows)
    assert (judged.name, judged.source_lang, judged.target_lang) == ("humeval.en-cs_CZ", "en", "cs_CZ")
    assert (judged.systems, judged.reference) == (["refA", "Big", "Small"], "refA")
    assert judged.sources == ["Source a0.", "Source a1.", "Source b0."]
    assert judged.doc_ids == ["en-cs_CZ_#_news_#_a"] * 2 + ["en-cs_CZ_#_news_#_b"]
    assert judged.references == [["refA a0.", "refA a1.", "refA b0."]]
    nan = np.nan
    np.testing.assert_equal(judged.segment_scores, [[nan, 100, nan], [nan, 85, 70], [nan, nan, 10.5]])


def test_each_pair_is_a_set_and_documents_without_scores_are_left_out(read):
    rows = [
        line("cs-de_DE", "a", 0, {"Big": [{"score": 1}]}, Big="Ja.", Other="Nein."),
        line("en-cs_CZ", "b", 0, {"Big": [{"score": 2}]}),
        line("en-cs_CZ", "c", 0, {}),
    ]
    with collected() as notices:
        czech, german = sorted(read(rows), key=lambda each: each.name, reverse=True)
    assert (czech.segments, german.segments, list(german.references)) == (1, 1, [])
    assert [str(each) for each in notices] == ["humeval.en-cs_CZ: left out 1 document that nobody judged"]
    assert [each.name for each in read(rows, pairs=["en-cs"])] == ["humeval.en-cs_CZ"]
    assert read(rows, pairs=["en-cs"], reference="Small")[0].references == [["Small b0."]]


@pytest.mark.parametrize(
    "row, message",
    [
        ({"doc_id": "a"}, "line 1: doc_id 'a' is not of the form PAIR_#_DOMAIN_#_DOCUMENT_#_NUMBER"),
        ({"scores": {"Big": [{"score": "good"}]}}, "line 1, Big: 'good' is not a score"),
        ({"scores": {"Big": [3]}}, "line 1, Big: its scores are neither objects nor a list of them"),
        ({"scores": [3]}, "line 1: scores is not an object"),
        ({"tgt_text": {"Big": 3}}, "line 1: tgt_text of Big is not text"),
        ({"src_text": None}, "line 1: src_text is not text"),
    ],
)
def test_bad_lines(read, row, message):
    with pytest.raises(InputError) as error:
        read([line("en-de", "a", 0, {"Big": [{"score": 1}]}) | row])
    assert str(error.value).partition("humeval.jsonl, ")[2].startswith(message)


def test_pairs_and_references_that_are_not_there(read):
    rows = [line("en-de", "a", 0, {"Big": [{"score": 1}]})]
    with pytest.raises(InputError, match="none of the pairs en-cs; there are en-de"):
        read(rows, pairs=["en-cs"])
    with pytest.raises(InputError, match="humeval.en-de: no translation is named refB; name another with --reference"):
        read(rows, reference="refB")
