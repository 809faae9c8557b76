"""BERTScore over small encoders against bert-score, its laws, models and settings, and 500 real pairs."""

import shutil

import numpy as np
import pytest
import torch
from stub_encoder import resolved, values  # noqa: F401  a fixture

from ctx_metrics.errors import InputError
from ctx_metrics.metrics.bertscore import BERTScore
from ctx_metrics.models import hub
from ctx_metrics.roundtrip.metrics import RTTBERTScore
from ctx_metrics.wording import by_flags

HYPOTHESES = [
    "the cat sat on the mat",
    "a red bird ran home",
    "  slow river song\u00a0",
    "city light and rain",
    "the dog sat under a tree",
    "cats [SEP] and dogs </s> run",
]
REFERENCES = [
    "a cat sat on a mat",
    "the old bird ran fast home ",
    "the slow rain river",
    "light of the city",
    "dogs run, birds sing!",
    "a cat and a dog",
]
OTHERS = ["cats on mats", "a bird", "slow, slow rain", "the city was light", "a dog sat on a mat", "dogs"]
IDF = pytest.mark.parametrize("idf", ["none", "plus-one"])
TOLERANCE = 1e-5  # on bert-score's scale, which ends at 1


@pytest.fixture
def paper_models(monkeypatch):
    monkeypatch.setitem(BERTScore.PAPER_MODELS, "", ("multilingual", "3"))
    monkeypatch.setitem(BERTScore.PAPER_MODELS, "en", ("english", "1"))


def theirs(folder, hypotheses, references, layer=2, idf=False, batch_size=1):
    """bert-score's P, R and F1 of each segment, float [3, segments]; references: a text or a list of texts a segment.

    With several pairs in a batch it takes the maximum with 0 too, which stands in the padding.
    """
    bert_score = pytest.importorskip("bert_score")
    given = {"model_type": str(folder), "num_layers": layer, "idf": idf, "batch_size": batch_size}
    return torch.stack(bert_score.score(hypotheses, references, device="cpu", nthreads=0, **given)).double().numpy()


def ours(folder, hypotheses, streams, layers=2, **settings):
    """The same of BERTScore."""
    made = [BERTScore(model=str(folder), layers=layers, score=score, **settings) for score in ("p", "r", "f1")]
    return np.stack([values(metric, hypotheses, streams) for metric in made])


def roberta_with_slow_tokenizer(folder, copy):
    """bert-score asks for a slow tokenizer, whose files are a vocabulary and merges."""
    from tokenizers import Tokenizer

    shutil.copytree(folder, copy)
    Tokenizer.from_file(str(copy / "tokenizer.json")).model.save(str(copy))
    (copy / "tokenizer_config.json").write_text('{"tokenizer_class": "RobertaTokenizer", "model_max_length": 72}')
    return copy


@pytest.fixture(scope="session")
def checkpoints(tiny_bert, tiny_xlmr, tiny_roberta, tmp_path_factory):
    copy = tmp_path_factory.mktemp("bertscore") / "roberta"
    return {"bert": tiny_bert, "xlmr": tiny_xlmr, "roberta": roberta_with_slow_tokenizer(tiny_roberta, copy)}


@IDF
@pytest.mark.parametrize("family", ["bert", "xlmr", "roberta"])
def test_agrees_with_bert_score(checkpoints, family, idf):
    utils = pytest.importorskip("bert_score.utils")
    folder = checkpoints[family]
    if family == "roberta" and utils.get_tokenizer(str(folder)).is_fast:
        pytest.skip("this transformers has no slow tokenizers: bert-score then reads the first word without a space")
    expected = theirs(folder, HYPOTHESES, REFERENCES, idf=idf != "none")
    found = ours(folder, HYPOTHESES, [REFERENCES], idf=idf)
    assert np.abs(found - expected).max() < TOLERANCE
    assert np.ptp(found, axis=1).min() > 0.01


@IDF
def test_several_references_agree_with_bert_score(tiny_bert, idf):
    streams = [REFERENCES, [OTHERS[0], None, *OTHERS[2:]]]
    groups = [[text for text in texts if text is not None] for texts in zip(*streams)]
    expected = theirs(tiny_bert, HYPOTHESES, groups, idf=idf != "none")
    assert np.abs(ours(tiny_bert, HYPOTHESES, streams, idf=idf) - expected).max() < TOLERANCE


EMPTY_OR_LONG = (
    ["the cat sat", "", "a dog", " \t ", "the river " * 60, "rain"],
    ["the cat", "a bird", "", "", "a slow river", "the old rain " * 40],
)


@IDF
def test_empty_and_long_texts_agree_with_bert_score(tiny_bert, idf):
    utils = pytest.importorskip("bert_score.utils")
    if not hasattr(utils.get_tokenizer(str(tiny_bert)), "build_inputs_with_special_tokens"):
        pytest.skip("with this transformers bert-score fails on empty texts")
    hypotheses, references = EMPTY_OR_LONG
    expected = theirs(tiny_bert, hypotheses, references, idf=idf != "none")[2]
    metric = BERTScore(model=str(tiny_bert), layers=2, idf=idf)
    assert np.abs(values(metric, hypotheses, [references]) - expected).max() < TOLERANCE


