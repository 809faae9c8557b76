"""Folders that training writes: what is wrong with one is said in one line, and no code in it is run."""

import json
import math
import os
import pickle
import shutil
import stat

import pytest
import torch
from damage import change, rehash
from identities import identity_of_folder
from learned_folders import TINY, random_network, read, write_learned
from pairwise_folders import write_pairwise
from safetensors.torch import load_file, save_file

from ctx_metrics import COMET, SLIDE
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.learned.estimator import kind_of, load_learned
from ctx_metrics.learned.regressor import CONFIG_KIND, AlignmentRegressor
from ctx_metrics.models.estimator import EMBEDDED_FOLDER, Example
from ctx_metrics.models.folder import FIELDS, load_weights, read_config, write_model
from ctx_metrics.models.load import load_estimator
from ctx_metrics.opening import file_sha256

QUIET = EngineOptions(quiet=True)
EXAMPLE = Example("the cat sat", "a cat sat on the mat", "the old cat")
EVERY_FIELD = [*FIELDS, "inputs", "max_length", "empty_value"]


@pytest.fixture
def folder(tmp_path, tiny_bert):
    return write_learned(tmp_path / "mine", "esim", tiny_bert)


@pytest.fixture
def regressor(tmp_path):
    return shutil.copytree(EMBEDDED_FOLDER, tmp_path / "regressor")


def checked(caught, folder) -> str:
    """The line, without the folder's path, which it has to name."""
    text = str(caught.value)
    assert "\n" not in text and str(folder) in text, text
    rest = text.replace(str(folder), "FOLDER")
    assert len(rest) < 250, rest
    return rest


def message(folder, kind="esim") -> str:
    """What loading says, whichever metric is given the folder."""
    with pytest.raises(ModelError) as caught:
        load_learned(kind, str(folder), QUIET)
    said = checked(caught, folder)
    for metric in (COMET, SLIDE):
        with pytest.raises(ModelError) as caught:
            metric(model=str(folder), engine=QUIET)
        if kind_of(read(folder)):
            assert checked(caught, folder) == said
    return said


def regressor_message(folder) -> str:
    with pytest.raises(ModelError) as caught:
        load_estimator(str(folder), QUIET)
    return checked(caught, folder)


def change_weights(folder, without=(), **tensors):
    found = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    found = {name: tensor for name, tensor in {**found, **tensors}.items() if name not in without}
    save_file(found, folder / "model.safetensors")
    return folder


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


# weights


def test_altered_weights(folder, regressor):
    for of in (folder, regressor):
        with open(of / "model.safetensors", "r+b") as file:
            file.seek(-1, os.SEEK_END)
            [last] = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last ^ 1]))
    assert "model.safetensors hashes to" in message(folder)
    assert "the weights were changed, or belong to another model; copy the folder again" in message(folder)
    assert "the weights were changed" in regressor_message(regressor)


