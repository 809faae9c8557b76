"""Scoring a judged set: each text is read once, and the values are the metrics' own."""

import logging
import math

import numpy as np
import pytest
from plugin_conftest import EXAMPLES
from sacrebleu.metrics import BLEU, CHRF, TER

from ctx_metrics import BERTR, COMET, InputError, Pairwise, SLIDE
from ctx_metrics.meta.judged import JudgedSet
from ctx_metrics.meta.readers import read_judged
from ctx_metrics.meta.scoring import MetricSettings, lacking, score_set

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


@pytest.fixture
def encoded(monkeypatch) -> list[bytes]:
    """The token ids of every sequence that goes through the network."""
    from ctx_metrics.engine.forward import PackedEncoder

    forward, seen = PackedEncoder.__call__, []

    def counted(self, sequences, *others):
        seen.extend(sequence.tobytes() for sequence in sequences)
        return forward(self, sequences, *others)

    monkeypatch.setattr(PackedEncoder, "__call__", counted)
    return seen


def reworded(judged: JudgedSet, word: str) -> JudgedSet:
    """The same set with texts that nothing has in store yet."""
    hypotheses = [[f"{word} {text}" for text in texts] for texts in judged.hypotheses]
    references = [[f"{word} {text}" for text in stream] for stream in judged.references]
    return JudgedSet(
        judged.name, judged.systems, judged.segments, hypotheses, references, segment_scores=judged.segment_scores
    )


def test_two_metrics_of_one_encoder_read_each_text_once(judged, encoded):
    new = reworded(judged, "Alpha:")
    bertr, comet = score_set(new, NEURAL)
    texts = {text for texts in (*new.hypotheses, *new.references) for text in texts}
    assert len(encoded) == len(set(encoded)) == len(texts)
    assert bertr.segment_scores.shape == comet.segment_scores.shape == (5, 25)


def test_all_systems_are_scored_in_one_pass(judged, monkeypatch):
    passes, score = [], BERTR._score
    monkeypatch.setattr(BERTR, "_score", lambda self, corpora: passes.append(len(corpora)) or score(self, corpora))
    score_set(judged, NEURAL[:1])
    assert passes == [5]


@pytest.mark.parametrize(
    "settings, made",
    [
        (MetricSettings("bertr", BERTR, {"layers": "2"}), lambda refs, doc_ids: BERTR(refs, layers="2")),
        (MetricSettings("slide", SLIDE, {"window": 3}), lambda refs, doc_ids: SLIDE(refs, doc_ids=doc_ids, window=3)),
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
    found = score_set(
        judged, [MetricSettings(name, cls) for name, cls in (("bleu", BLEU), ("chrf", CHRF), ("ter", TER))]
    )
    bleu, chrf, ter = found
    references = [list(stream) for stream in judged.references]
    for i, texts in enumerate(judged.hypotheses):
        assert bleu.system_scores[i] == pytest.approx(BLEU().corpus_score(texts, references).score)
        assert chrf.system_scores[i] == pytest.approx(CHRF().corpus_score(texts, references).score)
        assert ter.system_scores[i] == pytest.approx(-TER().corpus_score(texts, references).score)  # more is better
        for k in (0, 24):
            one = texts[k], [references[0][k]]
            assert bleu.segment_scores[i, k] == pytest.approx(BLEU(effective_order=True).sentence_score(*one).score)
            assert ter.segment_scores[i, k] == pytest.approx(-TER().sentence_score(*one).score)


def test_where_outputs_are_missing_the_others_are_scored_one_by_one(gaps):
    for name, cls in (("chrf", CHRF), ("bertr", BERTR)):
        [found] = score_set(gaps, [MetricSettings(name, cls)])
        assert found.system_scores is None and math.isnan(found.segment_scores[1, 1])
        for i, k in ((0, 0), (0, 1), (1, 0)):
            alone = cls().corpus_score([gaps.hypotheses[i][k]], [[gaps.references[0][k]]]).score
            assert found.segment_scores[i, k] == pytest.approx(alone, abs=1e-4), (name, i, k)


def test_a_metric_of_which_less_is_better_is_negated(judged):
    class Errors(CHRF):
        higher_is_better = False

    plain, negated = score_set(judged, [MetricSettings("chrf", CHRF), MetricSettings("errors", Errors)])
    assert (negated.segment_scores == -plain.segment_scores).all()
    assert (negated.system_scores == -plain.system_scores).all()


def test_what_a_set_lacks(judged, gaps, caplog):
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
    assert lacking(bare, Pairwise) == "one system alone"
    two = JudgedSet("two", ["A", "B"], 1, [["It rains."], ["It pours."]], segment_scores=np.array([[1.0], [0.0]]))
    assert lacking(two, Pairwise) == "no references"
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        slide, chrf = score_set(gaps, [MetricSettings("slide", SLIDE), MetricSettings("chrf", CHRF)])
    assert slide is None and chrf.name == "chrf"
    assert caplog.messages == ["slide: left out on gaps, which has no document ids"]


def test_outputs_without_a_score_are_nan_and_said(caplog):
    judged = JudgedSet(
        "toy", ["A", "B"], 2, [["It rains.", "We left."]] * 2, [["It rains.", None]], segment_scores=np.ones((2, 2))
    )
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        [bertr] = score_set(judged, NEURAL[:1])
    assert np.isnan(bertr.segment_scores).tolist() == [[False, True]] * 2
    assert bertr.system_scores == pytest.approx([100, 100], abs=1e-3)
    assert "bertr: 2 outputs have no score on toy" in caplog.messages


def test_a_set_without_texts_cannot_be_scored():
    judged = JudgedSet("toy", ["A"], 1, segment_scores=np.array([[1.0]]))
    with pytest.raises(InputError, match=r"^toy: there are no texts to score; give the metrics' scores as files"):
        score_set(judged, NEURAL)
