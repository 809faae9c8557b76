import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from stub_encoder import StubEncoder

from ctx_metrics.engine.encoder import layer_mixes
from ctx_metrics.errors import InputError
from ctx_metrics.metrics.bertr import BERTR
from ctx_metrics.models import hub

HYPOTHESES = [
    "the cat sat on the mat",
    "a red bird ran home",
    "slow river song",
    "city light and rain",
    "the dog sat under a tree",
]
REFERENCES = [
    "a cat sat on a mat",
    "the old bird ran fast home",
    "the slow rain river",
    "light of the city",
    "dogs run, birds sing!",
]


@pytest.fixture
def stub(monkeypatch):
    """A function that makes a BERTR over the stub."""
    monkeypatch.setattr(hub, "resolve", lambda name: hub.ResolvedModel("stub", Path("stub"), None, "0" * 12))
    monkeypatch.setattr("ctx_metrics.engine.encoder.shared_encoder", lambda folder, engine: StubEncoder())
    return BERTR


@pytest.fixture
def english(tiny_bert, monkeypatch):
    """The names that were resolved; each gives the tiny BERT, under the embedded model's name."""
    names = []
    monkeypatch.setattr(
        hub,
        "resolve",
        lambda name: (
            names.append(name)
            or hub.ResolvedModel(
                "embedded-tiny" if name == "embedded" else name, tiny_bert, None, "0" * 12, embedded=name == "embedded"
            )
        ),
    )
    return names


@pytest.fixture
def bertr(tiny_bert):
    """A function that makes a BERTR over the tiny BERT."""
    return lambda *args, **settings: BERTR(*args, model=str(tiny_bert), **settings)


def segment_scores(metric, hypotheses, references):
    return [metric.sentence_score(h, [r]).score for h, r in zip(hypotheses, references, strict=True)]


@pytest.mark.parametrize(
    "hypothesis, reference, score",
    [
        # cosines: east-north 0, east-steep 3/5, north-steep 4/5, east-flat 4/5, steep-flat 24/25, west-east -1,
        # west-north 0
        ("east", "east", 100),
        ("east", "east steep", 100 * (1 + 3 / 5) / 2),
        ("east north", "steep", 100 * 4 / 5),
        ("east north", "steep flat east", 100 * (4 / 5 + 4 / 5 + 1) / 3),
        ("steep", "flat flat north", 100 * (24 / 25 + 24 / 25 + 4 / 5) / 3),
        ("east steep west", "east", 100),
        ("west", "east", -100),  # a negative maximum stays negative
        ("west", "east north", -50),
    ],
)
def test_golden_values(stub, hypothesis, reference, score):
    assert stub().sentence_score(hypothesis, [reference]).score == pytest.approx(score, abs=1e-4)


def test_corpus_score_is_the_mean_of_segments(stub):
    # 80, 60 and -100
    score = stub().corpus_score(["east north", "east", "west"], [["steep", "steep", "east"]])
    assert score.score == pytest.approx(100 * (4 / 5 + 3 / 5 - 1) / 3, abs=1e-4)
    assert score.name == "BERTR" and score._verbose == ""


def test_several_references(stub):
    # 60 against steep, 80 against flat; the second segment has one reference, the third one an empty one beside it
    streams = [["steep", None, ""], ["flat", "steep", "steep"]]
    best, mean = stub(), stub(multiref="mean")
    assert best.corpus_score(["east"] * 3, streams).score == pytest.approx(100 * (0.8 + 0.6 + 0.6) / 3, abs=1e-4)
    assert mean.corpus_score(["east"] * 3, streams).score == pytest.approx(100 * (0.7 + 0.6 + 0.3) / 3, abs=1e-4)
    assert best.num_refs == mean.num_refs == -1
    with pytest.raises(InputError, match="multiref 'best' is neither max nor mean"):
        stub(multiref="best")


