"""Quality models of UniTE's shape: what training writes, loading reads, and a plain forward of transformers computes alike."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from damage import change, rehash
from identities import identity_of_folder
from safetensors.torch import load_file, save_file
from toy_judgements import write_judgements
from unified_models import ALL, QUIET, RECIPE, data, learned, stopped_at, values  # noqa: F401  a fixture
from unified_oracle import plain_value

from ctx_metrics.engine.checkpoint import read_config, read_weights
from ctx_metrics.engine.tokenizer import TextTokenizer
from ctx_metrics.errors import InputError, ModelError, ResourceError
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator
from ctx_metrics.training.loop import Loop
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.network import new_network, padded, stored
from ctx_metrics.training.quality.unified import DEVIATION, MEAN, TOKENS_A_PASS, UnifiedTask, encoder_kind

INPUTS = ("mt+src", "mt+ref", ALL)
EXAMPLES = [
    Example("the cat sat on the mat", "a cat sat", "old dog"),
    Example("rain", "home river city", "a a a a a a"),
    Example("", "the", "the"),
    Example("light bird", "slow", ""),
]


def test_fused_attention_has_the_values_and_gradients_of_plain_attention(tiny_xlmr):
    """A GPU takes the fused kernel, a CPU the plain one."""
    texts = TextTokenizer(tiny_xlmr)(["the cat sat on the mat", "rain"])
    gradients, values = [], []
    for fused in (False, True):
        torch.manual_seed(1)
        network = new_network(tiny_xlmr, 2, 5, fused=fused).eval().double()
        assert network.encoder.config._attn_implementation == ("sdpa" if fused else "eager")
        ids, mask, types = padded(texts, 1, 12)
        states = network.states(ids, mask.double(), types)
        values.append(torch.einsum("nt,ntw->nw", mask.double(), states[-1]))
        values[-1].square().sum().backward()
        gradients.append(network.encoder.encoder.layer[0].attention.self.query.up.grad)
    torch.testing.assert_close(values[1], values[0], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-9, atol=1e-9)
    assert gradients[0].abs().max() > 1e-4


@pytest.fixture(scope="module")
def models(data, tiny_bert, tiny_xlmr, tmp_path_factory):
    """A model over each kind of encoder: its folder and its encoder's."""
    folders = {}
    for name, encoder in (("bert", tiny_bert), ("xlmr", tiny_xlmr)):
        folders[name] = tmp_path_factory.mktemp("unified") / name, encoder
        learned(encoder, data, folders[name][0])
    return folders


def test_first_weights_may_have_a_lower_rank(models, data, tmp_path, monkeypatch):
    folder, encoder = models["bert"]
    begun = []

    def noted(loop):
        begun.append(loop.task.values(loop.task.development_inputs))
        raise KeyboardInterrupt

    monkeypatch.setattr(Loop, "train", noted)
    for rank in (2, 4):
        with pytest.raises(KeyboardInterrupt):
            learned(encoder, data, tmp_path / str(rank), init=folder, rank=rank)
    assert np.allclose(*begun, atol=1e-5) and begun[0].std() > 0.01
    for other, what in (({"rank": 1}, "give --rank 2 or more"), ({"encoder": models["xlmr"][1]}, "has encoder_ckpt")):
        with pytest.raises(InputError, match=what):
            learned(**{"encoder": encoder, **other}, data=data, out=tmp_path / "1", init=folder)


def with_shares(model, folder, shares):
    """A copy of a model whose ways of reading have other shares in the score."""
    return change(shutil.copytree(model, folder / "shares"), shares=shares)


def test_the_shares_are_those_that_agree_best_with_people(models, data, tmp_path):
    folder, development = models["bert"][0], data[1]
    examples = list(map(Example, development.hypotheses, development.references, development.sources))
    alone = with_shares(folder, tmp_path, [0, 0, 1.0])  # then the third way is not mixed with the others
    of_ways = [values(alone, examples, way) for way in INPUTS]
    shares = json.loads((folder / "config.json").read_text())["shares"]
    assert shares == development.shares(np.array(of_ways).T).tolist() and shares != [0.34, 0.33, 0.33]


