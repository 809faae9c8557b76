"""Our COMET estimator against stored scores of unbabel-comet 2.2.7, which need not be installed."""

import json

import pytest
from comet_agreement import STORED, assert_agree, input_choices, our_estimates
from comet_checkpoints import RECIPES, digest, read_tensors
from comet_texts import TEXTS
from selection import some


@pytest.fixture(scope="session")
def stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


# the default run has one of each class, pooling and encoder
DEFAULT = (
    "regression regression-patch regression-cls regression-xl regression-deberta referenceless-rembert ranking kiwi unite "
    "unite-words xcomet"
).split()


@pytest.mark.parametrize("name", some(RECIPES, DEFAULT))
def test_scores(name, comet_checkpoint, stored):
    tensors = digest(read_tensors(comet_checkpoint(name)))
    assert tensors == stored[name]["digest"], "run python tests/comet_oracle.py anew"
    for keys in input_choices(RECIPES[name]):
        expected = stored[name]["scores"]["+".join(keys)]
        assert_agree(our_estimates(comet_checkpoint(name), RECIPES[name], TEXTS, keys), expected, TEXTS)
