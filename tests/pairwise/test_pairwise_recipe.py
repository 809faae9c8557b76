import pytest

from ctx_metrics.errors import InputError
from ctx_metrics.pairwise.training.recipe import COSTS, MODERN, PAPER, RECIPES, PairwiseRecipe


def test_the_papers_recipe():
    assert (
        PairwiseRecipe(
            "logistic", "adagrad", learning_rate=0.01, batch=30, weight_decay=1e-4, epochs=10_000, patience=None
        )
        == PAPER
    )
    assert (PAPER.beta, PAPER.gamma) == (100.0, 100.0)


def test_the_modern_recipe_stops_early():
    assert MODERN.optimiser == "adamw" and MODERN.patience < MODERN.epochs and RECIPES["modern"] is MODERN


def test_phases():
    assert [PairwiseRecipe(cost=cost).phases for cost in COSTS] == [
        ("logistic",),
        ("kendall",),
        ("logistic", "kendall"),
    ]


@pytest.mark.parametrize("named", [{"cost": "hinge"}, {"cost": "kendall+logistic"}, {"optimiser": "sgd"}])
def test_what_there_is_not_is_refused(named):
    with pytest.raises(InputError, match=next(iter(named))):
        PairwiseRecipe(**named)


@pytest.mark.parametrize("name", ["learning_rate", "weight_decay", "beta", "gamma"])
def test_numbers_that_fp32_cannot_compute_with_are_refused(name):
    assert getattr(PairwiseRecipe(**{name: 1e6}), name) == 1e6
    for value in (1e7, 1e300, float("inf"), float("nan"), -1.0):
        with pytest.raises(
            InputError, match=f"^{name.replace('_', ' ')} .+ is not from 0 to 1,000,000; name a smaller one$"
        ):
            PairwiseRecipe(**{name: value})
