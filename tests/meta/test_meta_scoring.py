"""Scoring a judged set: each text is read once, and the values are the metrics' own."""

import io
import logging
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from plugin_conftest import EXAMPLES
from sacrebleu.metrics import BLEU, CHRF, TER

from ctx_metrics import BERTR, COMET, SLIDE, Pairwise
from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.judgements.judged import JudgedSet
from ctx_metrics.judgements.readers import read_judged
from ctx_metrics.meta.evaluation import Significance, evaluate
from ctx_metrics.meta.protocols import make_protocols
from ctx_metrics.meta.scoring import MetricSettings, lacking, score_set
from ctx_metrics.scoring.context import Capabilities

QUIET = EngineOptions(quiet=True)
NEURAL = [MetricSettings("bertr", BERTR), MetricSettings("comet", COMET)]


@pytest.fixture(scope="module")
def judged() -> JudgedSet:
    [found] = read_judged(str(EXAMPLES / "judged.tsv"))
    return found


@pytest.fixture(scope="module")
def gaps() -> JudgedSet:
    """Two systems, two segments; B has no output for the second."""
    hypotheses = [["The cat sat down.", "We left."], ["A dog stood up.", None]]
    references = [["The cat sat down.", "We went away."]]
    return JudgedSet("gaps", ["A", "B"], 2, hypotheses, references, preferences=np.array([[0, 0, 1]]))


@pytest.mark.full
def test_two_metrics_of_one_encoder_read_each_text_once(judged, monkeypatch):
    forward, encoded = PackedEncoder.__call__, []
    monkeypatch.setattr(
        PackedEncoder,
        "__call__",
        lambda self, sequences, *others: (
            encoded.extend(each.tobytes() for each in sequences) or forward(self, sequences, *others)
        ),
    )
    hypotheses, references = (
        [[f"Alpha: {text}" for text in texts] for texts in of] for of in (judged.hypotheses, judged.references)
    )
    bertr, comet = score_set(replace(judged, hypotheses=hypotheses, references=references), NEURAL)
    texts = {text for texts in (*hypotheses, *references) for text in texts}  # nothing has them in store yet
    assert len(encoded) == len(set(encoded)) == len(texts)
    assert bertr.segment_scores.shape == comet.segment_scores.shape == (5, 25)


@pytest.mark.parametrize(
    "settings, made",
    [
        (MetricSettings("bertr", BERTR, {"layers": "2"}), lambda refs, doc_ids: BERTR(refs, layers="2")),
        pytest.param(
            MetricSettings("slide", SLIDE, {"window": 3}),
            lambda refs, doc_ids: SLIDE(refs, doc_ids=doc_ids, window=3),
            marks=pytest.mark.full,
        ),
    ],
    ids=["bertr", "slide"],
)
def test_neural_scores_are_the_metrics_own(judged, settings, made):
    [found] = score_set(judged, [settings])
    metric = made(judged.references, judged.doc_ids)
    for i, texts in enumerate(judged.hypotheses):
        assert found.system_scores[i] == pytest.approx(metric.corpus_score(texts, None).score, abs=1e-4)
        own = [each.score for each in metric.segment_scores(texts)]
        assert found.segment_scores[i].tolist() == pytest.approx(own, abs=1e-4)
    assert found.signature.startswith("nrefs:1|model:embedded") and found.name == settings.name


def test_stock_scores_are_sacrebleus(judged):
    bleu, chrf, ter = score_set(judged, [MetricSettings(cls.__name__, cls) for cls in (BLEU, CHRF, TER)])
    references = [list(stream) for stream in judged.references]
    for i, texts in enumerate(judged.hypotheses):
        assert bleu.system_scores[i] == pytest.approx(BLEU().corpus_score(texts, references).score)
        assert chrf.system_scores[i] == pytest.approx(CHRF().corpus_score(texts, references).score)
        assert ter.system_scores[i] == pytest.approx(-TER().corpus_score(texts, references).score)  # more is better
        for k in (0, 24):
            one = texts[k], [references[0][k]]
            assert bleu.segment_scores[i, k] == pytest.approx(BLEU(effective_order=True).sentence_score(*one).score)
            assert ter.segment_scores[i, k] == pytest.approx(-TER().sentence_score(*one).score)


