"""A metric as Python users meet it: its signature, its faults, its repr, and texts in arrays and tables."""

import inspect
import json

import numpy as np
import pandas
import pytest

import ctx_metrics
from ctx_metrics import BERTR, COMET, METEOR, NIST, PRBLEU, RTTBLEU, SLIDE, DocCOMET, Pairwise, PseudoFilter
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError
from ctx_metrics.scoring.base import ContextMetric, ContextScore
from ctx_metrics.scoring.context import capabilities

TEXTS = ["The cat sat on the mat.", "It rained.", "We left."]
IDS = ["a", "a", "b"]


def metrics() -> list[type[ContextMetric]]:
    named = [getattr(ctx_metrics, name) for name in ctx_metrics.__all__]
    return [each for each in named if isinstance(each, type) and issubclass(each, ContextMetric)]


def test_signatures_name_every_keyword():
    assert len(metrics()) == 22
    for cls in metrics():
        names = inspect.signature(cls).parameters
        assert "given" not in names and names.keys() >= capabilities(cls).reads
        assert list(names)[:2] == ["references", "systems"]
    of_slide = inspect.signature(SLIDE).parameters
    assert {"sources", "doc_ids", "target_lang", "window", "model", "engine"} <= of_slide.keys()
    assert of_slide["sources"].default is None and of_slide["engine"].default == EngineOptions()


@pytest.mark.parametrize(
    "cls, keyword, fix",
    [
        (COMET, "modle", "did you mean 'model'?"),
        (COMET, "source", "did you mean 'sources'?"),
        (SLIDE, "docids", "did you mean 'doc_ids'?"),
        (METEOR, "sources", "it takes references, stem, systems, target_lang, tokenize"),
    ],
)
def test_an_unknown_keyword_is_refused_with_the_one_that_was_meant(cls, keyword, fix):
    with pytest.raises(TypeError) as raised:
        cls(**{keyword: "x"})
    assert str(raised.value) == f"{cls.__name__}() got an unexpected keyword argument {keyword!r}; {fix}"


def test_repr_is_a_call_with_counted_texts():
    assert repr(METEOR()) == "METEOR()"
    metric = SLIDE([TEXTS], [TEXTS, TEXTS], doc_ids=IDS, target_lang="en", window=2)
    assert (
        repr(metric) == "SLIDE(references=[1 list], doc_ids=[3 texts], systems=[2 lists], window=2, target_lang='en')"
    )
    assert repr(NIST(lowercase=True, target_lang="de")) == "NIST(lowercase=True, target_lang='de')"


def test_dir_shows_public_names_alone():
    assert dir(ctx_metrics) == sorted(["__version__", *ctx_metrics.__all__])
    assert all(hasattr(ctx_metrics, name) for name in dir(ctx_metrics))


def column(texts) -> "pandas.Series":
    """A column of a table, with labels as after a choice of rows: the order counts."""
    return pandas.Series(list(texts), index=range(20, 20 - len(texts), -1))


AS = pytest.mark.parametrize("of", [np.array, column])


@AS
def test_arrays_and_columns_are_lists_of_texts(multilingual, of):
    given = {"doc_ids": IDS, "sources": TEXTS, "target_lang": "en"}
    wanted = SLIDE([TEXTS], [TEXTS[::-1]], **given).corpus_score(TEXTS[::-1], None).score
    in_arrays = {"doc_ids": of(IDS), "sources": of(TEXTS), "target_lang": "en"}
    assert SLIDE([of(TEXTS)], [of(TEXTS[::-1])], **in_arrays).corpus_score(of(TEXTS[::-1]), None).score == wanted
    assert SLIDE(**in_arrays).corpus_score(of(TEXTS[::-1]), [of(TEXTS)]).score == wanted
    assert [each.score for each in BERTR(target_lang="en").segment_scores(of(TEXTS), [of(TEXTS)])] == pytest.approx(
        [100] * 3
    )
    free = COMET([], sources=TEXTS, target_lang="de").corpus_score(TEXTS, None).score
    for none in (None, [of(TEXTS)]):
        assert COMET(sources=of(TEXTS), target_lang="de").corpus_score(of(TEXTS), none).score == free
    assert BERTR(target_lang="en").sentence_score(TEXTS[0], of(TEXTS[:2])).score == pytest.approx(100)