@pytest.mark.parametrize("kind", ["bert", "xlmr"])
@pytest.mark.parametrize("inputs", INPUTS)
def test_the_value_is_that_of_a_plain_forward(models, kind, inputs, tmp_path):
    shares = [0.2, 0.5, 0.3]
    folder, encoder = with_shares(models[kind][0], tmp_path, shares), models[kind][1]
    estimator = load_estimator(str(folder), QUIET, inputs)
    found = [estimate.value for estimate in estimator.estimate(EXAMPLES, "")]
    for example, value in zip(EXAMPLES, found):
        ways = INPUTS if inputs == ALL else (inputs,)
        of_ways = [plain_value(folder, encoder, example.texts(way), way.split("+")) for way in ways]
        wanted = np.average(of_ways, weights=shares) if len(ways) == 3 else of_ways[0]
        assert value == pytest.approx(0.0 if "" in example.texts(inputs) else wanted, abs=1e-5)
    alone = [estimator.estimate([example], "")[0].value for example in EXAMPLES]
    assert alone == pytest.approx(found, abs=1e-6)


def test_first_weights_are_those_of_the_folder(models, data, tmp_path, monkeypatch):
    """What a training begins with, before its first step, scores as the model that --init names."""
    folder, encoder = models["xlmr"]
    begun = []

    def stop(loop):
        begun.append(loop.task.network)
        raise KeyboardInterrupt

    monkeypatch.setattr(Loop, "train", stop)
    with pytest.raises(KeyboardInterrupt):
        learned(encoder, data, tmp_path / "next", init=folder)
    given, kept = load_file(folder / "model.safetensors"), stored(begun[0], MEAN, DEVIATION)
    assert given.keys() == kept.keys()
    for name, tensor in given.items():
        torch.testing.assert_close(kept[name], tensor, rtol=1e-3, atol=1e-6, msg=name)


@pytest.mark.full
def test_a_part_of_the_first_weights_is_kept(models, data, tmp_path):
    folder, encoder = models["xlmr"]
    learned(encoder, data, tmp_path / "all", init=folder)
    part = learned(encoder, data, tmp_path / "part", init=folder, init_share=0.25)
    first, after, mixed = (
        load_file(each / "model.safetensors") for each in (folder, tmp_path / "all", tmp_path / "part")
    )
    for name, tensor in mixed.items():
        wanted = 0.25 * first[name].float() + 0.75 * after[name].float()
        torch.testing.assert_close(tensor.float(), wanted, rtol=2e-3, atol=1e-4, msg=name)
    told = part.config["development"]
    assert told["score"] == pytest.approx(np.mean([*told["sets"].values()]))
    assert (part.config["training"]["init"], part.config["training"]["init_share"]) == ("xlmr", 0.25)


def test_a_model_can_start_one_that_reads_fewer_texts(models, data, tmp_path):
    folder, encoder = models["xlmr"]
    path, out = str(write_judgements(tmp_path / "a.tsv", 10, 1)), tmp_path / "source"
    sourced = read_training_set([path], "mt+src"), read_development([path], inputs="mt+src")
    assert sourced[0].references == [None] * len(sourced[0])
    learned(encoder, sourced, out, inputs="mt+src", init=folder)
    assert load_estimator(str(out), QUIET).inputs == "mt+src"
    with pytest.raises(ModelError, match=r"reads the inputs mt\+src, not mt\+ref"):
        load_estimator(str(out), QUIET, "mt+ref")
    with pytest.raises(InputError, match=r"source reads mt\+src, not mt\+src\+ref"):
        learned(encoder, data, tmp_path / "all", init=out)


def test_a_way_without_a_share_is_not_read(models, tmp_path):
    folder = models["xlmr"][0]
    estimator = load_estimator(str(with_shares(folder, tmp_path, [0, 1.0, 0])), QUIET)
    assert [each.value for each in estimator.estimate(EXAMPLES, "")] == values(folder, EXAMPLES, "mt+ref")
    assert list(estimator.combinations) == ["mt+ref"]


def test_what_is_written(models, data):
    folder, encoder = models["xlmr"]
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "ctx-unified" and config["encoder_model"] == "XLM-RoBERTa" and config["rank"] == 2
    others = {"rows": len(data[0]), "init": None, "init_share": 0.0, "dtype": "fp32", "window": None}
    assert config["training"] == {**vars(RECIPE), **others}
    estimator = load_estimator(str(folder), QUIET)
    assert estimator.inputs == "mt+src+ref" and estimator.choices == INPUTS
    assert estimator.signature()["model"] == "xlmr" and estimator.signature()["ckpt"] == identity_of_folder(
        folder, "config.json", "model.safetensors"
    )
    development = data[1]
    examples = [Example(*texts) for texts in zip(development.hypotheses, development.references, development.sources)]
    scores = development.scores(np.array(values(folder, examples)))
    assert scores == pytest.approx(config["development"]["sets"], abs=1e-4)
    tensors = load_file(folder / "model.safetensors")
    assert (tensors["matching.mean"] > 0).all() and (tensors["matching.deviation"] < 1).all()
    # the encoder's words stay where they are
    assert not any("word_embeddings" in name for name in tensors)
    assert "embeddings.word_embeddings.weight" in read_weights(encoder, estimator.encoder.config)


