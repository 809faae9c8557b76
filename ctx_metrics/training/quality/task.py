"""The training task of networks that learn human scores of pairs of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...engine.device import send
from ...errors import InputError
from ..loop import Progress, Task, epoch_batches, linear_rate
from .development import DevelopmentSet
from .examples import TrainingSet
from .recipe import Recipe

DEVELOPMENT_BATCH = 64
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Check:
    """An evaluation on the development data after `step` steps and `rows` rows; `loss` is the mean since the last check."""

    step: int
    epoch: int
    rows: int
    loss: float
    score: float
    learning_rate: float


@dataclass(eq=False)
class QualityTask(Task):
    """Minimises a recipe's loss over a training set and checks it on a development set. A batch is a list of row numbers.

    network    its `outputs(*inputs)` returns one or more predictions [n] to train, its forward the final one
    inputs     inputs of the training rows, of the kind that the network reads
    """

    network: Any
    recipe: Recipe
    training: TrainingSet
    inputs: Any
    development: DevelopmentSet
    development_inputs: Any
    device: torch.device = CPU

    kind, score = Check, "score"

    def __post_init__(self):
        training, recipe = self.training, self.recipe
        self.network.to(self.device)
        self.rows, self.check_rows = len(training), recipe.check_rows
        self.targets, self.weights = (
            torch.tensor(column, dtype=torch.float32) for column in (training.targets, training.weights)
        )
        self.centred = torch.from_numpy(training.centred)
        numbers = {group: number for number, group in enumerate(dict.fromkeys(training.groups))}
        self.groups = [numbers[group] for group in training.groups]
        if recipe.loss != "mse" and not self.has_pairs():
            raise InputError(
                "hinge: no segment has two outputs with different scores to compare", fix="learn with --loss mse"
            )

    def has_pairs(self) -> bool:
        """Return whether a segment has two outputs with different targets."""
        return len(set(zip(self.groups, self.training.targets.tolist(), strict=True))) > len(set(self.groups))

    def optimizer(self) -> torch.optim.Optimizer:
        recipe = self.recipe
        return torch.optim.AdamW(self.network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)

    def batches(self, progress: Progress) -> list[list[int]]:
        return self.batches_of(progress.epoch)

    def batches_of(self, epoch: int) -> list[list[int]]:
        """Return an epoch's batches, of whole segments if outputs of a segment are compared."""
        compared = self.recipe.loss != "mse" or bool(self.centred.any())
        return epoch_batches(self.inputs.lengths, self.groups, self.recipe.batch, self.recipe.seed, epoch, compared)

    def rate(self, progress: Progress, steps: int) -> float:
        if self.recipe.schedule == "linear":
            return linear_rate(self.recipe.learning_rate, progress.step, steps)
        return progress.rate

    def slower(self, rate: float) -> float:
        return rate * self.recipe.decay if self.recipe.schedule == "plateau" else rate

    def loss(self, batch: list[int], progress: Progress) -> torch.Tensor:
        return self.loss_of(self.outputs(self.on_device(self.read(batch))), batch)

    def loss_of(self, outputs: Sequence[torch.Tensor], batch: list[int]) -> torch.Tensor:
        """Return the loss of a batch's predictions."""
        targets, groups = self.targets[batch], torch.tensor([self.groups[row] for row in batch])
        wanted, weights = self.on_device((targets, self.weights[batch]))
        total = torch.zeros((), device=self.device)
        for values in outputs:
            if "mse" in self.recipe.loss:
                errors = without_means(values - wanted, groups, self.centred[batch])
                total = total + (weights * errors.square()).mean()
            if "hinge" in self.recipe.loss:
                total = total + pairwise_hinge(values, targets, weights, groups, self.recipe.margin)
        return total

    def read(self, batch: list[int]) -> tuple:
        return self.inputs.batch(batch)

    def outputs(self, inputs: tuple) -> Sequence[torch.Tensor]:
        return self.network.outputs(*inputs)

    def check(self, progress: Progress, loss: float) -> Check:
        score = self.development.score(self.values(self.development_inputs))
        rows = progress.since + (progress.checks[-1].rows if progress.checks else 0)
        return Check(progress.step, progress.epoch + 1, rows, loss, score, progress.rate)

    def bar(self, last: Check, best: Check) -> Mapping[str, str]:
        return {"loss": f"{last.loss:.4f}", "dev": f"{last.score:.4f}", "best": f"{best.score:.4f}"}

    @torch.inference_mode()
    def values(self, inputs: Any) -> np.ndarray:
        self.network.eval()
        order = sorted(range(len(inputs.lengths)), key=inputs.lengths.__getitem__)
        values = np.zeros(len(order))
        for begin in range(0, len(order), DEVELOPMENT_BATCH):
            rows = order[begin : begin + DEVELOPMENT_BATCH]
            values[rows] = self.network(*self.on_device(inputs.batch(rows))).cpu().numpy()
        return values

    def on_device(self, inputs: tuple) -> tuple:
        return tuple(send(each, self.device) if isinstance(each, torch.Tensor) else each for each in inputs)


def without_means(errors: torch.Tensor, groups: torch.Tensor, centred: torch.Tensor) -> torch.Tensor:
    """Return errors [n] with the mean error of its group taken from each centred row, so that only differences count.

    The sum of the squares of what is left is that of all differences of two errors in a group, divided by its size.

    groups    int64 [n], the number of each row's segment;  centred    bool [n], equal within a group. Both are on the CPU

    >>> without_means(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([0, 0, 1]), torch.tensor([True, True, False]))
    tensor([-0.5000,  0.5000,  4.0000])
    """
    rows = centred.nonzero()[:, 0]
    if not len(rows):
        return errors
    of_group, sizes = groups[rows].unique(return_inverse=True, return_counts=True)[1:]
    rows, of_group, sizes = (send(each, errors.device) for each in (rows, of_group, sizes))
    means = errors.new_zeros(len(sizes)).index_add(0, of_group, errors[rows]) / sizes
    return errors.index_add(0, rows, means[of_group], alpha=-1)


def pairwise_hinge(
    values: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor, groups: torch.Tensor, margin: float
) -> torch.Tensor:
    """Return the mean of weight * max(0, margin - (better - worse)) over pairs of a segment's outputs with unequal targets.

    Mathur et al. (2019, section 6) suggest a ranking loss for Kendall's tau, which only depends on the order. A pair's
    weight is the mean of its two weights. The loss is 0 if the batch contains no pairs.

    values, weights    [n], on the network's device
    targets    [n];  groups    int64 [n], the number of each row's segment. Both are on the CPU, so that counting the pairs
               does not wait for a GPU

    >>> values, targets = torch.tensor([0.2, 0.1, 5.0]), torch.tensor([1.0, 0.0, 0.0])
    >>> round(pairwise_hinge(values, targets, torch.ones(3), torch.tensor([7, 7, 8]), 0.5).item(), 4)    # 0.5 - 0.1
    0.4
    """
    better = (targets[:, None] > targets[None, :]) & (groups[:, None] == groups[None, :])
    pairs = better.flatten().nonzero()[:, 0]
    if not len(pairs):
        return values.sum() * 0
    missing = (margin - (values[:, None] - values[None, :])).clamp(min=0)
    weight = (weights[:, None] + weights[None, :]) / 2
    return (weight * missing).flatten()[send(pairs, values.device)].mean()
