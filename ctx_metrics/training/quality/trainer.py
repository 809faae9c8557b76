"""Trains a network on pairs of texts with human scores. Stopped at any moment, it goes on where it was, bit for bit."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ...errors import InputError
from ..batches import epoch_batches
from ..interruption import deferred
from ..state import TrainingState, load_moments, moments, read_state, write_state
from .development import DevelopmentSet
from .examples import TrainingSet
from .inputs import PairInputs
from .losses import pairwise_hinge, squared_error
from .recipe import Recipe, linear_rate

DEVELOPMENT_BATCH = 64
# Steps between two writings of the state, beside those at each check.
STATE_STEPS = 200


@dataclass(frozen=True)
class Check:
    """A look at the development data: after `step` steps, `rows` rows in all; `loss` is the mean since the check before."""

    step: int
    epoch: int
    rows: int
    loss: float
    score: float
    learning_rate: float


@dataclass
class Progress:
    """Where a training is. `step` counts all steps, `taken` those of the epoch; `best` is the number of the best check.

    losses, since    the sum of the losses, and the number of the rows, since the last check
    """

    step: int = 0
    epoch: int = 0
    taken: int = 0
    since: int = 0
    losses: float = 0.0
    steps_since: int = 0
    rate: float = 0.0
    best: int = -1
    done: bool = False
    checks: list[Check] = field(default_factory=list)


class Trainer:
    """Minimises a recipe's loss over a training set, and keeps the weights that are best on the development set.

    network        its `outputs(*inputs)` gives one or more predictions [n] to learn, its forward the one to use
    state_path     where the state is kept while it runs; None: nowhere
    fingerprint    what the state must have been written for, such as settings and data; another is refused
    """

    def __init__(
        self,
        network: nn.Module,
        recipe: Recipe,
        training: TrainingSet,
        inputs: PairInputs,
        development: DevelopmentSet,
        development_inputs: PairInputs,
        state_path: Path | None = None,
        fingerprint: dict[str, Any] | None = None,
        quiet: bool = False,
        device: torch.device = torch.device("cpu"),
    ):
        self.network, self.recipe, self.quiet, self.device = network.to(device), recipe, quiet, device
        self.inputs, self.development, self.development_inputs = inputs, development, development_inputs
        self.state_path, self.fingerprint = state_path, fingerprint or {}
        self.targets, self.weights = (
            torch.tensor(column, dtype=torch.float32) for column in (training.targets, training.weights)
        )
        numbers = {group: number for number, group in enumerate(dict.fromkeys(training.groups))}
        self.groups = [numbers[group] for group in training.groups]
        if recipe.loss != "mse" and not self._has_pairs(training):
            raise InputError(
                "hinge: no segment has two outputs with different scores to compare; learn with --loss mse"
            )
        self.batches_an_epoch = -(-len(training) // recipe.batch)
        self.optimizer = torch.optim.AdamW(
            network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self.progress = Progress(rate=recipe.learning_rate)
        self.best = self._weights()

    def train(self) -> list[Check]:
        """Train to the end, put the best weights into the network, and return all checks.

        Raises InputError where a state of another training is in the way, or the loss is no number any more, and
        KeyboardInterrupt, after saving the state, on Ctrl-C.
        """
        if self.state_path is not None and self.state_path.exists():
            self._restore(read_state(self.state_path, self.fingerprint))
        steps = self.batches_an_epoch * self.recipe.epochs
        # the bar counts steps; the loss and the development score stand behind it
        with (
            deferred() as interrupted,
            tqdm(total=steps, initial=self.progress.step, unit="step", disable=self.quiet or None) as bar,
        ):
            for batch in self._batches():
                self._step(batch)
                bar.update()
                if self._is_check_due():
                    self._check()
                    last = self.progress.checks[-1]
                    bar.set_postfix(loss=f"{last.loss:.4f}", dev=f"{last.score:.4f}", best=f"{self._best_score():.4f}")
                    self._save()
                elif self.progress.step % STATE_STEPS == 0:
                    self._save()
                if interrupted():
                    self._save()
                    raise KeyboardInterrupt
        self.network.load_state_dict(self.best)
        self.network.eval()
        return self.progress.checks

    def _has_pairs(self, training: TrainingSet) -> bool:
        """Whether two outputs of one segment have different targets."""
        targets: dict[int, set[float]] = {}
        for group, target in zip(self.groups, training.targets.tolist()):
            targets.setdefault(group, set()).add(target)
        return any(len(of_group) > 1 for of_group in targets.values())

    def _batches(self) -> Iterator[list[int]]:
        """The batches that are left of the training, until it is done."""
        progress = self.progress
        while not progress.done and progress.epoch < self.recipe.epochs:
            batches = epoch_batches(
                self.inputs.lengths, self.groups, self.recipe.batch, self.recipe.seed, progress.epoch
            )
            while progress.taken < len(batches) and not progress.done:
                yield batches[progress.taken]
            progress.epoch, progress.taken = progress.epoch + 1, 0

    def _step(self, rows: list[int]) -> None:
        progress, recipe = self.progress, self.recipe
        # dropout hangs on the seed and the step alone, so that nothing need be remembered of it
        torch.manual_seed(recipe.seed * 1_000_003 + progress.step)
        rate = progress.rate
        if recipe.schedule == "linear":
            rate = linear_rate(recipe, progress.step, self.batches_an_epoch * recipe.epochs)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.network.train()
        loss = self._loss(rows)
        if not torch.isfinite(loss):
            raise InputError(f"the loss of step {progress.step + 1} is {loss.item()}; lower the learning rate")
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), recipe.clip)
        self.optimizer.step()
        progress.rate = rate
        progress.step += 1
        progress.taken += 1
        progress.since += len(rows)
        progress.losses += loss.item()
        progress.steps_since += 1

    def _loss(self, rows: list[int]) -> torch.Tensor:
        targets, weights = (column[rows].to(self.device) for column in (self.targets, self.weights))
        groups = torch.tensor([self.groups[row] for row in rows], device=self.device)
        inputs = self._on_device(self.inputs.batch(rows))
        total = torch.zeros((), device=self.device)
        for values in self.network.outputs(*inputs):
            if "mse" in self.recipe.loss:
                total = total + squared_error(values, targets, weights)
            if "hinge" in self.recipe.loss:
                total = total + pairwise_hinge(values, targets, weights, groups, self.recipe.margin)
        return total

    def _is_check_due(self) -> bool:
        at_end = self.progress.taken == self.batches_an_epoch
        return at_end if self.recipe.check_rows is None else at_end or self.progress.since >= self.recipe.check_rows

    def _check(self) -> None:
        """Score the development set; keep the weights if they are the best, else slow down or stop."""
        progress, recipe = self.progress, self.recipe
        score = self.development.score(self.values(self.development_inputs))
        rows = progress.since + (progress.checks[-1].rows if progress.checks else 0)
        loss = progress.losses / progress.steps_since
        best = self._best_score()
        progress.checks.append(Check(progress.step, progress.epoch + 1, rows, loss, score, progress.rate))
        progress.since, progress.losses, progress.steps_since = 0, 0.0, 0
        if score > best:
            progress.best, self.best = len(progress.checks) - 1, self._weights()
            return
        if recipe.schedule == "plateau":
            progress.rate *= recipe.decay
        if recipe.patience is not None and len(progress.checks) - 1 - progress.best >= recipe.patience:
            progress.done = True

    @torch.inference_mode()
    def values(self, inputs: PairInputs) -> np.ndarray:
        """The network's values of all rows: float64 [n]."""
        self.network.eval()
        order = sorted(range(len(inputs.lengths)), key=inputs.lengths.__getitem__)
        values = np.zeros(len(order))
        for begin in range(0, len(order), DEVELOPMENT_BATCH):
            rows = order[begin : begin + DEVELOPMENT_BATCH]
            values[rows] = self.network(*self._on_device(inputs.batch(rows))).cpu().numpy()
        return values

    def _on_device(self, inputs: tuple) -> tuple:
        return tuple(each.to(self.device) if isinstance(each, torch.Tensor) else each for each in inputs)

    def _best_score(self) -> float:
        return self.progress.checks[self.progress.best].score if self.progress.best >= 0 else -np.inf

    def _weights(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().cpu().clone() for name, tensor in self.network.state_dict().items()}

    def _save(self) -> None:
        if self.state_path is None:
            return
        progress = json.dumps(asdict(self.progress))
        state = TrainingState(self._weights(), self.best, moments(self.optimizer), progress)
        write_state(self.state_path, state, self.fingerprint)

    def _restore(self, state: TrainingState) -> None:
        progress = json.loads(state.progress)
        checks = [Check(**check) for check in progress.pop("checks")]
        self.progress, self.best = Progress(**progress, checks=checks), state.best
        self.network.load_state_dict(state.network)
        load_moments(self.optimizer, state.optimizer)
