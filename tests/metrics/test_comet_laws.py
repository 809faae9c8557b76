"""The laws of test_laws.py for metrics over COMET checkpoints of every class: they need a checkpoint and sources."""

import json
import math
import random

import laws
import pytest
from laws import DOC_IDS, REFERENCES, SOURCES, SYSTEMS
from sacrebleu.metrics import METRICS
from selection import some

from ctx_metrics import COMET, InputError
from ctx_metrics.engine_options import EngineOptions

CASES = [
    *(("comet", name) for name in "regression ranking unite-ref unite xcomet xcomet-lite multilingual".split()),
    *(("slide", name) for name in "ranking kiwi multilingual-free".split()),
    ("doccomet", "referenceless"),
]
DEFAULT = [("comet", "unite"), ("slide", "kiwi"), ("doccomet", "referenceless")]
EMBEDDED = {"multilingual": {"inputs": "mt+src+ref"}, "multilingual-free": {"inputs": "mt+src"}}


@pytest.fixture(params=some(CASES, DEFAULT), ids="-".join)
def make(request, comet_checkpoint):
    """Makes the metric of a case for the segments with some indices."""
    name, recipe = request.param

    def of(indices=range(len(REFERENCES)), references=None, **settings):
        cls = METRICS[name.upper()]
        if recipe in EMBEDDED:
            request.getfixturevalue("multilingual")  # skips where it is not installed
            model = {"model": "multilingual", **EMBEDDED[recipe]}
        else:
            model = {"model": str(comet_checkpoint(recipe))}
        context = {"sources": [SOURCES[i] for i in indices], **model}
        if name != "comet":
            context["doc_ids"] = [DOC_IDS[i] for i in indices]
        if name == "slide":
            context["window"] = 3
        return cls(references, **{**context, **settings})

    return of


def values(metric, hypotheses, references) -> list[float]:
    return [value / weight for value, weight in metric._extract_corpus_statistics(hypotheses, references)]


@pytest.mark.full
@pytest.mark.parametrize("budgets", some([(1,), (300, 1)], [(1,)]), ids=len)
def test_order_batch_and_company(make, budgets):
    """Documents in any order, any budget and other systems beside it leave each segment's value as it is."""
    few = range(40)  # the first four documents
    b, references = ([texts[i] for i in few] for texts in (SYSTEMS["b"], REFERENCES))
    base = values(make(few), b, [references])
    assert max(base) - min(base) > 0.02
    for seed, tokens in enumerate(budgets):
        order = laws.reordered(random.Random(seed), DOC_IDS[:40])
        metric = make(order, engine=EngineOptions(batch_tokens=tokens, store_mb=1))
        found = values(metric, [SYSTEMS["b"][i] for i in order], [[REFERENCES[i] for i in order]])
        assert max(abs(found[k] - base[i]) for k, i in enumerate(order)) <= 1e-5
    together = make(few, [references], systems=[[texts[i] for i in few] for texts in SYSTEMS.values()])
    assert values(together, b, None) == pytest.approx(base, abs=1e-5)


def test_pickling(make):
    laws.pickling(make(references=[REFERENCES]), SYSTEMS["a"], SYSTEMS["b"], size=200_000)


def test_signature_and_bootstrap(make):
    metric = make()
    score = metric.corpus_score(SYSTEMS["a"], [REFERENCES], n_bootstrap=100)
    shown = json.loads(score.format(1, False, metric.get_signature().format(), True))
    assert shown["scale"] == "100" and len(shown["ckpt"]) == 12 and shown["long"] == "truncate"
    assert shown["inputs"].startswith("mt+") and score._ci > 0


@pytest.mark.parametrize("kind", some(["bs", "ar"], ["bs"]))
def test_paired(make, kind):
    named = [(letter, SYSTEMS[letter]) for letter in "cb"]
    systems = [system for _, system in named]
    assert 0 < laws.paired(lambda: make(references=[REFERENCES], systems=systems), named, kind) <= 1


