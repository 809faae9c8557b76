from pathlib import Path

import pytest

from ctx_metrics.corpus import Corpus
from ctx_metrics.engine.pairs import PairResult
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError
from ctx_metrics.models import hub
from ctx_metrics.reading import read_lines
from ctx_metrics.roundtrip.metrics import _Cosine
from ctx_metrics.roundtrip.sentence_cosine import SentenceCosine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
REFERENCES = ["a cat sat on a mat", "the old bird ran fast home", "x", ""]
QUIET = EngineOptions(quiet=True)


def library_cosines(hypotheses, references) -> list[float]:
    """What sentence_transformers gives for the embedded encoder, with nothing of ours but its folder."""
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(str(hub.resolve("embedded").folder), device="cpu")
    return util.pairwise_cos_sim(model.encode(hypotheses), model.encode(references)).tolist()


class StubEncoder:
    """Cosines that are given, by pair; "" has no tokens, and texts of more than two words are cut."""

    max_tokens, pooling = 4, "stub"
    VALUES = {("a", "b"): 0.5, ("a", "c"): 0.9, ("b", "b"): 1.0, ("a b c", "b"): -0.25}

    def __init__(self):
        self.asked = []

    def cosines(self, pairs, label):
        self.asked.append((pairs, label))
        return [
            PairResult(
                self.VALUES[pair] if all(pair) else None,
                tuple(len(text.split()) > 2 for text in pair),
                tuple(not text for text in pair),
            )
            for pair in pairs
        ]


@pytest.fixture
def stub(monkeypatch):
    encoder = StubEncoder()
    monkeypatch.setattr("ctx_metrics.roundtrip.sentence_encoder.shared_sentence_encoder", lambda model, engine: encoder)
    return encoder


def test_golden_values(stub, caplog):
    """Rows by hand: the best of .5 and .9; -.25 of a cut text; nothing; empty sides against "b" and of "a"; .5 and empty."""
    hypotheses = ["a", "a b c", "a", "", "a", "a"]
    streams = [["b", "b", None, "b", "", "b"], ["c", None, None, None, None, ""]]
    metric = SentenceCosine(streams, [hypotheses], target_lang="en")
    score = metric.corpus_score(hypotheses, None)
    [result] = metric.system_results()
    assert result.rows == [[0.9, 1.0], [-0.25, 1.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, 1.0]]
    assert score.score == pytest.approx(100 * (0.9 - 0.25 + 0.5) / 5)
    assert "(truncated = 1 empty = 2 unreferenced = 1 ignored = 1)" in str(score)
    assert caplog.messages == [
        "sentencecosine: 1 segment was truncated (4 tokens per text): segment 2",
        "sentencecosine: 2 segments have an empty hypothesis or reference and score 0 (segments 4, 5)",
        "sentencecosine: 1 segment has no reference and is left out (segment 3)",
        "sentencecosine: 1 segment has an empty reference among several, which is left out (segment 6)",
    ]
    mean = SentenceCosine(streams, [hypotheses], target_lang="en", multiref="mean")
    assert mean.segment_scores(hypotheses)[0].score == pytest.approx(70)


@pytest.mark.full
def test_agrees_with_sentence_transformers_on_the_example_files():
    references, *systems = (
        read_lines(str(EXAMPLES / f"{name}.en.txt"))[:12] for name in ("ref", "system_a", "system_b")
    )
    metric = SentenceCosine([references], systems, target_lang="en", engine=QUIET)
    for system in systems:
        found = [s.score / 100 for s in metric.segment_scores(system)]
        assert found == pytest.approx(library_cosines(system, references), abs=1e-5)


def test_signature(tiny_bert):
    metric = SentenceCosine([REFERENCES], model=str(tiny_bert), multiref="mean", engine=QUIET)
    info = metric.get_signature().info
    assert {key: info[key] for key in ("nrefs", "model", "pooling", "multiref", "dtype", "maxlen", "long")} == {
        "nrefs": 1,
        "model": tiny_bert.name,
        "pooling": "mean",
        "multiref": "mean",
        "dtype": "fp32",
        "maxlen": 70,
        "long": "truncate",
    }
    assert "pl:mean" in metric.get_signature().format(short=True)
    info = SentenceCosine([REFERENCES], target_lang="en").get_signature().info
    assert (info["model"], info["ckpt"], info["maxlen"]) == ("embedded-all-MiniLM-L6-v2", "53aa51172d14", 256)


# the embedded encoder reads English


def test_another_language_is_refused_unasked(stub):
    with pytest.raises(InputError, match=r"^rttsbert: .* Yakut \(sah\); name another with model=\.\.\.$"):
        _Cosine(target_lang="sah")


def test_english_and_other_models_pass_in_silence(stub, caplog, tiny_bert):
    german = ["der alte hund sitzt unter dem roten baum und sieht auf den fluss"] * 4
    english = ["the old dog sits under the red tree and looks at the river that it has seen"] * 4
    stub.VALUES = {(text, text): 1.0 for text in (german[0], english[0])}
    SentenceCosine(target_lang="en")._score([Corpus(german, [german])])
    SentenceCosine(model=str(tiny_bert), target_lang="de")._score([Corpus(german, [german])])
    SentenceCosine(model=str(tiny_bert))._score([Corpus(german, [german])])
    SentenceCosine()._score([Corpus(english, [english])])
    assert caplog.messages == []


def test_the_name_is_the_derived_metrics(stub, caplog):
    metric = _Cosine(target_lang="en")
    assert metric.corpus_score(["a", "a"], [["b", None]]).name == "RTTSBERT"
    assert caplog.messages == ["rttsbert: 1 segment has no reference and is left out (segment 2)"]
    assert stub.asked[0][1] == "rttsbert"
