"""How a network is trained: the settings, and those that the paper used."""

from dataclasses import dataclass, replace

LOSSES = ("mse", "hinge", "mse+hinge")
SCHEDULES = ("plateau", "linear")


@dataclass(frozen=True)
class Recipe:
    """Settings of a training run. The defaults are those of the released configurations of Mathur et al. (2019).

    loss             mse (the mean squared error), hinge (see training.quality.losses) or their sum
    learning_rate    Adam's, at its highest
    schedule         plateau: `decay` times the rate after a check on the development data that is no better than the best;
                     linear: up over a tenth of all steps, then down to nothing at the last one
    weight_decay     AdamW's
    batch            rows of a step
    epochs           most epochs
    patience         checks without a better one after which training ends; None: never
    clip             longest gradient
    check_rows       rows between two checks; None: one check an epoch
    margin           of the hinge, in standard deviations of human scores
    seed             of the initial weights, the order of rows, and dropout
    """

    loss: str = "mse"
    learning_rate: float = 4e-4
    schedule: str = "plateau"
    decay: float = 0.5
    weight_decay: float = 0.0
    batch: int = 32
    epochs: int = 75
    patience: int | None = 4
    clip: float = 10.0
    check_rows: int | None = None
    margin: float = 0.5
    seed: int = 1


PAPER = Recipe()
# The regressor of `comet` is small, and read whole by each step: few epochs, no looking for a plateau.
COMET = replace(PAPER, learning_rate=1e-3, schedule="linear", weight_decay=1e-3, batch=64, epochs=6, patience=None)
