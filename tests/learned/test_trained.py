"""Folders that training writes: what is wrong with one is said in one line, and no code in it is run."""

import json
import math
import os
import pickle
import shutil
import stat

import pytest
import torch
from damage import Damage, change, cut, in_turn, line, rehash, weights, without
from identities import identity_of_folder
from learned_folders import TINY, random_network, read, write_learned
from pairwise_folders import write_pairwise
from safetensors.torch import load_file, save_file

from ctx_metrics import COMET, SLIDE
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import ModelError
from ctx_metrics.learned.estimator import kind_of, load_learned
from ctx_metrics.models.estimator import EMBEDDED_FOLDER, Example
from ctx_metrics.models.folder import FIELDS, load_weights, read_config, write_model
from ctx_metrics.models.load import load_estimator
from ctx_metrics.models.regressor import CONFIG_KIND
from ctx_metrics.opening import file_sha256

QUIET, NAN = EngineOptions(quiet=True), math.nan
EXAMPLE = Example("the cat sat", "a cat sat on the mat", "the old cat")


@pytest.fixture
def folder(tmp_path, tiny_bert):
    return write_learned(tmp_path / "mine", "esim", tiny_bert)


@pytest.fixture
def regressor(tmp_path):
    return shutil.copytree(EMBEDDED_FOLDER, tmp_path / "regressor")


def message(folder, kind="esim") -> str:
    """What loading says, whichever metric is given the folder."""
    loads = [lambda: load_learned(kind, str(folder), QUIET), lambda: load_estimator(str(folder), QUIET)]
    config = read(folder)
    if config.get("model_type") == CONFIG_KIND:
        loads = loads[1:]
    elif kind_of(config) is None:
        loads = loads[:1]
    [said] = {line(load, folder) for load in loads}
    assert len(said) < 250, said
    return said


def test_a_sound_folder_scores(folder):
    (found,) = load_learned("esim", str(folder), QUIET).estimate([EXAMPLE], "test")
    assert math.isfinite(found.value)
    for metric in (COMET, SLIDE):
        used = metric(model=str(folder), engine=QUIET)
        assert used.estimator.estimate([EXAMPLE], "test") == [found]
        score = used.corpus_score([EXAMPLE.hypothesis], [[EXAMPLE.reference]])
        assert score.score == pytest.approx(100 * found.value, abs=1e-6)
    by_source = COMET(sources=[EXAMPLE.source], model=str(change(folder, inputs="mt+src")), engine=QUIET)
    assert by_source.num_refs == 0 and "sources" in by_source.can.reads
    assert by_source.corpus_score([EXAMPLE.hypothesis]).score != score.score


def test_weights_in_half_precision_are_read(folder, tmp_path, tiny_bert):
    whole = load_learned("esim", str(folder), QUIET).estimate([EXAMPLE], "test")[0].value
    halves = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(halves, folder / "model.safetensors")
    estimator = load_learned("esim", str(rehash(folder)), QUIET)
    assert {parameter.dtype for parameter in estimator.network.parameters()} == {torch.float32}
    found = estimator.estimate([EXAMPLE], "test")[0].value
    assert found != whole and found == pytest.approx(whole, abs=0.01)


def test_code_is_not_run(folder, tmp_path):
    marker = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(marker),)

    for data in (pickle.dumps(Evil()), b"not tensors", b""):
        (folder / "model.safetensors").write_bytes(data)
        assert "model.safetensors does not fit its config.json" in message(rehash(folder))
    torch.save(Evil(), folder / "model.safetensors")
    assert "model.safetensors does not fit its config.json" in message(rehash(folder))
    assert not marker.exists()
    (folder / "model.safetensors").rename(tmp_path / "model.bin")
    torch.load(tmp_path / "model.bin", weights_only=False)
    assert marker.exists()  # so the file does hold code that runs


# what is wrong with a folder


def tensor(name: str, value: torch.Tensor | None) -> Damage:
    """Give the folder's weights another tensor of a name, or none."""
    return in_turn(weights(name, lambda _: value), rehash)


def one_bit(folder):
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)


def fields(**changed) -> Damage:
    return lambda folder: change(folder, **changed)


def lacking(name: str) -> Damage:
    return lambda folder: change(folder, without=[name])


def sizes(**changed) -> Damage:
    return lambda folder: change(folder, network={**read(folder)["network"], **changed})