def test_missing_texts_are_named(make):
    metric = make()
    reads = metric.estimator.inputs
    if "src" in reads:
        with pytest.raises(InputError, match=f"reads {reads.replace('+', '.')} and needs the sources: give sources"):
            make(sources=None).corpus_score(SYSTEMS["a"], [REFERENCES])
    if "ref" in reads:
        with pytest.raises(InputError, match="needs the references: give a reference"):
            metric.corpus_score(SYSTEMS["a"], [])
    else:
        score = metric.corpus_score(SYSTEMS["a"], [REFERENCES]).score
        assert score == metric.corpus_score(SYSTEMS["a"], []).score == make().corpus_score(SYSTEMS["a"]).score
        assert len(make(systems=[SYSTEMS["a"]]).segment_scores(SYSTEMS["a"])) == len(SOURCES)
        assert "nrefs:0|" in str(make(references=[REFERENCES]).get_signature())


def test_long_texts(make):
    """Cut and counted, or refused before anything is scored."""
    short, indices = ["A cat.", "A dog.", "Rain."], range(3)
    long = ["word " * 700, *short[1:]]
    score = make(indices, sources=short).corpus_score(long, [short])
    assert "truncated = " in score.format()
    assert "truncated" not in make(indices, sources=short).corpus_score(short, [short]).format()
    with pytest.raises(InputError, match=r"longer than the model reads \(50.*with on_long='truncate'"):
        make(indices, sources=short, on_long="error").corpus_score(long, [short])
    make(indices, sources=short, on_long="error").corpus_score(short, [short])


@pytest.mark.full
def test_inputs_are_a_choice_for_models_that_read_both(comet_checkpoint):
    model = str(comet_checkpoint("xcomet"))
    scores = {
        inputs: COMET(sources=SOURCES, model=model, inputs=inputs).corpus_score(SYSTEMS["a"], [REFERENCES]).score
        for inputs in ("mt+src", "mt+ref", "mt+src+ref", None)
    }
    assert scores["mt+src+ref"] == scores[None] and len(set(scores.values())) == 3
    assert COMET(model=model, inputs="mt+ref").corpus_score(SYSTEMS["a"], [REFERENCES]).score == scores["mt+ref"]
    with pytest.raises(InputError, match="or score without it with inputs='mt.ref'"):
        COMET(model=model).corpus_score(SYSTEMS["a"], [REFERENCES])


@pytest.mark.full
def test_spans_and_parts_are_kept(comet_checkpoint):
    metric = COMET([REFERENCES], [SYSTEMS["a"]], sources=SOURCES, model=str(comet_checkpoint("xcomet")))
    metric.corpus_score(SYSTEMS["a"], None)
    (result,) = metric.system_results()
    estimates = [window.estimate for window in result.windows]
    assert all(estimate.parts.keys() == {"src", "ref", "unified", "mqm"} for estimate in estimates)
    spans = [(span, text) for estimate, text in zip(estimates, SYSTEMS["a"]) for span in estimate.spans]
    assert spans and all(0 <= s.start < s.end <= len(text) and 0 < s.confidence <= 1 for s, text in spans)
    assert {s.severity for s, _ in spans} <= {"minor", "major", "critical"}
    plain = COMET([REFERENCES], [SYSTEMS["a"]], sources=SOURCES, model=str(comet_checkpoint("kiwi")))
    marked = COMET([REFERENCES], [SYSTEMS["a"]], sources=SOURCES, model=str(comet_checkpoint("kiwi")), spans=True)
    assert plain.corpus_score(SYSTEMS["a"], None).score == pytest.approx(
        marked.corpus_score(SYSTEMS["a"], None).score, abs=1e-5
    )
    assert all(w.estimate.spans is None for w in plain.system_results()[0].windows)
    assert any(w.estimate.spans for w in marked.system_results()[0].windows)


def test_empty_lines_are_scored_as_they_are_and_counted(comet_checkpoint, caplog):
    metric = COMET(sources=SOURCES, model=str(comet_checkpoint("regression")))
    rows = metric._extract_corpus_statistics(["", *SYSTEMS["a"][1:]], [REFERENCES])
    assert rows[0][1] == 1 and rows[0][0] != 0 and math.isfinite(rows[0][0])
    said = "comet: 1 segment has an empty hypothesis, source or reference and is scored as it is (segment 1)"
    assert said in caplog.messages
