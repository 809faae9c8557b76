"""Training a paraphrase classifier: low-rank changes, the figures, the split, and what is learned."""

import json
import logging
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from classifiers import PAIRS
from safetensors.torch import load_file
from torch import nn

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ResourceError
from ctx_metrics.pseudo_references.paraphrase import classifier
from ctx_metrics.pseudo_references.paraphrase import learn as paraphrase
from ctx_metrics.pseudo_references.paraphrase.classifier import ParaphraseClassifier, load_tokenizer
from ctx_metrics.pseudo_references.paraphrase.data import LabelledPairs, joined, read_labelled, split
from ctx_metrics.pseudo_references.paraphrase.learn import ParaphraseTask, figures, learn, write_model
from ctx_metrics.pseudo_references.paraphrase.pair_classifier import new_classifier, new_pair_classifier
from ctx_metrics.pseudo_references.paraphrase.recipe import ADAPTED
from ctx_metrics.training.low_rank import LowRankLinear, learned, merge

QUIET = EngineOptions(quiet=True)
SMALL = replace(ADAPTED, rank=4, learning_rate=3e-3, epochs=2, batch=8)


def toy(rows: int, seed: int) -> LabelledPairs:
    """A pair is a paraphrase where both sentences are of the same word: the cat cat / a cat."""
    random = np.random.default_rng(seed)
    words = ["cat", "dog", "rain", "river", "city", "bird"]
    pairs, labels = [], []
    for _ in range(rows):
        one, other = random.choice(words, 2, replace=False)
        label = int(random.random() < 0.5)
        pairs.append((f"the {one} {one}", f"a {one if label else other} {one if label else other}"))
        labels.append(label)
    return LabelledPairs(pairs, np.array(labels))


TRAIN, DEV = toy(64, 1), toy(24, 2)


def test_a_low_rank_layer_begins_as_the_layer_and_ends_as_one_layer():
    torch.manual_seed(1)
    linear, states = nn.Linear(6, 4), torch.randn(3, 6)
    before = linear(states)
    layer = LowRankLinear(linear, 2)
    assert layer.down.shape == (2, 6) and layer.up.shape == (4, 2) and torch.equal(layer(states), before)
    with torch.no_grad():
        layer.up += torch.randn(4, 2)
    # x (W + B A)^T + bias, spelt out
    wanted = states @ (linear.weight + layer.up @ layer.down).T + linear.bias
    changed = layer(states)
    assert torch.allclose(changed, wanted, atol=1e-6) and not torch.allclose(changed, before, atol=0.1)
    merged = layer.merged()
    assert type(merged) is nn.Linear and torch.allclose(merged(states), wanted, atol=1e-6)


def test_what_is_trained_of_an_adapted_classifier(tiny_bert):
    network = new_classifier(tiny_bert, 3)
    names = set(learned(network))
    assert sum(name.endswith(".down") for name in names) == 18
    # by hand: a layer has 4 layers 48 x 48 and two 48 x 96; rank 3 of them 3 (48 + 48) and 3 (48 + 96) numbers
    matrices = [tensor for name, tensor in learned(network).items() if name.endswith((".down", ".up"))]
    assert sum(map(torch.numel, matrices)) == 3 * (4 * 3 * 96 + 2 * 3 * 144)
    others = {name for name in names if not name.endswith((".down", ".up"))}
    assert {"compare.weight", "classify.weight", "encoder.embeddings.LayerNorm.bias"} <= others
    assert "encoder.encoder.layer.2.output.dense.linear.bias" in others and not any("pooler" in name for name in others)
    assert not any(name.endswith(("linear.weight", "embeddings.weight")) for name in others)
    merge(network)
    assert not any(isinstance(module, LowRankLinear) for module in network.modules())
    assert set(network.state_dict()) == set(new_pair_classifier(tiny_bert).state_dict())


def test_an_encoder_without_linear_layers_cannot_be_adapted(tmp_path, tiny_bert, monkeypatch):
    with pytest.raises(InputError, match="rank 49 is more than the encoder's width, 48; choose a lower one"):
        new_classifier(tiny_bert, 49)
    monkeypatch.setattr("ctx_metrics.pseudo_references.paraphrase.pair_classifier.adapt", lambda network, rank: 0)
    with pytest.raises(InputError, match="no linear layers that could be adapted; train it whole with --rank 0"):
        new_classifier(tiny_bert, 2)


