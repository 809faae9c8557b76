"""DocCOMET's joined texts by hand; that the model pools them as unbabel-comet does is in test_comet_oracle.py."""

import pytest

from ctx_metrics import COMET, Corpus, DocCOMET, InputError, ModelError
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.metrics.doccomet import context_examples
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator

CORPUS = Corpus(["h1", "h2", "h3", "h4"], [["r1", "r2", None, "r4"]], ["s1", "s2", "s3", "s4"])


@pytest.mark.parametrize(
    "segment, start, context, example",
    [
        (0, 0, 2, ("h1", "r1", "s1")),
        (1, 0, 2, ("r1 | h2", "r1 | r2", "s1 | s2")),
        (1, 1, 2, ("h2", "r2", "s2")),  # the document begins there
        (3, 0, 1, ("h4", "r4", "s3 | s4")),  # the reference before it is missing
        (3, 0, 3, ("r1 | r2 | h4", "r1 | r2 | r4", "s1 | s2 | s3 | s4")),
        (1, 0, 0, ("h2", "r2", "s2")),
        (2, 0, 2, None),  # which has no reference
    ],
)
def test_context_of_models_that_read_references(segment, start, context, example):
    given = {"document_start": start, "context": context, "separator": " | ", "inputs": "mt+src+ref"}
    assert context_examples(CORPUS, segment, **given) == ([Example(*example)] if example else [])


def test_context_without_references_is_the_hypothesis_own():
    (example,) = context_examples(CORPUS, 3, document_start=1, context=2, separator=" </s> ", inputs="mt+src")
    assert example == Example("h2 </s> h3 </s> h4", None, "s2 </s> s3 </s> s4")


@pytest.fixture
def regression(comet_checkpoint):
    return comet_checkpoint("regression")


HYPOTHESES, REFERENCES = ["a cat sat", "a dog ran", "it rains"], ["the cat sat", "the dog ran home", "rain"]
SOURCES, DOC_IDS = ["eine Katze", "ein Hund", "es regnet"], ["x", "x", "y"]


def test_scores_are_those_of_the_joined_texts(regression):
    metric = DocCOMET(sources=SOURCES, doc_ids=DOC_IDS, model=str(regression))
    estimator = load_estimator(str(regression), EngineOptions(), context=True)
    examples = [
        Example("a cat sat", "the cat sat", "eine Katze"),
        Example("the cat sat </s> a dog ran", "the cat sat </s> the dog ran home", "eine Katze </s> ein Hund"),
        Example("it rains", "rain", "es regnet"),
    ]
    expected = [estimate.value for estimate in estimator.estimate(examples, "")]
    rows = metric._extract_corpus_statistics(HYPOTHESES, [REFERENCES])
    assert [value for value, _ in rows] == pytest.approx(expected, abs=1e-9)
    assert "|docs:ids|context:2|" in metric.get_signature().format()


def test_without_context_it_is_comet(regression):
    doc = DocCOMET(sources=SOURCES, doc_ids=DOC_IDS, model=str(regression), context=0)
    comet = COMET(sources=SOURCES, model=str(regression))
    scores = [metric.corpus_score(HYPOTHESES, [REFERENCES]).score for metric in (doc, comet)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_models_that_cannot_do_it(comet_checkpoint):
    with pytest.raises(InputError, match="doccomet: the embedded model cannot read document context; name a COMET"):
        DocCOMET()
    with pytest.raises(InputError, match="context -1"):
        DocCOMET(model="x", context=-1)
    for name, why in (
        ("regression-cls", "pools by cls"),
        ("kiwi", "reads all texts in one sequence"),
        ("ranking", "is a ranking model"),
    ):
        with pytest.raises(ModelError, match=why):
            DocCOMET(model=str(comet_checkpoint(name)))