def test_weights_cut_short(folder):
    path = folder / "model.safetensors"
    os.truncate(path, path.stat().st_size // 2)
    assert "the weights were changed" in message(folder)
    assert "model.safetensors does not fit its config.json" in message(rehash(folder))


def test_no_weights(folder):
    (folder / "model.safetensors").unlink()
    assert message(folder).startswith("cannot read FOLDER/model.safetensors: No such file")
    (folder / "model.safetensors").mkdir()
    assert message(folder).startswith("cannot read FOLDER/model.safetensors: Is a directory")


@pytest.mark.parametrize("without, more, named", [(["mix.gamma"], {}, "mix.gamma"), ([], {"odd": 1}, "odd")])
def test_missing_and_unexpected_tensors(folder, without, more, named):
    change_weights(folder, without, **{name: torch.zeros(2) for name in more})
    said = message(rehash(folder))
    assert (
        "model.safetensors does not fit its config.json" in said and named in said and "copy the folder again" in said
    )


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_none(folder, number):
    weights = load_file(folder / "model.safetensors")["encoder.weight_hh_l0"].clone()
    weights[3, 2] = number
    change_weights(folder, **{"encoder.weight_hh_l0": weights})
    said = message(rehash(folder))
    assert said == "FOLDER/model.safetensors: encoder.weight_hh_l0 is not finite everywhere; train the model again"


def test_weights_in_half_precision_are_read(folder, tmp_path, tiny_bert):
    whole = load_learned("esim", str(folder), QUIET).estimate([EXAMPLE], "test")[0].value
    halves = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    change_weights(folder, **halves)
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


# config.json


def test_a_missing_field(folder, regressor):
    """In a network's folder, and in a regressor's."""
    sound = [(of, read(of), names) for of, names in ((folder, EVERY_FIELD), (regressor, FIELDS))]
    for of, config, names in sound:
        for name in set(names) - {"model_type"}:
            (of / "config.json").write_text(json.dumps({key: config[key] for key in config if key != name}))
            said = message(of) if of == folder else regressor_message(of)
            assert said == f"FOLDER/config.json lacks {name}, which `ctx-metrics train` writes"
    assert "holds no esim model" in message(change(folder, without=["model_type"]))


OTHER_TYPES = {
    "model_type": [3, None, ["ctx-esim"], {"ctx-esim": 1}],
    "encoder": [None, 3, ["x"]],
    "encoder_ckpt": [None, 3],
    "languages": ["en", 3, {"en": 1}],
    "layers": [None, 3, "1,2,3", {"1": 2}],
    "network": [None, 3, "big", [8]],
    "weights_sha256": [None, 3, True],
    "inputs": [None, 3, ["mt+ref"]],
    "max_length": [None, 3.5, "20", True, [20]],
    "empty_value": [None, "-1", True, [0.5]],
}


@pytest.mark.parametrize("name", EVERY_FIELD)
def test_a_field_of_another_type(folder, name):
    for value in OTHER_TYPES[name]:
        said = message(change(folder, **{name: value}))
        if name == "model_type":
            assert "holds no esim model" in said
        else:
            assert said == f"FOLDER/config.json: {name} is {json.dumps(value)}, which cannot be; copy the folder again"


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"inputs": "mt"}, "inputs is 'mt', which cannot be"),
        ({"inputs": "mt+src+ref"}, "inputs is 'mt+src+ref'"),
        ({"max_length": 0}, "max_length is 0"),
        ({"max_length": -5}, "max_length is -5"),
        ({"empty_value": math.nan}, "empty_value is nan"),
        ({"empty_value": -math.inf}, "empty_value is -inf"),
        ({"empty_value": 10**400}, "empty_value is over 1e60"),
        ({"layers": []}, "it names 0 layers, and a network of 3"),
        ({"layers": [1, 2]}, "it names 2 layers, and a network of 3"),
        ({"layers": [1, 2, 4]}, "layers [1, 2, 4] are not distinct numbers up to its encoder's 3 layers"),
        ({"layers": [1, 2, 2]}, "layers [1, 2, 2] are not distinct"),
        ({"layers": [1, 2, -1]}, "layers [1, 2, -1] are not distinct"),
        ({"layers": [1, 2, "3"]}, "are not distinct"),
        ({"layers": [1, 2, 3.0]}, "are not distinct"),
        ({"layers": [1, 2, True]}, "are not distinct"),
        ({"layers": [[1], {}, None]}, "are not distinct"),
        ({"layers": list(range(400))}, "are not distinct"),
    ],
)
def test_values_that_cannot_be(folder, fields, words):
    said = message(change(folder, **fields))
    assert said.startswith("FOLDER/config.json: ") and words in said and said.endswith("copy the folder again")


def test_layers_of_a_regressor(regressor):
    assert "[3, 4, 7] are not distinct numbers up to its" in regressor_message(change(regressor, layers=[3, 4, 7]))
    assert "it names 2 layers, and a network of 3" in regressor_message(change(regressor, layers=[3, 6]))


OTHER_SIZES = [("hidden", 9), ("projection", 5), ("feedforward", 300), ("pooling", "avg"), ("width", 47), ("layers", 4)]
OTHER_SIZES += [("layers", 10**9), ("hidden", 20_000)]  # 4 and 13 GB, were they made