def test_the_head_compares_the_means_of_both_sentences(tiny_bert):
    torch.manual_seed(3)
    network = new_pair_classifier(tiny_bert).eval()
    pair = load_tokenizer(tiny_bert)(*PAIRS[1], return_tensors="pt")
    with torch.inference_mode():
        found = network(**pair).logits[0]
        zeros = torch.zeros_like(pair["input_ids"])
        states = network.encoder(pair["input_ids"], token_type_ids=zeros).last_hidden_state[0]
    second = pair["token_type_ids"][0].bool()
    u, v = (states[rows].mean(0) for rows in (~second, second))  # [CLS] the red dog ran home [SEP], the river [SEP]
    assert (~second).sum() == 7 and second.sum() == 3
    u, v = (48**0.5 * each / each.norm() for each in (u, v))
    features = torch.cat([states[0], (u - v).abs(), u * v, (u @ v / (2 * 48**0.5))[None]])
    hidden = torch.tanh(network.compare.weight @ features + network.compare.bias)
    wanted = network.classify.weight @ hidden + network.classify.bias
    assert torch.allclose(found, wanted, atol=1e-4)


def test_tokenizers_that_mark_no_second_sentence_cannot_be_adapted(tiny_roberta):
    with pytest.raises(InputError, match=r"marks no second sentence \(token types\), which low-rank changes need"):
        learn(str(tiny_roberta), SMALL, TRAIN, DEV, engine=QUIET)
    assert learn(str(tiny_roberta), replace(SMALL, rank=0, epochs=1), TRAIN, DEV, engine=QUIET).best == 0


def test_figures():
    # .5 is not above .5. Called: 1st and 4th; true: 1st, 2nd. tp 1: F1 = 2 / (2 + 2); 2 of 5 wrong
    found = figures([0.9, 0.5, 0.1, 0.6, 0.2], np.array([1, 1, 0, 0, 0]))
    # the paraphrases' .9 beats three others; .5 beats .1 and .2
    assert found == {"accuracy": 0.6, "f1": 0.5, "auc": pytest.approx(5 / 6)}
    nothing = figures([0.1, 0.2], np.array([0, 0]))
    assert nothing["accuracy"] == 1 and math.isnan(nothing["f1"]) and math.isnan(nothing["auc"])


def test_split_is_the_seeds_and_keeps_all_rows_in_order():
    rows = LabelledPairs([(str(number), "x") for number in range(50)], np.arange(50) % 2)
    train, dev = split(rows, 0.2, seed=3)
    assert len(train) == 40 and len(dev) == 10
    numbers = [[int(pair[0]) for pair in part.pairs] for part in (train, dev)]
    assert sorted(numbers[0] + numbers[1]) == list(range(50)) and all(part == sorted(part) for part in numbers)
    for part, of_part in zip((train, dev), numbers):
        assert part.labels.tolist() == [number % 2 for number in of_part]
    again, other = split(rows, 0.2, seed=3)[1], split(rows, 0.2, seed=4)[1]
    assert again.pairs == dev.pairs != other.pairs
    for share in (0.001, 0.999):
        with pytest.raises(InputError, match="of 50 pairs leaves one part empty"):
            split(rows, share, seed=1)
    both = joined([train, dev])
    assert both.pairs == train.pairs + dev.pairs and both.labels.tolist() == [*train.labels, *dev.labels]


def test_files_of_pairs(tmp_path):
    mrpc = tmp_path / "mrpc.txt"
    mrpc.write_text(
        '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\tHe said "no.\tHe "said no"\r\n0\t9\t3\ta\tb\r\n'
    )
    found = read_labelled(str(mrpc))
    assert found.pairs == [('He said "no.', 'He "said no"'), ("a", "b")] and found.labels.tolist() == [1, 0]
    graded = tmp_path / "graded.tsv"
    graded.write_text("sentence1\tsentence2\tscore\na\tb\t3.5\nc\td\t1\n")
    with pytest.raises(InputError, match="its scores are grades"):
        read_labelled(str(graded))