def test_the_signature_of_segments_is_theirs(judged, gaps):
    bleu, chrf = score_set(judged, [MetricSettings("bleu", BLEU), MetricSettings("chrf", CHRF)], QUIET)
    assert "|eff:no|" in bleu.signature and bleu.segment_signature == bleu.signature.replace("eff:no", "eff:yes")
    assert chrf.segment_signature == ""
    for names, said in (
        (["sys-acc"], {"bleu": "no"}),
        (["seg-pearson"], {"bleu": "yes"}),
        (["sys-acc", "spa"], {"bleu": "no", "bleu (segments)": "yes"}),
    ):
        protocols = [make_protocols()[name] for name in names]
        found = evaluate([judged], {judged.name: [bleu, chrf]}, protocols, Significance("none")).signatures
        assert {name: found[name].partition("|eff:")[2][:3].rstrip("|") for name in found if name != "chrf"} == said
        assert found["chrf"] == chrf.signature


class Counted(CHRF):
    """chrF that counts how often it scores; `broken` ends it in an error."""

    scored, broken = [], False

    def _extract_corpus_statistics(self, *args):
        if self.broken:
            raise KeyboardInterrupt
        self.scored.append(self.beta)
        return super()._extract_corpus_statistics(*args)


def test_what_is_done_is_kept_and_not_done_again(judged, gaps, tmp_path, caplog, monkeypatch):
    bare = replace(judged, doc_ids=None, sources=None, reference="refB")
    bleu, chrf = MetricSettings("bleu", BLEU), MetricSettings("chrf", Counted, {"beta": 2})
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(Counted, "broken", True)
        score_set(bare, [bleu, chrf], QUIET, kept=str(tmp_path))
    names = ["bleu-refB.seg.score", "bleu-refB.signature.json", "bleu-refB.sys.score"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    first = score_set(bare, [bleu, chrf], QUIET, kept=str(tmp_path))
    assert caplog.messages == [f"judged: read from {tmp_path} and not scored again: bleu"] and len(Counted.scored) == 5
    again = score_set(bare, [chrf, bleu], QUIET, kept=str(tmp_path))
    assert caplog.messages[1:] == [f"judged: read from {tmp_path} and not scored again: chrf, bleu"]
    assert len(Counted.scored) == 5
    for one, other in zip(first, reversed(again)):
        assert (one.name, one.signature, one.segment_signature) == (
            other.name,
            other.signature,
            other.segment_signature,
        )
        assert (one.segment_scores == other.segment_scores).all() and (one.system_scores == other.system_scores).all()
    # other texts, another setting, a file that was changed, one that is gone, a damaged note
    for scored, change in enumerate(
        (
            lambda: replace(bare, references=[[f"So {text}" for text in bare.references[0]]]),
            lambda: bare,
            lambda: bare.without(["system_a"]),
            lambda: (tmp_path / "chrf-refB.seg.score").open("a").write(" ") and bare,
            lambda: (tmp_path / "chrf-refB.sys.score").unlink() or bare,
            lambda: (tmp_path / "chrf-refB.signature.json").write_text("[]") and bare,
            lambda: (tmp_path / "chrf-refB.signature.json").write_text("{") and bare,
            lambda: (tmp_path / "chrf-refB.signature.json").write_text("[" * 100_000) and bare,
        )
    ):
        Counted.scored.clear()
        score_set(change(), [chrf], QUIET, kept=str(tmp_path))
        assert Counted.scored == [2] * (4 if scored == 2 else 5), scored
    score_set(bare, [MetricSettings("chrf", Counted, {"beta": 3})], QUIET, kept=str(tmp_path))  # not in its signature
    assert Counted.scored[-5:] == [3] * 5
    one, other = (score_set(gaps, [chrf], QUIET, kept=str(tmp_path / "gaps"))[0] for _ in "ab")
    np.testing.assert_array_equal(one.segment_scores, other.segment_scores)
    assert one.system_scores is other.system_scores is None and caplog.messages[-1].endswith("not scored again: chrf")


@pytest.mark.parametrize("terminal, quiet, said", [(False, False, True), (True, False, False), (False, True, False)])
def test_a_line_a_metric_where_no_bar_is_seen(judged, caplog, monkeypatch, terminal, quiet, said):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    metrics = [MetricSettings("bleu", BLEU), MetricSettings("chrf", CHRF)]
    scores = {judged.name: score_set(judged, metrics, EngineOptions(quiet=quiet))}
    evaluate([judged], scores, [make_protocols()["sys-acc"]], Significance("none"), quiet=quiet)
    found = [re.sub(r"[\d,]+\.\d s$", "# s", message) for message in caplog.messages]
    assert found == ["judged: bleu scored in # s", "judged: chrf scored in # s", "sys-acc: measured in # s"] * said


def test_where_outputs_are_missing_the_others_are_scored_one_by_one(gaps):
    for name, cls in (("chrf", CHRF), ("bertr", BERTR)):
        [found] = score_set(gaps, [MetricSettings(name, cls)])
        assert found.system_scores is None and math.isnan(found.segment_scores[1, 1])
        for i, k in ((0, 0), (0, 1), (1, 0)):
            alone = cls().corpus_score([gaps.hypotheses[i][k]], [[gaps.references[0][k]]]).score
            assert found.segment_scores[i, k] == pytest.approx(alone, abs=1e-4), (name, i, k)


def test_a_metric_of_which_less_is_better_is_negated(judged):
    class Errors(CHRF):
        capabilities = Capabilities(higher_is_better=False)

    plain, negated = score_set(judged, [MetricSettings("chrf", CHRF), MetricSettings("errors", Errors)])
    assert (negated.segment_scores == -plain.segment_scores).all()
    assert (negated.system_scores == -plain.system_scores).all()


def test_what_a_set_lacks(judged, gaps):
    class Sources(CHRF):
        def __init__(self, references=None, sources=None):
            super().__init__(references=references)

    bare = JudgedSet("bare", ["A"], 1, [["It rains."]], segment_scores=np.array([[1.0]]))
    gaps_in_documents = JudgedSet(
        "documents", ["A", "B"], 2, gaps.hypotheses, gaps.references, doc_ids=["x", "x"], preferences=gaps.preferences
    )
    assert [lacking(judged, cls) for cls in (SLIDE, BERTR, CHRF)] == ["", "", ""]
    assert lacking(gaps, SLIDE) == "no document ids"
    assert lacking(gaps_in_documents, SLIDE) == "no whole documents: outputs are missing"
    assert [lacking(bare, cls) for cls in (CHRF, BERTR, Sources)] == ["no references", "no references", ""]
    assert lacking(judged, Pairwise) == "" and lacking(gaps, Pairwise) == "not every system's output of each segment"
    assert lacking(bare, Pairwise) == "only one system"
    two = JudgedSet("two", ["A", "B"], 1, [["It rains."], ["It pours."]], segment_scores=np.array([[1.0], [0.0]]))
    assert lacking(two, Pairwise) == "no references"


def test_outputs_without_a_score_are_nan_and_said(caplog):
    judged = JudgedSet(
        "toy", ["A", "B"], 2, [["It rains.", "We left."]] * 2, [["It rains.", None]], segment_scores=np.ones((2, 2))
    )
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        [bertr] = score_set(judged, NEURAL[:1])
    assert np.isnan(bertr.segment_scores).tolist() == [[False, True]] * 2
    assert bertr.system_scores == pytest.approx([100, 100], abs=1e-3)
    assert "bertr: 2 outputs have no score on toy" in caplog.messages