NO_FIT = "model.safetensors does not fit its config.json"
OTHER_TYPES = {
    "encoder": [["x"]],
    "encoder_ckpt": [3],
    "languages": ["en"],
    "layers": ["1,2,3", None],
    "network": [[8]],
    "weights_sha256": [True],
    "inputs": [None],
    "max_length": [3.5, True],
    "empty_value": ["-1", True],
}
DISTINCT = "are not distinct numbers up to its encoder's 3 layers"
FAULTS = [
    # weights
    (one_bit, "the weights were changed, or belong to another model"),
    (in_turn(cut("model.safetensors", 0.5), rehash), NO_FIT),
    (
        in_turn(without("model.safetensors"), lambda folder: (folder / "model.safetensors").mkdir()),
        "cannot read FOLDER/model.safetensors: Is a directory",
    ),
    (tensor("mix.gamma", None), "mix.gamma"),
    (tensor("odd", torch.zeros(2)), "odd"),
    *((tensor("mix.gamma", torch.tensor(number)), "mix.gamma is not finite everywhere") for number in (NAN, math.inf)),
    # fields
    *((lacking(name), f"FOLDER/config.json lacks {name}, which") for name in OTHER_TYPES),
    *(
        (fields(**{name: value}), f"FOLDER/config.json: {name} is {json.dumps(value)}, which is not valid")
        for name, values in OTHER_TYPES.items()
        for value in values
    ),
    (lacking("model_type"), "holds no esim model"),
    *((fields(model_type=kind), "holds no esim model") for kind in (3, {"ctx-esim": 1})),
    (fields(inputs="mt+src+ref"), "inputs is 'mt+src+ref'"),
    (fields(max_length=0), "max_length is 0"),
    (fields(empty_value=NAN), "empty_value is nan"),
    (fields(empty_value=10**400), "empty_value is over 1e60"),
    (fields(layers=[1, 2]), "it names 2 layers, but its network has 3"),
    *((fields(layers=[1, 2, last]), DISTINCT) for last in (4, 2, -1, "3", True)),
    *((fields(layers=layers), DISTINCT) for layers in ([[1], {}, None], list(range(400)))),
    (fields(encoder="./no/such/folder"), "its encoder './no/such/folder' cannot be used: no model folder"),
    (fields(encoder=""), "its encoder '' cannot be used: the name of the model is empty"),
    # sizes; a network of the last two would have 4 and 13 GB
    *(
        (sizes(**{name: size}), NO_FIT)
        for name, size in [("hidden", 9), ("pooling", "avg"), ("width", 47), ("layers", 4)]
    ),
    *((sizes(**{name: size}), NO_FIT) for name, size in [("layers", 10**9), ("hidden", 20_000)]),
    *((sizes(hidden=size), f"its network's hidden is {size}, not a size") for size in (0, 8.0, True)),
    (sizes(feedforward="7" * 500), "its network's feedforward is '777"),
    *((sizes(hidden=size), "its network is not valid: ") for size in (10**15, 10**40)),
    (sizes(pooling=["avg"]), "its network is not valid: pooling ['avg'] is not one of both, avg, max"),
    *((sizes(dropout=rate), "its network is not valid: ") for rate in (1.5, "half", None)),
    (sizes(dropout=NAN), "its network's dropout is nan, which is not valid"),
    (sizes(extra=1), "its network has to name layers, width, hidden,"),
    (lambda folder: change(folder, network={"layers": 3}), "look at width"),
]
OF_REGRESSORS = [
    (one_bit, "the weights were changed"),
    *((lacking(name), f"lacks {name}, which `ctx-metrics train` writes") for name in FIELDS if name != "model_type"),
    (fields(layers=[3, 4, 7]), "[3, 4, 7] are not distinct numbers up to its"),
    (fields(layers=[3, 6]), "it names 2 layers, but its network has 3"),
    (fields(encoder_ckpt="0" * 12), "was trained on an encoder that hashes to 000000000000"),
    (sizes(features=10**9), NO_FIT),
    (sizes(pooled_dropout=NAN), "its network's dropout is nan, which is not valid"),
    *((sizes(**{name: number}), "its network is not valid: ") for name, number in (("features", "many"), ("odd", 1))),
    (
        # two layers make 11 features, and this network reads 14
        in_turn(fields(layers=[3, 6]), sizes(layers=2), tensor("pooled.mix", torch.zeros(2))),
        "its network reads 14 features, and its layers make 11",
    ),
]


