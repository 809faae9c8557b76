import shutil

import pytest

from ctx_metrics.engine.options import EngineOptions
from ctx_metrics.errors import ModelError
from ctx_metrics.models.estimator import EMBEDDED_FOLDER, load_estimator


def test_embedded_is_the_default():
    for name in (None, "embedded"):
        estimator = load_estimator(name, EngineOptions())
        assert estimator.inputs == "mt+ref" and estimator.english_only
        assert estimator.signature()["model"] == "embedded-alignment-regressor"


def test_a_regressor_folder_loads(tmp_path):
    folder = shutil.copytree(EMBEDDED_FOLDER, tmp_path / "mine")
    assert load_estimator(str(folder), EngineOptions()).model.ckpt == load_estimator(None, EngineOptions()).model.ckpt


def test_other_folders(tmp_path, tiny_bert):
    with pytest.raises(
        ModelError, match="^no model folder 'nowhere'; name embedded, .* \\(perhaps Unbabel/nowhere\\)$"
    ):
        load_estimator("nowhere", EngineOptions())
    with pytest.raises(ModelError, match="^the name of the model is empty"):
        load_estimator("", EngineOptions())
    for name in ("./absent", "~/absent", "/absent/model"):
        with pytest.raises(ModelError, match="^no model folder .*absent.* and it is no hub name"):
            load_estimator(name, EngineOptions())
    with pytest.raises(ModelError, match="^no checkpoint file x/model.ckpt; check the path$"):
        load_estimator("x/model.ckpt", EngineOptions())
    with pytest.raises(ModelError, match="no readable config.json"):
        load_estimator(str(tmp_path), EngineOptions())
    with pytest.raises(ModelError, match="is no quality model"):
        load_estimator(str(tiny_bert), EngineOptions())


def test_the_embedded_model_leaves_no_choice():
    for settings, what in (
        ({"spans": True}, "error spans"),
        ({"context": True}, "document context"),
        ({"inputs": "mt+src"}, "mt.src"),
    ):
        with pytest.raises(ModelError, match=f"reads mt.ref and knows no .*{what}"):
            load_estimator(None, EngineOptions(), **settings)
    assert load_estimator(None, EngineOptions(), inputs="mt+ref").inputs == "mt+ref"
