"""integrations/ctx_metric, loaded by Hugging Face evaluate from its folder."""

import pytest
from recipes import DOCUMENTS, FOLDER, OUTPUTS, REFERENCES, SOURCES, TEXTS, near, scored
from sacrebleu.metrics import CHRF

from ctx_metrics import BERTR, COMET, SLIDE

pytestmark = pytest.mark.full

evaluate = pytest.importorskip("evaluate", exc_type=ImportError)


@pytest.fixture
def load(tmp_path):
    return lambda name: evaluate.load(str(FOLDER / "ctx_metric"), name, cache_dir=str(tmp_path))


def test_references(load):
    found = load("bertr").compute(predictions=OUTPUTS, references=REFERENCES, target_lang="en")
    metric = BERTR(target_lang="en")
    assert found["score"] == near(metric.corpus_score(OUTPUTS, [REFERENCES]).score)
    assert found["scores"] == [near(each.score) for each in metric.segment_scores(OUTPUTS, [REFERENCES])]
    assert "|inputs:mt+ref|" in found["signature"]


def test_several_references_in_batches(load):
    module, pairs = load("chrf"), [list(pair) for pair in zip(REFERENCES, TEXTS["b"], strict=True)]
    for start in range(0, len(OUTPUTS), 20):
        module.add_batch(predictions=OUTPUTS[start : start + 20], references=pairs[start : start + 20])
    found = module.compute()
    assert found["score"] == near(CHRF().corpus_score(OUTPUTS, [REFERENCES, TEXTS["b"]]).score)


def test_sources_with_references_and_without(load, multilingual):
    given = {"target_lang": "en", "model": "multilingual"}
    found = load("comet-src").compute(predictions=OUTPUTS, references=REFERENCES, sources=SOURCES, **given)
    both = scored(COMET, sources=SOURCES, **given)
    assert found["score"] == both
    found = load("comet-noref").compute(predictions=OUTPUTS, sources=SOURCES, **given)
    assert found["score"] == scored(COMET, None, sources=SOURCES, **given) != both


def test_documents_and_settings(load):
    given = {"doc_ids": DOCUMENTS, "target_lang": "en", "window": 3, "stride": 3}
    found = load("slide").compute(predictions=OUTPUTS, references=REFERENCES, **given)
    assert found["score"] == scored(SLIDE, **given)


def test_a_metric_must_be_named(load):
    with pytest.raises(ValueError, match="name a metric, as evaluate.load's second argument"):
        load(None).compute(predictions=OUTPUTS, references=REFERENCES)