def test_stopped_and_begun_again_it_is_the_same_bit_for_bit(tmp_path, tiny_xlmr, data, models, monkeypatch):
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        stopped_at(patched, 3)
        learned(tiny_xlmr, data, tmp_path / "m")
    assert (tmp_path / "m" / "training-state.safetensors").exists()
    learned(tiny_xlmr, data, tmp_path / "m")
    again, whole = (load_file(folder / "model.safetensors") for folder in (tmp_path / "m", models["xlmr"][0]))
    assert again.keys() == whole.keys() and all(torch.equal(again[name], whole[name]) for name in whole)
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["config.json", "model.safetensors"]


@pytest.mark.full
def test_checks_are_read_in_parts_where_memory_runs_out(tmp_path, tiny_xlmr, data, models, monkeypatch, caplog):
    """The first look at the development data has room for half of it; scores are those of whole batches but for rounding."""
    whole, most = UnifiedTask.outputs, [60]

    def outputs(self, inputs):
        if not self.network.training and inputs[-1] * inputs[0].shape[1] > most[0]:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return whole(self, inputs)

    monkeypatch.setattr(UnifiedTask, "outputs", outputs)
    scores = [check.score for check in learned(tiny_xlmr, data, tmp_path / "m").checks]
    assert any(message.startswith("out of memory on cpu with ") for message in caplog.messages)
    monkeypatch.undo()
    assert scores == pytest.approx([check.score for check in learned(tiny_xlmr, data, tmp_path / "n").checks], abs=1e-3)