@pytest.mark.full
def test_the_same_seed_gives_the_same_weights_and_another_others(tiny_bert):
    data, development = TRAIN.part(range(24)), DEV.part(range(8))

    def weights(**more) -> dict:
        return learned(learn(str(tiny_bert), replace(SMALL, **more), data, development, engine=QUIET).network)

    one, two = weights(), weights()
    assert all(torch.equal(one[name], two[name]) for name in one)
    for more in ({"seed": 2}, {"swap": False}, {"weight_decay": 0.5}, {"clip": 0.01}, {"batch": 16}):
        other = weights(**more)
        assert any(not torch.equal(one[name], other[name]) for name in one), more


@pytest.mark.full
@pytest.mark.parametrize("recipe", [SMALL, replace(SMALL, rank=0)])
def test_what_is_written_gives_the_probabilities_that_the_training_saw(tmp_path, tiny_bert, recipe):
    done = learn(str(tiny_bert), recipe, TRAIN, DEV, engine=QUIET)
    out = tmp_path / "out"
    out.mkdir()
    write_model(done, recipe, out, str(tiny_bert), {})
    classifier = ParaphraseClassifier(str(out), QUIET)
    found = classifier.probabilities(DEV.pairs)
    tokenizer = load_tokenizer(tiny_bert)
    for pair, value in list(zip(DEV.pairs, found))[:6]:
        with torch.inference_mode():
            alone = done.network(**tokenizer(*pair, return_tensors="pt")).logits[0].softmax(-1)[1]
        assert value == pytest.approx(float(alone), abs=1e-5)
    assert figures(found, DEV.labels) == pytest.approx(done.development)
    config = json.loads((out / "config.json").read_text())
    if recipe.rank:
        assert config["rank"] == 4 and config["encoder"] == str(tiny_bert) and config["training"]["seed"] == 1
        assert all(t.dtype == torch.float16 for t in load_file(out / "model.safetensors").values() if t.dim() > 1)
    else:
        assert config["architectures"] == ["BertForSequenceClassification"]
        assert config["id2label"] == {"0": "not_paraphrase", "1": "paraphrase"}
        assert (out / "tokenizer.json").exists() and str(tiny_bert.parent) not in (out / "config.json").read_text()


@pytest.mark.full
def test_it_learns_what_can_be_learned(tiny_bert):
    words = ["cat", "rain", "city", "dog", "river", "bird"]
    pairs = [(f"the {words[k % 6]} {words[k // 6 % 6]}", "a tree") for k in range(72)]
    data = LabelledPairs(pairs, np.array([int(k % 6 < 3) for k in range(72)]))  # the first noun tells
    recipe = replace(SMALL, epochs=20, learning_rate=5e-3, swap=False)
    done = learn(str(tiny_bert), recipe, data, data.part(range(0, 72, 5)), engine=QUIET)
    assert done.development["accuracy"] == done.development["auc"] == 1 and done.checks[-1].loss < 0.2


@pytest.mark.full
def test_the_best_epoch_is_kept_and_patience_ends_the_training(tiny_bert, monkeypatch):
    recipe = replace(SMALL, epochs=6, patience=2)
    script = iter([0.5, 0.7, 0.7, 0.6, 0.9, 0.9])
    weights = []

    def values(self, pairs):
        if len(weights) < 6:
            weights.append({name: tensor.clone() for name, tensor in learned(self.network).items()})
        accuracy = next(script)
        right = round(accuracy * 10)
        return np.where(np.arange(10) < right, labels, 1 - labels).astype(float)

    labels = np.array([0, 1] * 5)
    development = LabelledPairs([("a", "b")] * 10, labels)
    monkeypatch.setattr(ParaphraseTask, "values", values)
    done = learn(str(tiny_bert), recipe, TRAIN, development, engine=QUIET)
    # epochs 3 and 4 are no better than the second, which is the first of equals
    assert [check.accuracy for check in done.checks] == [0.5, 0.7, 0.7, 0.6] and done.best == 1
    kept = learned(done.network)
    for name, tensor in weights[1].items():
        assert torch.equal(kept[name], tensor.half().float() if tensor.dim() > 1 else tensor), name
    assert any(not torch.equal(weights[1][name], weights[2][name]) for name in kept)


