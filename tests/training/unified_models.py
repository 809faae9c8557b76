"""Judgements that tiny models of UniTE's shape learn from, and the models."""

from dataclasses import replace
from pathlib import Path

import pytest
from toy_judgements import write_judgements

from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.estimator import Example
from ctx_metrics.training.loop import Loop
from ctx_metrics.training.quality.development import read_development
from ctx_metrics.training.quality.examples import read_training_set
from ctx_metrics.training.quality.recipe import UNIFIED, Architecture, Recipe
from ctx_metrics.training.quality.unified import learn_unified

ALL = "mt+src+ref"
QUIET = EngineOptions(device="cpu", quiet=True)
RECIPE = replace(UNIFIED, learning_rate=5e-3, batch=8, epochs=2, loss="mse+hinge")
EXAMPLES = [
    Example("the cat sat on the mat", "a cat sat", "old dog"),
    Example("rain", "home river city", "a a a a a a"),
    Example("light bird", "slow", "slow"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return judged_sets(tmp_path_factory.mktemp("judged"))


def judged_sets(folder: Path):
    """A training and a development set, named a and d."""
    paths = [str(write_judgements(folder / f"{name}.tsv", n, k)) for k, (name, n) in enumerate((("a", 8), ("d", 6)))]
    return read_training_set(paths[:1], ALL), read_development(paths[1:], inputs=ALL)


def learned(
    encoder, data, out, recipe: Recipe = RECIPE, engine: EngineOptions = QUIET, inputs=ALL, rank=2, flags=(), **given
):
    """Train a model into a folder; `flags` name settings of the architecture that are on."""
    settings = {"inputs": inputs, "rank": rank, "feedforward": 5, **dict.fromkeys(flags, True)}
    return learn_unified(
        Architecture("comet", str(encoder), **settings), recipe, *data, out=out, engine=engine, **given
    )


def values(folder: Path, examples=EXAMPLES, *given, **named) -> list[float]:
    from ctx_metrics.models.load import load_estimator

    return [each.value for each in load_estimator(str(folder), QUIET, *given, **named).estimate(examples, "")]


def stopped_at(patched: pytest.MonkeyPatch, step: int) -> None:
    """Let a training save its state and stop before this step."""

    def stop(loop, batch, whole=Loop._step):
        if loop.progress.step == step:
            loop._save()
            raise KeyboardInterrupt
        whole(loop, batch)

    patched.setattr(Loop, "_step", stop)