@pytest.mark.parametrize(
    "sizes, words",
    [
        *(({name: size}, "does not fit its config.json") for name, size in OTHER_SIZES),
        ({"hidden": 0}, "its network's hidden is 0, no size"),
        ({"hidden": -3}, "its network's hidden is -3, no size"),
        ({"hidden": 8.0}, "its network's hidden is 8.0, no size"),
        ({"layers": True}, "its network's layers is True, no size"),
        ({"feedforward": "7" * 500}, "its network's feedforward is '777"),
        ({"width": None}, "its network's width is None, no size"),
        ({"hidden": 10**15}, "its network cannot be: "),
        ({"hidden": 10**40}, "its network cannot be: "),
        ({"pooling": "min"}, "its network cannot be: pooling 'min' is none of both, avg, max"),
        ({"pooling": ["avg"]}, "its network cannot be: pooling ['avg'] is none of"),
        ({"dropout": 1.5}, "its network cannot be: dropout probability has to be between 0 and 1"),
        ({"dropout": "half"}, "its network cannot be: "),
        ({"dropout": math.nan}, "its network's dropout is nan, which cannot be; copy the folder again"),
        ({"dropout": None}, "its network cannot be: "),
        ({"extra": 1}, "its network has to name layers, width, hidden,"),
    ],
)
def test_a_network_of_another_size(folder, sizes, words):
    said = message(change(folder, network={**read(folder)["network"], **sizes}))
    assert words in said


def test_sizes_of_another_encoder(folder, tmp_path, tiny_bert):
    """Weights and sizes agree, and the encoder is another."""
    other = write_learned(tmp_path / "wide", "esim", tiny_bert, type(TINY)(3, 40, 8, 6, 7))
    assert "its network is of width 40, and its encoder of 48; copy the folder again" in message(other)


def test_a_missing_size(folder):
    whole = read(folder)["network"]
    for name in whole:
        said = message(change(folder, network={key: size for key, size in whole.items() if key != name}))
        assert said.startswith("FOLDER/config.json: its network has to name ") and said.endswith(f"look at {name}")


@pytest.mark.parametrize(
    "sizes, words",
    [
        ({"pooled_hidden": 8}, "model.safetensors does not fit its config.json"),
        ({"features": 10**9}, "model.safetensors does not fit its config.json"),
        ({"pooled_dropout": math.nan}, "its network's dropout is nan, which cannot be"),
        ({"features": "many"}, "its network cannot be: "),
        ({"features": -1}, "its network cannot be: "),
        ({"odd": 1}, "its network cannot be: "),
    ],
)
def test_a_regressors_network(regressor, sizes, words):
    assert words in regressor_message(change(regressor, network={**read(regressor)["network"], **sizes}))
    assert "its network cannot be: " in regressor_message(change(regressor, network={}))


def test_a_regressor_of_other_features(regressor):
    """Two layers make 11 features, and this network reads 14."""
    config = read(regressor)
    network = AlignmentRegressor(regressor, QUIET).network
    tensors = {**network.state_dict(), "pooled.mix": torch.zeros(2)}
    fields = {**config, "layers": [3, 6], "network": {**config["network"], "layers": 2}}
    write_model(regressor, fields, tensors)
    said = "FOLDER/config.json: its network reads 14 features, and its layers make 11; copy the folder again"
    assert regressor_message(regressor) == said


NO_JSON = [b"", b"{", b"\xef\xbb\xbf{}", b"nothing", b'{"layers": [1, 2}', b"\xff\xfe{", b"[" * 200_000]


@pytest.mark.parametrize("data", [*NO_JSON, b"[]", b"[1]", b'"ctx-esim"', b"3", b"null"])
def test_config_that_is_no_json_object(folder, data):
    (folder / "config.json").write_bytes(data)
    for load in (lambda: load_learned("esim", str(folder), QUIET), lambda: load_estimator(str(folder), QUIET)):
        with pytest.raises(ModelError) as caught:
            load()
        kind = "holds no readable config.json" if data in NO_JSON else "config.json is not a JSON object"
        assert kind in checked(caught, folder) and "not a trained model" in checked(caught, folder)


