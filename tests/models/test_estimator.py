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


def test_embedded_is_the_default():
    for name in (None, "embedded"):
        estimator = load_estimator(name, EngineOptions())
        assert estimator.inputs == "mt+ref" and estimator.english_only
        assert estimator.signature()["model"] == "embedded-alignment-regressor"


def test_a_regressor_folder_loads(tmp_path):
    folder = shutil.copytree(EMBEDDED_FOLDER, tmp_path / "mine")
    assert load_estimator(str(folder), EngineOptions()).model.ckpt == load_estimator(None, EngineOptions()).model.ckpt


def test_a_learned_folder_loads(tmp_path, tiny_bert):
    folder = write_learned(tmp_path / "mine", "esim", tiny_bert)
    estimator = load_estimator(str(folder), EngineOptions())
    assert estimator.kind == "esim" and estimator.signature()["model"] == "mine"
    with pytest.raises(
        ModelError, match="^mine reads mt.ref and does not support inputs mt.src; name a COMET checkpoint"
    ):
        load_estimator(str(folder), EngineOptions(), inputs="mt+src")


def test_other_folders(tmp_path, tiny_bert):
    with pytest.raises(ModelError, match="^no model folder 'nowhere'; name embedded, .* of the hub$"):
        load_estimator("nowhere", EngineOptions())
    for name, owner in (("XCOMET-lite", "myyycroft"), ("COMET-poly-cand1-wmt25", "zouharvi"), ("XCOMET-XL", "Unbabel")):
        with pytest.raises(ModelError, match=rf"of the hub \(perhaps {owner}/{name}\)$"):
            load_estimator(name, EngineOptions())
    with pytest.raises(ModelError, match=r"of the hub \(perhaps Unbabel/wmt22-comet-da\)$"):
        load_estimator("wmt22-comet-da", EngineOptions())
    with pytest.raises(ModelError, match="is a page of the hub; name the model itself: Unbabel/XCOMET-XL$"):
        load_estimator("https://huggingface.co/Unbabel/XCOMET-XL", EngineOptions())
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ModelError, match="notes.txt is a file; name the checkpoint's folder"):
        load_estimator(str(tmp_path / "notes.txt"), EngineOptions())
    cached = tmp_path / "models--Unbabel--wmt22-comet-da"
    cached.mkdir()
    with pytest.raises(ModelError, match="of the hub's cache; name the model itself: Unbabel/wmt22-comet-da$"):
        load_estimator(str(cached), EngineOptions())
    with pytest.raises(ModelError, match="^the name of the model is empty"):
        load_estimator("", EngineOptions())
    for name in ("./absent", "~/absent", "/absent/model"):
        with pytest.raises(ModelError, match="^no model folder .*absent.* and it is not a hub name"):
            load_estimator(name, EngineOptions())
    with pytest.raises(ModelError, match="^no checkpoint file x/model.ckpt; check the path$"):
        load_estimator("x/model.ckpt", EngineOptions())
    with pytest.raises(ModelError, match="holds neither a COMET checkpoint .* nor a trained regressor"):
        load_estimator(str(tmp_path), EngineOptions())
    with pytest.raises(ModelError, match="is not a quality model"):
        load_estimator(str(tiny_bert), EngineOptions())
    folder = write_pairwise(tmp_path / "pairwise")
    with pytest.raises(ModelError, match="is a pairwise model: use the metric pairwise with model='.*/pairwise'$"):
        load_estimator(str(folder), EngineOptions())


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


def test_the_embedded_model_leaves_no_choice():
    for settings, what in (
        ({"spans": True}, "error spans"),
        ({"context": True}, "document context"),
        ({"inputs": "mt+src"}, "mt.src"),
    ):
        with pytest.raises(ModelError, match=f"reads mt.ref and does not support .*{what}"):
            load_estimator(None, EngineOptions(), **settings)
    assert load_estimator(None, EngineOptions(), inputs="mt+ref").inputs == "mt+ref"
    with pytest.raises(ModelError, match="does not support error spans"):  # naming what it reads anyway changes nothing
        load_estimator(None, EngineOptions(), inputs="mt+ref", spans=True)


def test_the_folder_of_the_ckpt_file_will_do(tmp_path):
    from comet_checkpoints import RECIPES, build

    folder = build(RECIPES["referenceless"], tmp_path / "model")
    for path in (folder, folder / "checkpoints", folder / "checkpoints" / "model.ckpt"):
        assert load_estimator(str(path), EngineOptions()).signature()["model"] == "model"
