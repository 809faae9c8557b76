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


def test_comet_checkpoints_get_a_clear_error():
    with pytest.raises(ModelError, match="^x/model.ckpt: COMET checkpoints are not read by this version; use embedded"):
        load_estimator("x/model.ckpt", EngineOptions())
    hub = "^no model folder 'Unbabel/wmt22-comet-da', and COMET checkpoints of the hub are not read by this version"
    with pytest.raises(ModelError, match=hub):
        load_estimator("Unbabel/wmt22-comet-da", EngineOptions())
    for name in ("", "./absent"):
        with pytest.raises(ModelError, match=f"^no model folder '{name}'; use embedded"):
            load_estimator(name, EngineOptions())


def test_comet_folder(tmp_path):
    (tmp_path / "hparams.yaml").write_text("class_identifier: regression_metric\n")
    with pytest.raises(ModelError, match="COMET checkpoints are not read"):
        load_estimator(str(tmp_path), EngineOptions())


def test_other_folders(tmp_path, tiny_bert):
    with pytest.raises(ModelError, match="no model folder 'nowhere'"):
        load_estimator("nowhere", EngineOptions())
    with pytest.raises(ModelError, match="no readable config.json"):
        load_estimator(str(tmp_path), EngineOptions())
    with pytest.raises(ModelError, match="is no quality model"):
        load_estimator(str(tiny_bert), EngineOptions())
