"""The networks that tell where sentences begin: their formula, the texts they learn from, and what they tell."""

import json
import shutil

import numpy as np
import pytest
import torch
from sentence_begins import Recipe, Tokens, fitted, inputs, parts, texts
from torch import nn

from ctx_metrics.align import alignment, sentence_begins
from ctx_metrics.align.alignment import Aligner, Document
from ctx_metrics.align.sentence_begins import MODEL, SentenceBegins
from ctx_metrics.align.vectors import token_vectors
from ctx_metrics.errors import ModelError
from ctx_metrics.opening import file_sha256

NAMES = ["english", "multilingual"]


@pytest.mark.parametrize("network", NAMES)
@pytest.mark.parametrize("at_once", [1, 3, 9])
def test_the_chance_is_that_of_a_plain_network(network, at_once, monkeypatch):
    monkeypatch.setattr(sentence_begins, "TOKENS_AT_ONCE", at_once)
    own = sentence_begins.sentence_begins(network)
    vectors = (torch.randn(8, 384, generator=torch.Generator().manual_seed(1)) / 20).half()
    plain = nn.Sequential(nn.Linear(768, 64), nn.Tanh(), nn.Linear(64, 1))
    with torch.no_grad():
        plain[0].weight.copy_(torch.cat([own.before, own.own], 1))
        plain[0].bias.copy_(own.bias)
        plain[2].weight.copy_(own.value[None])
        plain[2].bias.fill_(own.offset)
        beside = torch.cat([torch.cat([torch.zeros(1, 384), vectors[:-1]]), vectors], 1)
        expected = plain.double()(beside.double())[:, 0].sigmoid().numpy()
    assert own.chances(vectors) == pytest.approx(expected, rel=1e-4)
    assert np.ptp(expected) > 0.001


@pytest.mark.parametrize(
    "language, across, network",
    [("en", False, "english"), (None, False, "english"), ("de", False, "multilingual"), ("en", True, "multilingual")],
)
def test_which_network_is_used(language, across, network):
    assert Aligner(language, across=across).begins is sentence_begins.sentence_begins(network)


def test_the_english_encoder_tells_nothing_about_other_languages(monkeypatch):
    monkeypatch.setattr(alignment, "encoder_for", lambda language: "embedded")
    aligner = Aligner("de", across=False)
    assert aligner.model.embedded and aligner.begins is None
    [found] = aligner.align([Document("Es regnet. Wir gehen.", ["Es regnet.", "Wir gehen."])])
    assert found.lines == ["Es regnet.", "Wir gehen."]


CHINESE = [
    "我们昨天参观了城里的新图书馆",
    "书架上有很多历史书",
    "下午天气变冷了所以大家都回家了",
    "妈妈给我们做了热汤",
    "晚上弟弟还想出去玩",
    "可是外面已经下起了大雨",
]
JAPANESE = [
    "昨日は町の新しい図書館を見学しました",
    "本棚には歴史の本がたくさんありました",
    "午後は寒くなったので皆で家に帰りました",
    "母が温かいスープを作ってくれました",
    "夜になっても弟は外で遊びたがっていました",
    "でも外ではもう大雨が降っていました",
]
SOURCES = [
    "Yesterday we visited the new library in town.",
    "There are many history books on the shelves.",
    "In the afternoon it became cold, so everyone went home.",
    "Mother made hot soup for us.",
    "In the evening my brother still wanted to go out and play.",
    "But outside it was already raining heavily.",
]


@pytest.mark.parametrize("language, lines", [("zh", CHINESE), ("ja", JAPANESE)])
def test_sentences_without_marks_are_told_apart(language, lines):
    aligner = Aligner(language, across=True)
    [tokens] = token_vectors(aligner.encoder, aligner.layer, [["".join(lines)]])
    chances = aligner.begins.chances(tokens.vectors)
    true = np.isin(tokens.begins, np.cumsum([len(line) for line in lines[:-1]]))
    assert true.sum() == 5
    assert chances[true].mean() > 10 * chances[~true].mean()
    [found] = aligner.align([Document("".join(lines), SOURCES)])
    assert found.lines == lines


