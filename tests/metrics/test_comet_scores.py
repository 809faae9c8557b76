"""Our COMET estimator against stored scores of unbabel-comet 2.2.7, which need not be installed."""

import json

import pytest
from comet_agreement import STORED, assert_agree, input_choices, our_estimates
from comet_checkpoints import RECIPES, TINY, digest, read_tensors
from comet_texts import TEXTS


@pytest.fixture(scope="session")
def stored():
    return json.loads(STORED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", TINY)
def test_the_checkpoint_is_the_one_scored(name, comet_checkpoint, stored):
    assert digest(read_tensors(comet_checkpoint(name))) == stored[name]["digest"], (
        "run python tests/comet_oracle.py anew"
    )


@pytest.mark.parametrize("name, keys", [(name, keys) for name in TINY for keys in input_choices(RECIPES[name])])
def test_scores(name, keys, comet_checkpoint, stored):
    expected = stored[name]["scores"]["+".join(keys)]
    assert_agree(our_estimates(comet_checkpoint(name), RECIPES[name], TEXTS, keys), expected, TEXTS)