@pytest.mark.parametrize(("damage", "words"), FAULTS)
def test_faults_of_a_network(folder, damage, words, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    damage(folder)
    assert words in message(folder)


@pytest.mark.parametrize(("damage", "words"), OF_REGRESSORS)
def test_faults_of_a_regressor(regressor, damage, words):
    damage(regressor)
    assert words in message(regressor)


def test_sizes_of_another_encoder(folder, tmp_path, tiny_bert):
    """Weights and sizes agree, and the encoder is another."""
    other = write_learned(tmp_path / "wide", "esim", tiny_bert, type(TINY)(3, 40, 8, 6, 7))
    assert "its network has width 40, but its encoder 48" in message(other)


NO_JSON = [b"", b"\xef\xbb\xbf{}", b"\xff\xfe{", b"[" * 200_000]


@pytest.mark.parametrize("data", [*NO_JSON, b"[1]", b'"ctx-esim"', b"null"])
def test_config_that_is_no_json_object(folder, data):
    (folder / "config.json").write_bytes(data)
    for load in (lambda: load_learned("esim", str(folder), QUIET), lambda: load_estimator(str(folder), QUIET)):
        said = line(load, folder)
        kind = "holds no readable config.json" if data in NO_JSON else "config.json is not a JSON object"
        assert kind in said and "not a trained model" in said


def test_no_config(folder):
    (folder / "config.json").unlink()
    said = line(lambda: load_learned("esim", str(folder), QUIET), folder)
    assert said.endswith("name one that `ctx-metrics train` wrote")
    said = line(lambda: load_estimator(str(folder), QUIET), folder)
    assert "holds neither a COMET checkpoint" in said and "nor a trained regressor (config.json)" in said


def test_another_encoder(folder, tmp_path, tiny_bert):
    ckpt = read(folder)["encoder_ckpt"]
    changed = shutil.copytree(tiny_bert, tmp_path / "bert")
    weights = load_file(changed / "model.safetensors")
    save_file({name: tensor * 1.01 for name, tensor in weights.items()}, changed / "model.safetensors")
    said = message(change(folder, encoder=str(changed)))
    assert f"was trained on an encoder that hashes to {ckpt}, but " in said.replace(str(changed), "")
    change(folder, encoder=str(shutil.copytree(tiny_bert, tmp_path / "moved")))  # the same weights elsewhere
    assert load_learned("esim", str(folder), QUIET).encoder.checkpoint.folder == tmp_path / "moved"


# names


def test_a_config_that_lies_about_the_kind(folder):
    assert "does not fit its config.json" in message(change(folder, model_type="ctx-bilstm"), "bilstm")


def test_models_that_are_none_of_the_three(regressor, tmp_path):
    pairwise = write_pairwise(tmp_path / "pairwise")
    for folder, fix in (
        (regressor, "a regressor: use the metric comet"),
        (pairwise, "a pairwise model: use the metric"),
    ):
        said = line(lambda folder=folder: load_learned("esim", str(folder), QUIET), folder)
        assert said.startswith(f"FOLDER holds no esim model, but {fix}")
    with pytest.raises(ModelError, match="the name of the model is empty"):
        load_learned("esim", "", QUIET)


def test_a_model_of_the_hub(folder, monkeypatch, tmp_path):
    snapshot = folder.rename(tmp_path / "0123456789abcdef0123456789abcdef01234567")
    asked = []
    monkeypatch.setattr(
        "ctx_metrics.learned.estimator.hub_folder", lambda name, kind: asked.append(name) or ("owner/name", snapshot)
    )
    estimator = load_learned("esim", "owner/name@v1", QUIET)
    ckpt = identity_of_folder(snapshot, "config.json", "model.safetensors")
    assert asked == ["owner/name@v1"]
    assert estimator.model.signature() == {"model": "owner/name", "rev": "0123456789ab", "ckpt": ckpt}
    assert math.isfinite(estimator.estimate([EXAMPLE], "test")[0].value)


def test_embedded_is_the_kinds_own_folder(tmp_path, tiny_bert, monkeypatch):
    monkeypatch.setattr("ctx_metrics.learned.estimator.EMBEDDED_FOLDER", tmp_path / "embedded" / "regressor")
    for kind in ("bilstm", "esim"):
        write_learned(tmp_path / "embedded" / kind, kind, tiny_bert)
    for name in (None, "embedded"):
        for kind in ("bilstm", "esim"):
            estimator = load_learned(kind, name, QUIET)
            assert estimator.kind == kind and estimator.signature()["model"] == f"embedded-{kind}"


# writing


def test_what_is_written_is_read(tmp_path):
    network = random_network("bilstm")
    write_model(tmp_path / "new" / "model", {"a": "ä"}, network.state_dict())
    folder = tmp_path / "new" / "model"
    assert read_config(folder) == {"a": "ä", "weights_sha256": file_sha256(folder / "model.safetensors")}
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    other = random_network("bilstm", seed=1).train()
    load_weights(folder, other)
    assert not other.training
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), other.parameters()))
    assert stat.S_IMODE((folder / "model.safetensors").stat().st_mode) == 0o644


def test_views_are_written_whole(tmp_path):
    """safetensors refuses tensors that are not contiguous."""
    write_model(tmp_path, {}, {"w": torch.arange(6.0).reshape(2, 3).T})
    assert load_file(tmp_path / "model.safetensors")["w"].tolist() == [[0, 3], [1, 4], [2, 5]]
