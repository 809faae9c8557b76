import json
import shutil
import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest
from learned_folders import write_learned
from pairwise_folders import write_pairwise

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import CtxMetricsError, ModelError
from ctx_metrics.models import load
from ctx_metrics.models.estimator import EMBEDDED_FOLDER
from ctx_metrics.models.load import load_estimator


def test_embedded_is_the_default_and_leaves_no_choice(tmp_path):
    for name in (None, "embedded"):
        estimator = load_estimator(name, EngineOptions())
        assert estimator.inputs == "mt+ref" and estimator.english_only
        assert estimator.signature()["model"] == "embedded-alignment-regressor"
    folder = shutil.copytree(EMBEDDED_FOLDER, tmp_path / "mine")
    assert load_estimator(str(folder), EngineOptions()).model.ckpt == estimator.model.ckpt
    for settings, what in (
        ({"context": True}, "document context"),
        ({"inputs": "mt+src"}, "mt.src"),
        ({"inputs": "mt+ref", "spans": True}, "error spans"),  # naming what it reads anyway changes nothing
    ):
        with pytest.raises(ModelError, match=f"does not support .*{what}"):
            load_estimator(None, EngineOptions(), **settings)
    assert load_estimator(None, EngineOptions(), inputs="mt+ref").inputs == "mt+ref"


def test_a_learned_folder_loads(tmp_path, tiny_bert):
    folder = write_learned(tmp_path / "mine", "esim", tiny_bert)
    estimator = load_estimator(str(folder), EngineOptions())
    assert estimator.kind == "esim" and estimator.signature()["model"] == "mine"
    with pytest.raises(
        ModelError, match="^mine reads mt.ref and does not support inputs mt.src; name a COMET checkpoint"
    ):
        load_estimator(str(folder), EngineOptions(), inputs="mt+src")


def test_other_names_and_folders(tmp_path, tiny_bert):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "models--Unbabel--wmt22-comet-da").mkdir()
    (tmp_path / "checkpoint.ckpt").mkdir()
    (tmp_path / "empty").mkdir()
    for name, fault in (
        ("nowhere", "no model folder 'nowhere'; .* of the hub$"),
        ("XCOMET-lite", r"\(perhaps myyycroft/XCOMET-lite\)$"),
        ("COMET-poly-cand1-wmt25", r"\(perhaps zouharvi/COMET-poly-cand1-wmt25\)$"),
        ("wmt22-comet-da", r"\(perhaps Unbabel/wmt22-comet-da\)$"),
        ("https://huggingface.co/Unbabel/XCOMET-XL", "is a page of the hub; name the model itself: Unbabel/XCOMET-XL$"),
        (tmp_path / "notes.txt", "notes.txt is a file; name the checkpoint's folder"),
        (tmp_path / "models--Unbabel--wmt22-comet-da", "hub's cache; name the model itself: Unbabel/wmt22-comet-da$"),
        ("", "^the name of the model is empty"),
        ("~/absent", "^no model folder .*absent.* and it is not a hub name"),
        ("x/model.ckpt", "^no checkpoint file x/model.ckpt"),
        (tmp_path / "checkpoint.ckpt", "^no checkpoint file "),
        (tmp_path / "empty", "holds neither a COMET checkpoint .* nor a trained regressor"),
        (tiny_bert, "is not a quality model"),
        (
            write_pairwise(tmp_path / "pairwise"),
            "is a pairwise model: use the metric pairwise with model='.*/pairwise'$",
        ),
    ):
        with pytest.raises(ModelError, match=fault):
            load_estimator(str(name), EngineOptions())


def test_a_model_of_another_package(tmp_path, monkeypatch):
    """The first kind that owns the model opens it, a folder as a name of the hub; one that cannot be loaded is named."""
    asked, estimator = [], SimpleNamespace(inputs="mt+src")

    class Other(load.ModelKind):
        def owns(self, model):
            return False

        def opened(self, model, options, inputs):
            raise AssertionError

    class Toy(Other):
        def owns(self, model):
            return model.config == {"model_type": "toy"} or model.name == "toys/toy"

        def opened(self, model, *given):
            asked.append((*model, *given))
            return estimator

    monkeypatch.setitem(sys.modules, "toy_models", SimpleNamespace(Other=Other, Toy=Toy))
    entry_points = [EntryPoint("toy", f"toy_models:{name}", load.GROUP) for name in ("Other", "Toy", "Missing")]
    monkeypatch.setattr(load, "installed", lambda group: entry_points)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "toy"}))
    options = EngineOptions()
    for name in (str(tmp_path), "toys/toy"):
        assert load_estimator(name, options, inputs="mt+src") is estimator
    assert asked == [
        (str(tmp_path), tmp_path, {"model_type": "toy"}, options, "mt+src"),
        ("toys/toy", None, {}, options, "mt+src"),
    ]
    assert load.without_references("toys/toy") is None
    with pytest.raises(ModelError, match="toys/toy is used as it is and needs no conversion"):
        load.convert("toys/toy", tmp_path / "new")
    del entry_points[1]
    with pytest.raises(CtxMetricsError, match="toy_models:Missing"):
        load_estimator(str(tmp_path), options)


def test_the_folder_of_the_ckpt_file_will_do(tmp_path):
    from comet_checkpoints import RECIPES, build

    folder = build(RECIPES["referenceless"], tmp_path / "model")
    for path in (folder, folder / "checkpoints", folder / "checkpoints" / "model.ckpt"):
        assert load_estimator(str(path), EngineOptions()).signature()["model"] == "model"