def test_a_training_that_does_not_fit_is_one_line(tmp_path, tiny_xlmr, data, monkeypatch):
    def fails(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(UnifiedTask, "loss", fails)
    with pytest.raises(ResourceError, match="give a smaller --ctx-batch-tokens"):
        learned(tiny_xlmr, data, tmp_path / "m")


@pytest.mark.full
def test_a_pass_has_as_many_tokens_as_the_device_takes(models, data, tiny_xlmr, tmp_path, monkeypatch):
    seen = []

    def parts(self, batch, whole=UnifiedTask._parts):
        seen.append([len(part) for part in whole(self, batch)])
        return whole(self, batch)

    monkeypatch.setattr(UnifiedTask, "_parts", parts)
    learned(tiny_xlmr, data, tmp_path / "m")
    learned(tiny_xlmr, data, tmp_path / "n", engine=replace(QUIET, batch_tokens=1))
    half = len(seen) // 2
    assert max(map(len, seen[:half])) == 1  # all 8 rows of a step at once
    assert min(map(len, seen[half:])) > 1 and TOKENS_A_PASS["cpu"] == 2048 < TOKENS_A_PASS["cuda"]


@pytest.fixture
def descents(monkeypatch):
    """The loss and the gradients of each step, all of which start from the same weights, without dropout."""
    found = []

    def descend(self, loss, optimizer):
        found.append(torch.cat([loss[None], *[p.grad.flatten() for p in self.network.parameters() if p.requires_grad]]))
        optimizer.zero_grad()

    monkeypatch.setattr(UnifiedTask, "descend", descend)
    monkeypatch.setattr("ctx_metrics.training.quality.network.DROPOUT", 0.0)
    return found


def of_one_segment(data):
    """All outputs are one segment's, and compared."""
    training, development = data
    return replace(training, groups=["one"] * len(training), centred=np.ones(len(training), bool)), development


@pytest.mark.full
def test_a_segment_that_needs_several_passes_learns_the_same(data, tiny_xlmr, tmp_path, descents):
    """In one pass, or in a pass for each output."""
    for name, most in (("whole", 10_000), ("parts", 1)):
        learned(tiny_xlmr, of_one_segment(data), tmp_path / name, engine=replace(QUIET, batch_tokens=most))
    half = len(descents) // 2
    for whole, parts in zip(descents[:half], descents[half:], strict=True):
        assert torch.allclose(whole, parts, rtol=1e-3, atol=1e-6) and whole[1:].norm() > 0.01


@pytest.mark.full
def test_padding_to_few_shapes_changes_no_gradient(data, tiny_xlmr, tmp_path, monkeypatch, descents):
    shapes = set()

    def outputs(self, inputs, whole=UnifiedTask.outputs):
        shapes.add(tuple(inputs[0].shape))
        return whole(self, inputs)

    monkeypatch.setattr(UnifiedTask, "outputs", outputs)
    learned(tiny_xlmr, data, tmp_path / "few")
    assert len(shapes) < 4
    monkeypatch.setattr(
        "ctx_metrics.training.quality.unified.few_shapes", lambda rows, length, most, device: (rows, length)
    )
    learned(tiny_xlmr, data, tmp_path / "own")
    assert len(shapes) > 4
    half = len(descents) // 2
    for few, own in zip(descents[:half], descents[half:], strict=True):
        assert torch.allclose(few, own, rtol=1e-3, atol=1e-6) and own[1:].norm() > 0.01


@pytest.mark.full
def test_both_rounds_of_a_pass_have_the_same_dropout(data, tiny_xlmr, tmp_path, monkeypatch):
    seen = []

    def outputs(self, inputs, whole=UnifiedTask.outputs):
        [found] = whole(self, inputs)
        if self.network.training:
            seen.append(found.detach())
        return [found]

    monkeypatch.setattr(UnifiedTask, "outputs", outputs)
    monkeypatch.setattr(UnifiedTask, "descend", lambda self, loss, optimizer: optimizer.zero_grad())
    learned(tiny_xlmr, of_one_segment(data), tmp_path / "m", engine=replace(QUIET, batch_tokens=1))
    rounds = torch.cat(seen).view(-1, 2, RECIPE.batch)
    assert torch.equal(rounds[:, 0], rounds[:, 1]) and len(set(rounds.flatten().tolist())) > RECIPE.batch


@pytest.mark.full
def test_bf16_trains_too_and_fp16_is_refused(tmp_path, tiny_xlmr, data):
    trained = learned(tiny_xlmr, data, tmp_path / "m", engine=replace(QUIET, dtype="bf16"))
    assert np.isfinite([check.loss for check in trained.checks]).all()
    with pytest.raises(InputError, match="fp16"):
        learned(tiny_xlmr, data, tmp_path / "n", engine=replace(QUIET, dtype="fp16"))


@pytest.mark.parametrize(
    ("fields", "tensors", "message"),
    [
        ({"encoder_model": "GPT"}, {}, "encoder_model is 'GPT'"),
        ({"inputs": "ref"}, {}, "inputs is 'ref'"),
        ({"rank": 3}, {}, r"does not fit its config.json \(encoder.layer.0.*: \[2, .* and \[3, "),
        ({"rank": None}, {}, "rank is null"),
        *(
            ({"shares": given}, {}, "shares is ")
            for given in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.5, "0"], [1, 1, 1])
        ),
        ({}, {"encoder.layer.0.output.dense.up": None}, "output.dense.up: not there and"),
        ({}, {"layerwise_attention.gamma": torch.ones(2)}, r"layerwise_attention.gamma: \[2\] and \[1\]"),
        (
            {},
            {f"estimator.ff.{'9' * 5000}.weight": torch.zeros(2)},
            rf"\(estimator.ff.{'9' * 67}: \[2\] and not there\)",
        ),
        ({}, {"estimator.ff.x.weight": torch.zeros(2)}, r"estimator.ff.x.weight: \[2\] and not there"),
        ({}, {"estimator.ff.3.bias": None}, "lacks the tensor 'estimator.ff.3.bias'"),
        ({}, {"estimator.ff.0.bias": torch.full((5,), torch.nan)}, "estimator.ff.0.bias is not finite"),
    ],
)
def test_folders_that_cannot_be(tmp_path, models, fields, tensors, message):
    """A copy of a model with another config.json, or other weights, whose hash it has."""
    folder, whole = models["xlmr"][0], load_file(models["xlmr"][0] / "model.safetensors") | tensors
    save_file({name: tensor for name, tensor in whole.items() if tensor is not None}, tmp_path / "model.safetensors")
    shutil.copy(folder / "config.json", tmp_path)
    change(rehash(tmp_path), **fields)
    with pytest.raises(ModelError, match=message) as raised:
        load_estimator(str(tmp_path), QUIET)
    assert "\n" not in str(raised.value)


def test_an_encoder_of_deberta_cannot_be_adapted(tiny_deberta):
    with pytest.raises(ModelError, match="DeBERTa"):
        encoder_kind(read_config(tiny_deberta), TextTokenizer(tiny_deberta))