@pytest.mark.full
def test_memory_that_runs_out(tiny_bert, monkeypatch, caplog):
    """A step that does not fit ends with one line; development pairs that do not fit are read in parts."""
    whole = paraphrase.batch_of

    def batch_of(tokenizer, encodings, device):
        if len(encodings) > 8:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return whole(tokenizer, encodings, device)

    def trained(batch):
        return learn(str(tiny_bert), replace(SMALL, epochs=1, batch=batch), TRAIN, DEV, engine=QUIET)

    expected = trained(8)
    for module in (paraphrase, classifier):
        monkeypatch.setattr(module, "batch_of", batch_of)
    assert trained(8).checks[0].auc == pytest.approx(expected.checks[0].auc, abs=1e-3)
    assert caplog.messages[-1].startswith("out of memory on cpu with ")
    with pytest.raises(ResourceError, match="too little memory for the training"):
        trained(16)


def test_pairs_are_turned_round_in_about_half_of_all_cases(tiny_bert, monkeypatch):
    seen = []
    whole = paraphrase.batch_of

    def batch_of(tokenizer, encodings, device):
        seen.extend(tuple(each["input_ids"]) for each in encodings)
        return whole(tokenizer, encodings, device)

    for module in (paraphrase, classifier):
        monkeypatch.setattr(module, "batch_of", batch_of)
    tokenizer = load_tokenizer(tiny_bert)
    forward = {tuple(tokenizer(*pair)["input_ids"]) for pair in TRAIN.pairs}
    backward = {tuple(tokenizer(*pair[::-1])["input_ids"]) for pair in TRAIN.pairs}
    learn(str(tiny_bert), replace(SMALL, epochs=1), TRAIN, DEV, engine=QUIET)
    first = seen[: len(TRAIN)]
    turned = sum(ids in backward for ids in first)
    assert set(first) <= forward | backward and 16 < turned < 48
    seen.clear()
    learn(str(tiny_bert), replace(SMALL, epochs=1, swap=False), TRAIN, DEV, engine=QUIET)
    assert set(seen[: len(TRAIN)]) == forward


@pytest.mark.full
def test_the_rate_rises_and_falls_and_vectors_have_no_decay(tiny_bert, monkeypatch):
    rates = []
    step = torch.optim.AdamW.step

    def noted(self, *args, **kwargs):
        rates.append([group["lr"] for group in self.param_groups])
        decays.update((len(p.shape) > 1, g["weight_decay"]) for g in self.param_groups for p in g["params"])
        return step(self, *args, **kwargs)

    decays = set()
    monkeypatch.setattr(torch.optim.AdamW, "step", noted)
    learn(str(tiny_bert), replace(SMALL, epochs=5, learning_rate=1.0e-3), TRAIN, DEV, engine=QUIET)
    # 5 epochs of 8 steps: up in the first 4 steps, then down over 36
    assert len(rates) == 40 and all(one == two for one, two in rates)
    assert [one for one, _ in rates[:6]] == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3, 1e-3, 1e-3, 1e-3 * 35 / 36])
    assert rates[-1][0] == pytest.approx(1e-3 / 36) and decays == {(True, 0.01), (False, 0.0)}


def test_settings_that_cannot_be(tiny_bert, caplog):
    with pytest.raises(InputError, match=r"the loss of step \d+ is (nan|inf); lower the learning rate"):
        learn(str(tiny_bert), replace(SMALL, learning_rate=1e30, epochs=9), TRAIN, DEV, engine=QUIET)
    long = LabelledPairs([("cat " * 9, "dog " * 9), *PAIRS], np.array([1, 0, 1, 0, 1, 0, 1]))
    with caplog.at_level(logging.WARNING, "ctx_metrics"):
        learn(str(tiny_bert), replace(SMALL, max_length=15, epochs=1), long, DEV, engine=QUIET)
    assert [r.getMessage() for r in caplog.records if r.name == "ctx_metrics"] == [
        "2 pairs were truncated to 15 tokens, of 7 training pairs"
    ]


def test_bf16_trains_in_bf16_and_reads_in_fp32(tiny_bert, monkeypatch):
    seen = set()
    linear = nn.functional.linear

    def noted(states, *more):
        found = linear(states, *more)
        seen.add((torch.is_grad_enabled(), found.dtype))
        return found

    monkeypatch.setattr(nn.functional, "linear", noted)
    done = learn(str(tiny_bert), replace(SMALL, epochs=1), TRAIN, DEV, engine=EngineOptions(quiet=True, dtype="bf16"))
    assert seen == {(True, torch.bfloat16), (False, torch.float32)}
    assert all(parameter.dtype == torch.float32 for parameter in done.network.parameters())
