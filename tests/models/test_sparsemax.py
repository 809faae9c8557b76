"""Which layer mix a unified model gets, where its .ckpt and its hparams.yaml may disagree about it, as in unbabel-comet 2.2.7.

Before its issue 195 was mended, unbabel-comet trained and scored such models with a softmax, whatever they said.
"""

import shutil

import pytest
import yaml
from comet_agreement import assert_agree, our_estimates
from comet_checkpoints import RECIPES
from comet_texts import TEXTS
from damage import change_ckpt

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.load import load_estimator

CASES = [  # layer_transformation of the .ckpt, of hparams.yaml, and what is computed
    ("sparsemax", "sparsemax", "sparsemax"),
    ("sparsemax", "sparsemax_patch", "softmax"),
    ("sparsemax", "softmax", "sparsemax"),
    ("sparsemax", None, "sparsemax"),
    ("softmax", "sparsemax", "softmax"),
]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def case(request, comet_checkpoint, tmp_path):
    """A folder, and what is computed there."""
    in_ckpt, in_yaml, computed = request.param
    folder = shutil.copytree(comet_checkpoint("kiwi"), tmp_path / "kiwi")
    change_ckpt(folder, hyper_parameters={"layer_transformation": in_ckpt})
    described = yaml.safe_load((folder / "hparams.yaml").read_text()) | {"layer_transformation": in_yaml}
    kept = {name: value for name, value in described.items() if value is not None}
    (folder / "hparams.yaml").write_text(yaml.safe_dump(kept))
    return folder, computed


def test_the_mix(case):
    folder, computed = case
    estimator = load_estimator(str(folder), EngineOptions(device="cpu", quiet=True))
    assert (0.0 in estimator.pooled.weights) == (computed == "sparsemax")


@pytest.mark.full
def test_it_is_that_of_unbabel_comet(case):
    pytest.importorskip("comet", reason="needs unbabel-comet, the oracle", exc_type=ImportError)
    from comet_oracle import load, predict

    folder, _ = case
    inputs = RECIPES["kiwi"].inputs
    assert_agree(our_estimates(folder, RECIPES["kiwi"], TEXTS, inputs), predict(load(folder), TEXTS, inputs), TEXTS)