@pytest.mark.parametrize("language, lines, kept", [("zh", CHINESE, [0, 1, 2, 3, 5]), ("ja", JAPANESE, [0, 1, 3, 4, 5])])
def test_an_addition_is_found_without_marks(language, lines, kept):
    [found] = Aligner(language, across=True).align([Document("".join(lines), [SOURCES[number] for number in kept])])
    assert found.lines == [lines[number] for number in kept]
    assert "".join(each.text for each in found.additions) == "".join(set(lines) - {*found.lines})


def test_no_end_is_inside_a_sentence_if_the_network_knows_it_for_one(monkeypatch):
    aligner = Aligner("ja", across=True)
    document = Document("".join(JAPANESE), SOURCES)
    [found] = aligner.align([document])
    assert not any(link.inside for link in found.links)
    monkeypatch.setattr(aligner, "begins", None)
    [found] = aligner.align([document])
    assert all(link.inside for link in found.links)


LINES = [["It rained. All day, we read!", "What then", "“No.” We left."]] * 40


def test_texts_for_training():
    recipe = Recipe(bare=0.5, lower=0.5)
    found = list(texts("en", [[*lines, *lines, *lines] for lines in LINES], 10**6, recipe))
    assert len(found) == 40
    assert {each.text.split("What")[0][:25] for each in found if "What" in each.text} == {
        "It rained. All day, we re",
        "It rained All day we read",
    }
    assert any(each.text.islower() for each in found)
    for text, begins in found:
        starts = sorted(begins)
        sentences = [text[begin:end].strip() for begin, end in zip(starts, [*starts[1:], None], strict=True)]
        letters = ["".join(filter(str.isalpha, each)).lower() for each in sentences]
        assert letters == ["itrained", "alldayweread", "whatthen", "no", "weleft"] * 3
    assert len(list(texts("en", [[*lines] * 3 for lines in LINES], 300, recipe))) < 5
    assert found == list(texts("en", [[*lines, *lines, *lines] for lines in LINES], 10**6, recipe))


def test_texts_without_spaces():
    [(text, begins)] = texts(
        "zh", [["今天下雨。我们回家！", "弟弟睡觉了，我在看书"] * 8], 10**6, Recipe(bare=1, lower=0)
    )
    assert text == "今天下雨我们回家弟弟睡觉了我在看书" * 8
    assert sorted(begins)[:4] == [0, 4, 8, 17]


@pytest.mark.full
def test_a_network_learns_and_is_stored(tmp_path):
    """Sentences begin after tokens of one kind, before tokens of another."""
    chance = np.random.default_rng(2)
    kinds = chance.integers(0, 3, 4001)
    vectors = torch.from_numpy(np.eye(3)[kinds] + chance.normal(0, 0.05, (4001, 3))).half()
    vectors[0] = 0
    rows = np.arange(1, 4001)
    begin = (kinds[rows - 1] == 0) & (kinds[rows] == 1) & (rows > 1)
    learned = {"xx": Tokens(vectors, rows, begin)}
    network = fitted(learned, Recipe(hidden=4, epochs=30, batch=64, learning_rate=0.02))
    stored = {name: tensor.detach().float() for name, tensor in parts(network).items()}
    own = SentenceBegins(**{**stored, "offset": float(stored["offset"][0])})
    chances = own.chances(vectors[1:])
    assert chances[begin].min() > 0.5 > chances[~begin][1:].max()
    with torch.inference_mode():
        plain = network(inputs(learned["xx"]).float())[:, 0].sigmoid().numpy()
    assert chances == pytest.approx(plain, abs=5e-3)


def test_changed_weights_are_refused(tmp_path, monkeypatch):
    copy = shutil.copytree(MODEL, tmp_path / "copy")
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(weights)
    monkeypatch.setattr(sentence_begins, "MODEL", copy)
    with pytest.raises(ModelError, match="the weights were changed, or belong to another model; copy the folder again"):
        sentence_begins.sentence_begins.__wrapped__("english")


def test_the_card_names_the_weights():
    card, config = (MODEL / "README.md").read_text(), json.loads((MODEL / "config.json").read_text())
    assert file_sha256(MODEL / "model.safetensors") in card
    assert config["training"] == {**vars(Recipe())} and list(config["tokens"]) == NAMES
    assert "python benchmarks/sentence_begins.py --data DIR --out FOLDER" in card
