"""Converted checkpoints: the same tensors, the same scores, one folder that needs nothing else."""

import json
import shutil

import pytest
import torch
from comet_checkpoints import RECIPES, build
from comet_texts import TEXTS
from safetensors.torch import load_file, save_file
from selection import some

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator


def estimates(folder, spans=False):
    estimator = load_estimator(str(folder), EngineOptions(), spans=spans)
    return estimator.estimate([Example(hypothesis, reference, source) for source, hypothesis, reference in TEXTS], "")


NAMES = ["regression-patch", "referenceless-rembert", "kiwi-bert", "unite", "xcomet", "regression-xl"]


@pytest.mark.parametrize("name", some(NAMES, ["regression-patch", "kiwi-bert", "xcomet"]))
def test_same_tensors_and_same_scores(name, tmp_path):
    old, new = build(RECIPES[name], tmp_path / "old"), tmp_path / "new"
    convert(str(old), new)
    state = torch.load(old / "checkpoints" / "model.ckpt", weights_only=True)["state_dict"]
    saved = load_file(new / "model.safetensors")
    assert saved.keys() == state.keys()
    assert all(torch.equal(saved[key], state[key]) and saved[key].dtype == state[key].dtype for key in state)
    before = estimates(old, spans=name == "kiwi-bert")
    signature = load_estimator(str(old), EngineOptions()).signature()
    shutil.rmtree(old)  # and its tokenizer
    # the tensors are the same, but lie elsewhere in memory, and the sums of matrix products may hang on that
    for found, expected in zip(estimates(new, spans=name == "kiwi-bert"), before, strict=True):
        assert (found.cut, found.empty) == (expected.cut, expected.empty)
        assert found.value == pytest.approx(expected.value, abs=1e-6)
        assert found.parts == pytest.approx(expected.parts, abs=1e-6)
        assert [span[:2] for span in found.spans or ()] == [span[:2] for span in expected.spans or ()]
    assert {**load_estimator(str(new), EngineOptions()).signature(), "model": "old"} == signature
    assert {path.name for path in new.iterdir()} <= {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }


def test_from_a_file_into_an_empty_folder(tmp_path):
    old, new = build(RECIPES["regression"], tmp_path / "old"), tmp_path / "deep" / "new"
    new.mkdir(parents=True)
    convert(str(old / "checkpoints" / "model.ckpt"), new)
    assert (new / "config.json").exists() and not list(new.parent.glob(".new*"))


def test_nothing_is_overwritten_or_half_written(tmp_path):
    old = build(RECIPES["regression"], tmp_path / "old")
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("x")
    with pytest.raises(InputError, match="full exists and is not an empty folder; name a new one"):
        convert(str(old), full)
    assert [path.name for path in full.iterdir()] == ["mine"]
    with pytest.raises(ModelError):
        convert(str(tmp_path / "absent" / "x.ckpt"), tmp_path / "new")
    with pytest.raises(InputError, match="cannot write"):
        convert(str(old), full / "mine" / "new")
    assert not (tmp_path / "new").exists()


def test_altered_files_are_refused(tmp_path):
    convert(str(build(RECIPES["regression"], tmp_path / "old")), tmp_path / "new")
    folder = shutil.copytree(tmp_path / "new", tmp_path / "weights")
    tensors = load_file(folder / "model.safetensors")
    tensors["estimator.ff.0.bias"] += 1
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ModelError, match="weights does not hold what was converted; convert the checkpoint again"):
        load_estimator(str(folder), EngineOptions())
    folder = shutil.copytree(tmp_path / "new", tmp_path / "config")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "encoder": {**config["encoder"], "layer_norm_eps": 0.5}}))
    with pytest.raises(ModelError, match="config does not hold what was converted; convert the checkpoint again"):
        load_estimator(str(folder), EngineOptions())
    del config["hyperparameters"]["pool"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="its hyper-parameters are not those of a COMET model"):
        load_estimator(str(folder), EngineOptions())
    (folder / "config.json").write_text(json.dumps({"model_type": "ctx-comet"}))
    with pytest.raises(ModelError, match="config.json is not what ctx-metrics convert writes"):
        load_estimator(str(folder), EngineOptions())
    (tmp_path / "new" / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no model.safetensors; convert the checkpoint again"):
        load_estimator(str(tmp_path / "new"), EngineOptions())