def test_an_encoder_in_the_home_of_nobody(folder):
    said = message(change(folder, encoder="~no-one/model"))
    assert said.startswith("FOLDER: its encoder '~no-one/model' cannot be used: no model folder '~no-one/model', and")


def test_no_config(tmp_path, folder):
    (folder / "config.json").unlink()
    with pytest.raises(ModelError) as caught:
        load_learned("esim", str(folder), QUIET)
    assert checked(caught, folder).endswith("name one that `ctx-metrics train` wrote")
    with pytest.raises(
        ModelError, match=r"holds neither a COMET checkpoint .* nor a trained regressor \(config.json\)"
    ):
        load_estimator(str(folder), QUIET)


# the encoder


def test_another_encoder(folder, regressor, tmp_path, tiny_bert, tiny_roberta):
    ckpt = read(folder)["encoder_ckpt"]
    said = message(change(folder, encoder=str(tiny_roberta)))
    assert f"was trained on an encoder that hashes to {ckpt}, and " in said.replace(str(tiny_roberta), "")
    assert "get the one it was trained on, or train the model again" in said
    said = regressor_message(change(regressor, encoder_ckpt="0" * 12))
    assert "was trained on an encoder that hashes to 000000000000, and 'embedded' hashes to" in said
    changed = shutil.copytree(tiny_bert, tmp_path / "bert")
    weights = load_file(changed / "model.safetensors")
    save_file({name: tensor * 1.01 for name, tensor in weights.items()}, changed / "model.safetensors")
    assert f"hashes to {ckpt}, and " in message(change(folder, encoder=str(changed))).replace(str(changed), "")
    change(folder, encoder=str(shutil.copytree(tiny_bert, tmp_path / "moved")))  # the same weights elsewhere
    assert load_learned("esim", str(folder), QUIET).encoder.checkpoint.folder == tmp_path / "moved"


@pytest.mark.parametrize(
    "name, words",
    [
        ("./no/such/folder", "its encoder './no/such/folder' cannot be used: no model folder"),
        ("", "its encoder '' cannot be used: the name of the model is empty"),
        ("no-owner/no-encoder", "cannot be used: no-owner/no-encoder is not in the cache"),
    ],
)
def test_an_encoder_that_is_not_there(folder, name, words, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert words in message(change(folder, encoder=name))


# names


def test_a_config_that_lies_about_the_kind(folder):
    assert "does not fit its config.json" in message(change(folder, model_type="ctx-bilstm"), "bilstm")


def test_models_that_are_none_of_the_three(regressor, tiny_bert, tmp_path):
    pairwise = write_pairwise(tmp_path / "pairwise")
    assert read(regressor)["model_type"] == CONFIG_KIND
    for folder, mend in (
        (regressor, "but a regressor: use the metric comet with model='FOLDER'"),
        (pairwise, "but a pairwise model: use the metric pairwise with model='FOLDER'"),
        (tiny_bert, "nor one of bilstm or bilstmatt; name a folder of esim"),
    ):
        with pytest.raises(ModelError) as caught:
            load_learned("esim", str(folder), QUIET)
        assert checked(caught, folder).startswith(f"FOLDER holds no esim model, {mend}")


@pytest.mark.parametrize(
    "name, words",
    [
        ("", "the name of the model is empty"),
        ("./no/such/folder", "no model folder './no/such/folder'"),
        ("no-owner/no-model@v1", "no-owner/no-model@v1 is not in the cache and the hub cannot be reached"),
    ],
)
def test_names_that_cannot_be_found(name, words, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError) as caught:
        load_learned("esim", name, QUIET)
    text = str(caught.value)
    assert text.startswith(words) and "\n" not in text and len(text) < 250


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


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError) as caught:
        write_model(tmp_path / "file" / "model", {}, {"w": torch.zeros(2)})
    assert checked(caught, tmp_path).startswith("cannot write FOLDER/file/model/model.safetensors: Not a directory")
