"""integrations/lighteval_ctx.py in lighteval: samples scored and aggregated as its pipeline does it."""

import pytest
from recipes import DOCUMENTS, OUTPUTS, REFERENCES, SOURCES, near, recipe

from ctx_metrics import BERTR, COMET, NIST, SLIDE

pytestmark = pytest.mark.full

lighteval = pytest.importorskip("lighteval.metrics", exc_type=ImportError)


def scored(metric, document=True):
    """The metric's samples and what becomes of them."""
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    docs = [
        Doc(query=source, choices=[reference], gold_index=0, specific={"source": source, "document": document})
        for source, reference, document in zip(SOURCES, REFERENCES, DOCUMENTS, strict=True)
    ]
    responses = [ModelResponse(text=[output]) for output in OUTPUTS]
    samples = [row[metric.metric_name] for row in lighteval.apply_metric(responses, docs, [metric])]
    return samples, metric.get_corpus_aggregations()[metric.metric_name]


@pytest.mark.parametrize("name, cls, given", [("bertr", BERTR, {}), ("slide", SLIDE, {"doc_ids": DOCUMENTS})])
def test_a_mean_over_samples(name, cls, given):
    samples, aggregate = scored(recipe("lighteval_ctx").ctx_metric(name, "de-en"))
    metric = cls(target_lang="en", **given)
    assert samples == [near(score.score) for score in metric.segment_scores(OUTPUTS, [REFERENCES])]
    assert aggregate(samples) == near(sum(samples) / len(samples))
    if name == "bertr":
        assert aggregate(samples) == near(metric.corpus_score(OUTPUTS, [REFERENCES]).score)


def test_its_standard_error_needs_no_scoring(monkeypatch):
    from lighteval.metrics.utils.stderr import get_stderr_function

    samples, aggregate = scored(recipe("lighteval_ctx").ctx_metric("bertr", "de-en"))
    monkeypatch.setattr(BERTR, "_score", None)
    assert 0 < get_stderr_function(aggregate)(samples) < 5


def test_a_metric_of_the_corpus():
    samples, aggregate = scored(recipe("lighteval_ctx").ctx_metric("nist"))
    assert aggregate(samples) == near(NIST().corpus_score(OUTPUTS, [REFERENCES]).score)
    assert aggregate(samples[:5]) != near(aggregate(samples))


def test_sources_and_settings_reach_the_metric(multilingual):
    metric = recipe("lighteval_ctx").ctx_metric("comet", "de-en", model="multilingual", inputs="mt+src")
    samples, aggregate = scored(metric)
    metric = COMET([], sources=SOURCES, target_lang="en")
    assert aggregate(samples) == near(metric.corpus_score(OUTPUTS, None).score)


def test_other_metrics_are_refused():
    with pytest.raises(ValueError, match="pairwise: not one of bertr"):
        recipe("lighteval_ctx").ctx_metric("pairwise")