@AS
def test_arrays_and_columns_beside_the_texts(of):
    round_trip = RTTBLEU(systems=[of(TEXTS)], sources=of(TEXTS), roundtrips=[of(TEXTS)])
    assert round_trip.corpus_score(of(TEXTS), None).score == pytest.approx(100)
    pooled = PRBLEU(pseudo_references=[of(TEXTS)], pseudo_filter=PseudoFilter("none", guard=None))
    pooled = pooled.corpus_score(of(TEXTS), [of(TEXTS[::-1])])
    assert pooled.score == pytest.approx(100)
    informed = NIST(info_references=[of(TEXTS)]).corpus_score(of(TEXTS), [of(TEXTS)])
    assert informed.score == NIST(info_references=[TEXTS]).corpus_score(TEXTS, [TEXTS]).score


@AS
def test_resampled_documents_from_arrays_and_columns(of):
    texts, ids = TEXTS * 4, [str(k // 3) for k in range(12)]
    one, other = (
        ctx_metrics.resample_documents(METEOR(), each(ids)).corpus_score(
            each(texts), [each(texts[::-1])], n_bootstrap=20
        )
        for each in (of, list)
    )
    assert (one.score, one._mean, one._ci) == (other.score, other._mean, other._ci)


def test_two_dimensions_are_streams():
    assert BERTR(target_lang="en").corpus_score(np.array(TEXTS), np.array([TEXTS, TEXTS])).score == pytest.approx(100)


def test_a_gap_in_a_column_is_named():
    column = np.array([TEXTS[0], None, np.nan], object)
    with pytest.raises(InputError, match="^hypotheses, segment 2: expected a string, got NoneType$"):
        BERTR(target_lang="en").corpus_score(column, [TEXTS])


def test_json_without_a_signature():
    score = ContextScore("X", 12.345)
    score._verbose = "(empty = 1)"
    found = json.loads(score.format(is_json=True))
    assert found == {"name": "X", "score": 12.35, "signature": "", "verbose_score": "(empty = 1)"}
    assert json.loads(ContextScore("X", float("nan")).format(is_json=True))["score"] is None


# what a user can do wrong with texts, models and languages, and each metric's words for it

WRONG = {
    "comet without sources": lambda: COMET(target_lang="de").corpus_score(TEXTS, None),
    "doccomet without model": lambda: DocCOMET(),
    "round trips without round trips": lambda: RTTBLEU(sources=TEXTS),
    "a language that no model reads": lambda: BERTR(target_lang="sah"),
    "two kinds of windows": lambda: SLIDE(window=2, tokens=9),
    "one system": lambda: Pairwise([TEXTS], [TEXTS]).corpus_score(TEXTS, None),
    "two kinds of opponents": lambda: Pairwise(against=np.array([TEXTS]), baseline=True),
    "files as opponents": lambda: Pairwise(against=["a.txt"]),
    "a pair": lambda: COMET(target_lang="de-en"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_errors_in_python_name_no_flags(multilingual, wrong):
    with pytest.raises(InputError) as raised:
        WRONG[wrong]()
    words = str(raised.value).split()
    assert not [word for word in words if word.lstrip("('").startswith("-") and word != "-"], words


def test_notices_in_python_name_no_flags(multilingual, caplog):
    german = ["Das ist nicht das, was wir gesagt haben, und es war auch nicht das, was ihr wolltet."] * 3
    SLIDE().corpus_score(german, [german])
    COMET().corpus_score(german, [german])
    COMET(sources=TEXTS, target_lang="de").corpus_score(german, None)
    BERTR(model="embedded", target_lang="de").corpus_score(german, [german])
    PRBLEU(target_lang="de").corpus_score(german, [german])
    assert len(caplog.messages) > 4
    assert not [line for line in caplog.messages if " -" in line or "(-" in line]