def test_a_segment_without_reference_is_left_out_and_said(stub, caplog):
    score = stub().corpus_score(["east", "east"], [["steep", None]])
    assert score.score == pytest.approx(60, abs=1e-4) and score._verbose == "(unreferenced = 1)"
    assert [record.getMessage() for record in caplog.records] == [
        "bertr: 1 segment has no reference and is left out (segment 2)"
    ]


def test_nothing_to_score_is_an_error(stub):
    with pytest.raises(InputError, match="no segment can be scored; 2 segments have no reference"):
        stub().corpus_score(["east", "east"], [[None, None]])
    with pytest.raises(InputError, match="bertr: no hypotheses to score"):
        stub().corpus_score([], [[]])


def test_empties_score_zero_and_are_counted(stub, caplog):
    score = stub().corpus_score(["east", "", "east", ""], [["east", "east", "", ""]])
    assert score.score == pytest.approx(25, abs=1e-4) and score._verbose == "(empty = 3)"
    assert "empty = 3" in score.format()
    assert [record.getMessage() for record in caplog.records] == [
        "bertr: 3 segments have an empty hypothesis or reference and score 0 (segment 2, 3, 4)"
    ]
    assert all(record.levelno >= logging.WARNING for record in caplog.records)  # so it reaches stderr unasked


def test_max_length_cuts_and_counts(stub, caplog):
    metric = stub(max_length=2)
    score = metric.corpus_score(["east north steep", "east"], [["steep", "steep"]])
    # without its third word the first hypothesis scores 80
    assert score.score == pytest.approx(70, abs=1e-4) and score._verbose == "(truncated = 1)"
    assert caplog.messages == ["bertr: 1 segment was cut to 2 tokens a text (segment 1)"]
    assert metric.get_signature().info["maxlen"] == 2


def test_a_maximum_length_beyond_the_model_is_said(stub, caplog):
    assert stub(max_length=4000).signature["maxlen"] == StubEncoder.max_content
    assert caplog.messages == [f"bertr: the model reads {StubEncoder.max_content} tokens of a text, not 4000"]


def test_a_notice_of_every_system_is_said_once(stub, caplog):
    metric = stub([["", "east"]], [["east", "east"], ["east east", "east"]])
    metric.corpus_score(["east", "east"], None)
    assert caplog.messages == [
        "bertr: every system: 1 segment has an empty hypothesis or reference and scores 0 (segment 1)"
    ]


def test_max_length_settings(stub):
    assert stub().signature["maxlen"] == stub(max_length=51).signature["maxlen"] == StubEncoder.max_content
    with pytest.raises(InputError, match="a maximum length of 0 tokens leaves nothing to compare"):
        stub(max_length=0)


def plain_recall(folder, hypothesis, reference, combine):
    """BERTR in float64 numpy, word by word, over the states of transformers' BertModel."""
    from transformers import AutoTokenizer, BertModel

    tokenizer, model = AutoTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()

    def vectors(text):
        with torch.no_grad():
            layers = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        return combine([layer[0, 1:-1].double().numpy() for layer in layers])

    best = []
    for r in vectors(reference):
        best.append(max(float(r @ h) / np.sqrt(float(r @ r) * float(h @ h)) for h in vectors(hypothesis)))
    return 100 * sum(best) / len(best)


@pytest.mark.parametrize(
    "layers, combine",
    [
        (None, lambda layers: (layers[1] + layers[2] + layers[3]) / 3),
        ("mean", lambda layers: (layers[1] + layers[2] + layers[3]) / 3),
        (0, lambda layers: layers[0]),
        (2, lambda layers: layers[2]),
        ("3", lambda layers: layers[3]),
        ("1,3", lambda layers: (layers[1] + layers[3]) / 2),
        ([3, 1], lambda layers: (layers[1] + layers[3]) / 2),
        ("concat_last4", lambda layers: np.concatenate(layers, axis=1)),
    ],
    ids=["default", "mean", "0", "2", "text 3", "text 1,3", "list", "concat_last4"],
)
def test_layers_agree_with_a_plain_implementation(bertr, tiny_bert, layers, combine):
    pairs = list(zip(HYPOTHESES, REFERENCES))[:2]
    expected = [plain_recall(tiny_bert, h, r, combine) for h, r in pairs]
    assert segment_scores(bertr(layers=layers), *zip(*pairs)) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("layers", ["4", 4, -1, "-1", "1,9", [], [0, 7], "", "last", "1;2", "1.5"])