def test_empty_and_long_texts_are_said(tiny_bert, caplog):
    hypotheses, references = EMPTY_OR_LONG
    score = BERTScore([references], model=str(tiny_bert)).corpus_score(hypotheses, None)
    assert score._verbose == "(truncated = 2 empty = 3)"
    assert (values(BERTScore(model=str(tiny_bert)), hypotheses, [references])[1:4] == 0).all()
    assert caplog.messages[:2] == [
        "bertscore: 2 segments were truncated (68 tokens per text): segments 5, 6",
        "bertscore: 3 segments have an empty hypothesis or reference and score 0 (segments 2, 3, 4)",
    ]


@pytest.mark.parametrize(
    "settings, names, layers",
    [
        ({}, ["embedded"], "2"),
        ({"layers": "1,3"}, ["embedded"], "1,3"),
        ({"model": "owner/name"}, ["owner/name"], "mean"),
        ({"model": "paper", "target_lang": "en_GB"}, ["english"], "1"),
        ({"model": "paper", "target_lang": "de"}, ["multilingual"], "3"),
        ({"model": "paper", "target_lang": "en", "layers": 0}, ["english"], "0"),
    ],
)
def test_models_and_default_layers(resolved, paper_models, settings, names, layers):
    assert BERTScore(**settings).signature["layers"] == layers
    assert resolved == names


def test_the_papers_models():
    # bert-score's tables, with the names that the hub has given them since
    utils = pytest.importorskip("bert_score.utils")
    for language, (model, layer) in BERTScore.PAPER_MODELS.items():
        assert utils.lang2model[language or "de"] == model.split("/")[1]
        assert utils.model2layers[utils.lang2model[language or "de"]] == int(layer)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"score": "f"}, "score 'f' is not one of "),
        ({"idf": "yes"}, "idf 'yes' is not one of "),
        ({"multiref": "best"}, "multiref 'best' is neither "),
        ({"layers": "9"}, "layers 9 are not all in 0..3"),
        ({"max_length": 0}, "a maximum length of 0 tokens"),
        ({"model": "paper"}, "model='paper' depends on the target language"),
        ({"target_lang": "sah"}, r".* Yakut \(sah\); name another with model=\.\.\.$"),
    ],
)
def test_settings_that_cannot_be(resolved, settings, message):
    with pytest.raises(InputError, match=f"^bertscore: {message}"):
        BERTScore(**settings)


def test_signature(tiny_bert):
    metric = BERTScore([REFERENCES], model=str(tiny_bert), layers="1,3", score="r", idf="paper")
    metric.corpus_score(HYPOTHESES, None)
    parts = metric.get_signature().format().split("|")
    expected = "nrefs:1 model:bert inputs:mt+ref layers:1,3 multiref:max maxlen:68 part:r idf:paper scale:100"
    assert set(expected.split()) <= set(parts)
    short = [part.split(":")[0] for part in metric.get_signature().format(short=True).split("|")]
    assert len(short) == len(set(short)) == len(parts)


def test_messages_of_the_round_trip_metric_name_its_flags(resolved):
    for given, said in (
        ({"model": "paper"}, "^rttbertscore: --rtt-bertscore-model paper depends on the target"),
        ({"source_lang": "sah"}, r"Yakut \(sah\); name another with --rtt-bertscore-model$"),
    ):
        with by_flags(), pytest.raises(InputError, match=said):
            RTTBERTScore(sources=["a"], roundtrips=[["a"]], **given)


@pytest.mark.slow
@IDF
def test_real_pairs_agree_with_bert_score(zh_en, idf):
    folder = hub.resolve("embedded").folder
    names = ("system-outputs/Online-A", "references/zh-en.refA", "references/zh-en.refB")
    hypotheses, first, second = (zh_en(name)[:500] for name in names)
    expected = theirs(folder, hypotheses, first, 4, idf != "none", batch_size=64)
    assert np.abs(ours(folder, hypotheses, [first], layers=4, idf=idf) - expected).max() < TOLERANCE
    groups = [list(texts) for texts in zip(first, second)][:100]
    expected = theirs(folder, hypotheses[:100], groups, 4, idf != "none", batch_size=64)
    found = ours(folder, hypotheses[:100], [first[:100], second[:100]], layers=4, idf=idf)
    assert np.abs(found - expected).max() < TOLERANCE


def test_empty_texts_of_roberta(tiny_roberta):
    """No space is put before them."""
    metric = BERTScore(model=str(tiny_roberta))
    assert values(metric, ["", "cat", " "], [["cat", "", ""]]).tolist() == [0, 0, 0]
    assert metric.last_result.counts["empty"] == 3
