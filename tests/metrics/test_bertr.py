import shutil

import numpy as np
import pytest
import torch
from stub_encoder import StubEncoder, resolved, stub  # noqa: F401  fixtures

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
    assert BERTR().sentence_score(hypothesis, [reference]).score == pytest.approx(score, abs=1e-4)


def test_several_references(stub):
    # 60 against steep, 80 against flat; the second segment has one reference, the third one an empty one beside it
    streams = [["steep", None, ""], ["flat", "steep", "steep"]]
    best, mean = BERTR(), BERTR(multiref="mean")
    assert best.corpus_score(["east"] * 3, streams).score == pytest.approx(100 * (0.8 + 0.6 + 0.6) / 3, abs=1e-4)
    assert mean.corpus_score(["east"] * 3, streams).score == pytest.approx(100 * (0.7 + 0.6 + 0.6) / 3, abs=1e-4)
    assert best.num_refs == mean.num_refs == -1


def test_max_length_cuts_and_counts(stub, caplog):
    metric = BERTR(max_length=2)
    score = metric.corpus_score(["east north steep", "east"], [["steep", "steep"]])
    # without its third word the first hypothesis scores 80
    assert score.score == pytest.approx(70, abs=1e-4) and score._verbose == "(truncated = 1)"
    assert caplog.messages == ["bertr: 1 segment was truncated (2 tokens per text): segment 1"]
    assert metric.get_signature().info["maxlen"] == 2


def test_a_maximum_length_beyond_the_model_is_said(stub, caplog):
    assert BERTR().signature["maxlen"] == BERTR(max_length=51).signature["maxlen"] == StubEncoder.max_content
    assert caplog.messages == [f"bertr: the model reads at most {StubEncoder.max_content} tokens per text, not 51"]


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


@pytest.mark.parametrize("layers", ["4", 4, -1, [], [0, 7], "", "last", "1.5"])
def test_layers_that_are_not_there(bertr, layers):
    with pytest.raises(InputError, match="^bertr: layers "):
        bertr(layers=layers)


def test_concat_last4_wants_four_layers():
    assert layer_mixes("concat_last4", 12, "bertr") == [(9,), (10,), (11,), (12,)]
    with pytest.raises(InputError, match="concat_last4 needs four hidden layers, and this encoder has 3"):
        layer_mixes("concat_last4", 2, "bertr")


def test_the_papers_model(resolved):
    for language in (None, ""):
        with pytest.raises(InputError, match="depends on the target language; name the language with target_lang"):
            BERTR(model="paper", target_lang=language)
    for language in ("EN-us", "zh_CN", "cs"):
        BERTR(model="paper", target_lang=language)
    assert resolved == [f"google-bert/bert-base-{name}" for name in ("uncased", "chinese", "multilingual-cased")]


def test_another_language_is_said_when_asked(resolved, caplog):
    BERTR(layers="mean", target_lang="en").corpus_score(HYPOTHESES, [REFERENCES])
    BERTR(model="owner/multilingual", target_lang="de").corpus_score(["der hund"], [["der hund"]])
    assert caplog.messages == []
    metric = BERTR(model="embedded", target_lang="de", layers="mean")
    assert metric.corpus_score(["der hund"], [["der hund"]]).score == pytest.approx(100, abs=1e-4)
    assert len(caplog.messages) == 1 and "it is scored because model=... asks for it" in caplog.text


def test_signature(tiny_bert, tmp_path, monkeypatch):
    folder = shutil.copytree(tiny_bert, tmp_path / "a:b|c d")
    metric = BERTR([REFERENCES], model=str(folder), layers="1, 3", multiref="mean")
    metric.corpus_score(HYPOTHESES, None)
    signature = metric.get_signature()
    assert signature.info["model"] == "a_b_c_d" and signature.info.get("rev") is None
    assert all(not set(str(value)) & set(":|") for value in signature.info.values())
    text = signature.format()
    given = {key for key, value in signature.info.items() if value is not None}
    assert dict(part.split(":") for part in text.split("|")).keys() == given
    parts = "nrefs:1 inputs:mt+ref layers:1,3 multiref:mean dtype:fp32 maxlen:68 long:truncate scale:100".split()
    assert {*parts, f"ckpt:{hub.checkpoint_hash(folder)}"} <= {*text.split("|")}
    model = hub.ResolvedModel("owner/name", tiny_bert, "abcdef012345", "0" * 12)
    monkeypatch.setattr(hub, "resolve", lambda name: model)
    info = BERTR([REFERENCES], model="owner/name").get_signature().info
    assert (info["model"], info["rev"]) == ("owner/name", "abcdef012345")
