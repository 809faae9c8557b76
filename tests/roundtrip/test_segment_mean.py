import pytest
from sacrebleu.metrics import BLEU, CHRF

from ctx_metrics.corpus import Corpus
from ctx_metrics.roundtrip.metrics import SegmentMean

HYPOTHESES = ["the cat sat on a mat", "a dog ran", "birds sing", "it rains"]
REFERENCES = [
    ["the cat sat on the mat", "the dog ran home", "a bird sang", "it rains"],
    [None, "a dog ran off", None, "x"],
]


def pooled(i):
    return [stream[i] for stream in REFERENCES if stream[i] is not None]


@pytest.mark.parametrize(
    "make",
    [CHRF, lambda: CHRF(word_order=2, beta=3), lambda: BLEU(effective_order=True)],
    ids=["chrF", "chrF++ of beta 3", "BLEU"],
)
def test_is_the_mean_of_sentence_scores(make):
    expected = [make().sentence_score(hypothesis, pooled(i)).score for i, hypothesis in enumerate(HYPOTHESES)]
    metric = SegmentMean(make(), REFERENCES, [HYPOTHESES])
    assert [s.score for s in metric.segment_scores(HYPOTHESES)] == pytest.approx(expected)
    mean = metric.corpus_score(HYPOTHESES, None).score
    assert mean == pytest.approx(sum(expected) / 4)
    assert mean != pytest.approx(make().corpus_score(HYPOTHESES, REFERENCES).score, abs=0.1)
    assert max(expected) == pytest.approx(100)  # "it rains"


def test_systems_with_the_same_and_with_other_references():
    other = ["a cat", "a dog", "a bird", "it rains"]
    corpora = [Corpus(HYPOTHESES, REFERENCES), Corpus(other, REFERENCES), Corpus(HYPOTHESES, REFERENCES[:1])]
    for corpus, result in zip(corpora, SegmentMean(CHRF())._score(corpora)):
        for i, (value, weight) in enumerate(result.rows):
            texts = [stream[i] for stream in corpus.references if stream[i] is not None]
            assert weight == 1 and 100 * value == pytest.approx(
                CHRF().sentence_score(corpus.hypotheses[i], texts).score
            )


def test_reference_ngrams_are_made_once(monkeypatch):
    made = []
    inner = CHRF._extract_reference_info
    monkeypatch.setattr(CHRF, "_extract_reference_info", lambda self, refs: made.append(refs) or inner(self, refs))
    systems = [HYPOTHESES, list(reversed(HYPOTHESES))]
    metric = SegmentMean(CHRF(), REFERENCES, systems)
    for system in systems:
        metric.corpus_score(system, None)
    assert len(made) == len(HYPOTHESES)


def test_odd_segments_are_counted(caplog):
    hypotheses = ["a b", "", "a b", "a b", "a b"]
    streams = [["a b", "a", "", None, "a b"], [None, "b", None, None, ""]]
    metric = SegmentMean(CHRF(), streams, [hypotheses])
    result = metric.corpus_score(hypotheses, None)
    [found] = metric.system_results()
    assert [weight for _, weight in found.rows] == [1, 1, 1, 0, 1]
    assert [value for value, _ in found.rows] == pytest.approx([1, 0, 0, 0, 1])
    assert result.score == pytest.approx(50) and "(empty = 2 unreferenced = 1 ignored = 1)" in str(result)
    assert caplog.messages == [
        "segmentmean: 2 segments have an empty hypothesis or reference and score 0 (segments 2, 3)",
        "segmentmean: 1 segment has no reference and is left out (segment 4)",
        "segmentmean: 1 segment has an empty reference among several, which is left out (segment 5)",
    ]


@pytest.mark.parametrize("references", [[], [[None, None]]], ids=["no streams", "nothing but None"])
def test_no_reference_at_all(references):
    [result] = SegmentMean(CHRF())._score([Corpus(["a", "b"], references)])
    assert result.rows == [[0, 0], [0, 0]] and result.counts["unreferenced"] == 2


def test_signature():
    info = SegmentMean(CHRF(word_order=2), REFERENCES).get_signature().info
    assert {key: info[key] for key in ("nrefs", "case", "nc", "nw", "average")} == {
        "nrefs": "var",
        "case": "mixed",
        "nc": 6,
        "nw": 2,
        "average": "segments",
    }