def test_layers_that_are_not_there(bertr, layers):
    with pytest.raises(InputError, match="^bertr: layers "):
        bertr(layers=layers)


def test_concat_last4_wants_four_layers():
    assert layer_mixes("concat_last4", 12, "bertr") == [(9,), (10,), (11,), (12,)]
    with pytest.raises(InputError, match="concat_last4 needs four hidden layers, and this encoder has 3"):
        layer_mixes("concat_last4", 2, "bertr")


def test_default_layers(english, monkeypatch):
    monkeypatch.setattr("ctx_metrics.scoring.token_matching.EMBEDDED_LAYER", "2")
    assert BERTR().signature["layers"] == "2"
    assert BERTR(model="owner/name").signature["layers"] == "mean"
    assert BERTR(model="embedded", layers=1).signature["layers"] == "1"


@pytest.mark.parametrize(
    "language, model",
    [
        ("en", "google-bert/bert-base-uncased"),
        ("EN-us", "google-bert/bert-base-uncased"),
        ("zh", "google-bert/bert-base-chinese"),
        ("zh_CN", "google-bert/bert-base-chinese"),
        ("de", "google-bert/bert-base-multilingual-cased"),
        ("cs", "google-bert/bert-base-multilingual-cased"),
    ],
)
def test_the_papers_model(english, language, model):
    BERTR(model="paper", target_lang=language)
    assert english == [model]


def test_the_papers_model_wants_a_language(english):
    for language in (None, ""):
        with pytest.raises(InputError, match="depends on the target language; name the language with target_lang"):
            BERTR(model="paper", target_lang=language)
    assert english == []


def test_another_language_is_said_when_asked(english, caplog):
    metric = BERTR(model="embedded", target_lang="de", layers="mean")
    assert metric.corpus_score(["der hund"], [["der hund"]]).score == pytest.approx(100, abs=1e-4)
    assert len(caplog.messages) == 1 and "it is scored because model=... asks for it" in caplog.text


def test_english_and_other_models_pass_in_silence(english, caplog):
    german = ["der alte hund sitzt unter dem roten baum und sieht auf den fluss"] * 4
    BERTR(layers="mean", target_lang="en").corpus_score(german, [german])
    BERTR(model="owner/multilingual", target_lang="de").corpus_score(german, [german])
    BERTR(model="owner/multilingual").corpus_score(german, [german])
    BERTR(layers="mean").corpus_score(HYPOTHESES, [REFERENCES])
    assert caplog.messages == []


def test_signature(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "a:b|c d")
    metric = BERTR([REFERENCES], model=str(folder), layers="1, 3", multiref="mean")
    metric.corpus_score(HYPOTHESES, None)
    signature = metric.get_signature()
    assert signature.info["model"] == "a_b_c_d" and signature.info.get("rev") is None
    assert all(not set(str(value)) & set(":|") for value in signature.info.values())
    text = signature.format()
    given = {key for key, value in signature.info.items() if value is not None}
    assert dict(part.split(":") for part in text.split("|")).keys() == given
    for part in (
        "nrefs:1",
        "inputs:mt+ref",
        "layers:1,3",
        "multiref:mean",
        "dtype:fp32",
        "maxlen:68",
        "long:truncate",
        "scale:100",
        f"ckpt:{hub.checkpoint_hash(folder)}",
    ):
        assert part in text.split("|")


def test_the_signature_of_a_hub_model_has_its_revision(tiny_bert, monkeypatch):
    model = hub.ResolvedModel("owner/name", tiny_bert, "abcdef012345", "0" * 12)
    monkeypatch.setattr(hub, "resolve", lambda name: model)
    info = BERTR([REFERENCES], model="owner/name").get_signature().info
    assert (info["model"], info["rev"]) == ("owner/name", "abcdef012345")
