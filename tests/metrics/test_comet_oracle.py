"""Our COMET estimator against unbabel-comet's own predict, segment by segment, span by span."""

import numpy as np
import pytest
from comet_agreement import TOLERANCE, assert_agree, input_choices, our_estimates
from comet_checkpoints import RECIPES, build
from comet_texts import CONTEXT, TEXTS

pytestmark = pytest.mark.full  # test_comet_scores.py has stored scores of the same checkpoints
CHOICES = [(name, keys) for name in RECIPES for keys in input_choices(RECIPES[name])]


@pytest.fixture(scope="session")
def loaded(tmp_path_factory):
    """Gives a checkpoint's folder and its model in unbabel-comet, by name."""
    pytest.importorskip("comet", reason="needs unbabel-comet, the oracle", exc_type=ImportError)
    from comet_oracle import load

    folder, made = tmp_path_factory.mktemp("comet"), {}

    def get(name: str):
        if name not in made:
            built = build(RECIPES[name], folder / name)
            made[name] = built, load(built)
        return made[name]

    return get


@pytest.mark.parametrize("name, keys", CHOICES)
def test_scores(name, keys, loaded):
    from comet_oracle import predict

    folder, model = loaded(name)
    assert_agree(our_estimates(folder, RECIPES[name], TEXTS, keys), predict(model, TEXTS, keys), TEXTS)


@pytest.mark.parametrize("name", ["regression", "regression-sparsemax", "referenceless", "regression-bert"])
def test_context(name, loaded):
    """DocCOMET: texts are joined by the separator, and all but the last is left out of the pooling."""
    from comet_oracle import predict

    recipe, (folder, model) = RECIPES[name], loaded(name)
    texts = CONTEXT if recipe.encoder != "BERT" else [tuple(t.replace("</s>", "[SEP]") for t in row) for row in CONTEXT]
    plain = predict(model, texts, recipe.inputs)
    model.enable_context()
    try:
        expected = predict(model, texts, recipe.inputs)
    finally:
        model.use_context = False
    moved = max(abs(a["value"] - b["value"]) for a, b in zip(plain, expected))
    assert moved > 100 * TOLERANCE
    assert_agree(our_estimates(folder, recipe, texts, recipe.inputs, context=True), expected, texts)


def test_restricting_inputs_changes_scores(loaded):
    """Else the agreement above on pairs of texts would show nothing."""
    from comet_oracle import predict

    _, model = loaded("unite")
    values = [[e["value"] for e in predict(model, TEXTS, keys)] for keys in input_choices(RECIPES["unite"])]
    assert np.median(np.abs(np.subtract(values[1], values[2]))) > 100 * TOLERANCE
