"""Converted checkpoints: the same tensors, the same scores, one folder that needs nothing else."""

import json
import shutil
from collections.abc import Collection

import pytest
import torch
from comet_checkpoints import RECIPES, build
from comet_texts import TEXTS
from damage import Damage, change, line, text, weights, without
from safetensors.torch import load_file
from selection import some

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import InputError, ModelError
from ctx_metrics.models.comet.checkpoint import convert
from ctx_metrics.models.estimator import Example
from ctx_metrics.models.load import load_estimator


def estimates(folder, spans=False):
    estimator = load_estimator(str(folder), EngineOptions(), spans=spans)
    return estimator.estimate([Example(hypothesis, reference, source) for source, hypothesis, reference in TEXTS], "")


NAMES = "regression-patch referenceless-rembert kiwi-bert xcomet ranking xcomet-lite".split()


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
    files = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {path.name for path in new.iterdir()} <= files


def test_only_an_empty_folder_is_written_to(comet_checkpoint, tmp_path):
    old, new, full = comet_checkpoint("regression"), tmp_path / "deep" / "new", tmp_path / "full"
    new.mkdir(parents=True)
    convert(str(old / "checkpoints" / "model.ckpt"), new)
    assert (new / "config.json").exists() and not list(new.parent.glob(".new*"))
    full.mkdir()
    (full / "mine").write_text("x")
    for source, target, kind in (
        (old, full, InputError),
        (old, full / "mine" / "new", InputError),
        (tmp_path / "absent" / "x.ckpt", tmp_path / "new", ModelError),
    ):
        with pytest.raises(kind):
            convert(str(source), target)
    assert [path.name for path in full.iterdir()] == ["mine"] and not (tmp_path / "new").exists()


OTHER = "has changed since it was converted; convert the checkpoint again"


@pytest.fixture(scope="module")
def converted(comet_checkpoint, tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted") / "regression"
    convert(str(comet_checkpoint("regression")), folder)
    return folder


def described(name: str, without: Collection[str] = (), **changes) -> Damage:
    """Change one of the objects in config.json."""

    def damage(folder):
        found = {**json.loads((folder / "config.json").read_text())[name], **changes}
        change(folder, **{name: {key: value for key, value in found.items() if key not in without}})

    return damage


@pytest.mark.parametrize(
    "damage, says",
    [
        (weights("estimator.ff.0.bias", lambda bias: bias + 1), OTHER),
        (described("encoder", layer_norm_eps=0.5), OTHER),
        (described("hyperparameters", ["pool"]), "its hyper-parameters are not those of a COMET model"),
        (text("config.json", '{"model_type": "ctx-comet"}'), "config.json is not as ctx-metrics convert writes it"),
        (without("model.safetensors"), "holds no model.safetensors; convert the checkpoint again"),
    ],
)
def test_altered_files_are_refused(converted, tmp_path, damage, says):
    folder = shutil.copytree(converted, tmp_path / "altered")
    damage(folder)
    assert says in line(lambda: load_estimator(str(folder), EngineOptions()), folder)
