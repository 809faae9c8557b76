"""The report on a trained pairwise model: its card, its learning curve, the commands that use it, and warnings."""

import os
import shlex
from collections.abc import Mapping, Sequence

from ...notices import notice
from ...plots.figure import Figure
from ...training import card as cards
from ...training.curve import learning_curve
from ...training.data import Source
from .learn import TrainingResult
from .recipe import Architecture, PairwiseRecipe
from .task import Check


def card(
    name: str,
    architecture: Architecture,
    recipe: PairwiseRecipe,
    trained: TrainingResult,
    sources: Mapping[str, Sequence[Source]],
    drawn: str,
    command: str,
) -> str:
    """The Markdown card of a model.

    drawn    how the development pairs were drawn from the training data; "" if they were not
    """
    config = trained.config
    with_nltk = any(each["spec"].startswith("meteor") for each in config["features"])
    others = {"sacrebleu": config["features"], "nltk": with_nltk, "tokenizers": config["encoder"] is not None}
    facts = {
        "name": name,
        "recipe": vars(recipe),
        "sources": sources,
        "drawn": drawn,
        "features": architecture.features,
        "vectors": list(map(os.path.basename, architecture.vectors)),
        "others": [package for package, is_read in others.items() if is_read],
        "uses": uses(name),
    }
    return cards.card(__package__, trained, command, facts)


def curve(checks: Sequence[Check], best: int, name: str) -> Figure:
    points = [(epoch, check.cost, check.tau) for epoch, check in enumerate(checks, 1)]
    changes = [number for number in range(1, len(checks)) if checks[number].phase != checks[number - 1].phase]
    labels = "epochs", "training cost", "development\nstrict tau"
    phases = {number: f"{checks[number].phase} cost" for number in changes}
    return learning_curve(points, best, labels, f"{name}: best of {len(points)} epochs", phases)


def uses(folder: str) -> list[str]:
    folder = shlex.quote(folder)
    return [
        f"sacrebleu REF -i SYSTEM1 SYSTEM2 -m pairwise --pairwise-model {folder}",
        f"ctx-metrics pairwise rank REF -i SYSTEM1 SYSTEM2 --model {folder}",
    ]


def say_poor(tau: float, feature_taus: dict[str, float]) -> None:
    """Print a notice if the model agrees with people no better than chance, or than one of its own features."""
    best = max(feature_taus, key=lambda name: feature_taus[name], default=None)
    if tau <= 0:
        notice("the best epoch agrees with people no better than chance: do not use this model")
    elif best is not None and feature_taus[best] >= tau:
        notice(
            f"{best} alone agrees with people at least as well as this model: tau {feature_taus[best]:.4f}, and "
            f"{tau:.4f}"
        )


def say_unfinished(checks: Sequence[Check], epochs: int) -> None:
    """Print a notice if the last epoch allowed is better than all before it."""
    *before, last = checks
    if last.epoch == epochs and all(check.tau < last.tau for check in before):
        notice(f"the last epoch is the best: training was still improving; allow more than --epochs {epochs}")
