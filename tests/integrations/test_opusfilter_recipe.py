"""integrations/opusfilter_ctx.py in OpusFilter's own pipeline, and in a run of its configuration."""

import json

import pytest
from recipes import FILES, FOLDER, OUTPUTS, SOURCES, near

from ctx_metrics import COMET

pytestmark = pytest.mark.full

opusfilter = pytest.importorskip("opusfilter", exc_type=ImportError)
PAIRS = list(zip(SOURCES, OUTPUTS, strict=True))
# the first ten translations stand behind the wrong sources
WRONG = [*zip(SOURCES[:10], reversed(OUTPUTS[:10]), strict=True), *PAIRS[10:]]


@pytest.fixture(autouse=True)
def _found(monkeypatch, multilingual):
    monkeypatch.syspath_prepend(str(FOLDER))


def made(**settings):
    from opusfilter.pipeline import FilterPipeline

    config = {"CtxMetricsFilter": {"languages": "de-en", **settings}, "module": "opusfilter_ctx"}
    return FilterPipeline.from_config([config])


def expected(pairs):
    sources, outputs = zip(*pairs, strict=True)
    metric = COMET(model="multilingual", inputs="mt+src", sources=sources, target_lang="en")
    return [score.score for score in metric.segment_scores(outputs, None)]


def test_scores_in_batches_of_any_size():
    for batch in (1000, 7):
        found = [score["CtxMetricsFilter"] for score in made(batch=batch).score(PAIRS)]
        assert found == [near(score) for score in expected(PAIRS)]


def test_the_threshold_parts_the_pairs():
    scores = expected(WRONG)
    threshold = sorted(scores)[12] - 1e-3
    kept = [pair for pair, score in zip(WRONG, scores, strict=True) if score >= threshold]
    assert len(kept) == len(WRONG) - 12
    assert list(made(threshold=threshold, batch=10).filter(WRONG)) == kept
    dropped = [pair for pair in WRONG if pair not in kept]
    assert list(made(threshold=threshold, batch=10).filterfalse(WRONG)) == dropped
    assert list(made(threshold=threshold).filters[0].filterfalse(WRONG)) == dropped
    assert len(set(WRONG[:10]) & set(dropped)) > 5  # it is the wrong sources that it finds


def test_a_batch_is_scored_at_once(monkeypatch):
    calls = []
    scored = COMET.segment_scores
    monkeypatch.setattr(COMET, "segment_scores", lambda *given: calls.append(len(given[1])) or scored(*given))
    assert len(list(made(batch=25).filter(PAIRS))) and calls == [25, 25, 9]


def test_a_configuration(tmp_path):
    def step(kind: str, inputs: list[str], written: dict, **settings) -> dict:
        filters = [{"CtxMetricsFilter": {"languages": "de-en", **settings}, "module": "opusfilter_ctx"}]
        return {"type": kind, "parameters": {"inputs": inputs, **written, "filters": filters}}

    kept = ["kept.de", "kept.en"]
    steps = [
        step("filter", [FILES["source"], FILES["a"]], {"outputs": kept}, threshold=45),
        step("score", kept, {"output": "scores.jsonl"}),
    ]
    from opusfilter.opusfilter import OpusFilter

    OpusFilter({"common": {"output_directory": str(tmp_path)}, "steps": steps}).execute_steps()
    kept = (tmp_path / "kept.en").read_text(encoding="utf-8").splitlines()
    assert kept == [output for output, score in zip(OUTPUTS, expected(PAIRS), strict=True) if score >= 45]
    scores = [json.loads(line)["CtxMetricsFilter"] for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert len(scores) == len(kept) < len(OUTPUTS) and min(scores) >= 45 - 1e-3
