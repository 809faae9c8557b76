"""Trains a pairwise network on human preferences. Stopped at any moment, it goes on where it was, bit for bit."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ...errors import InputError
from ...models.pairwise.network import PairwiseNetwork
from ..interruption import deferred
from ..state import TrainingState, read_state, write_state
from .comparisons import Comparisons, strict_tau
from .costs import kendall_cost, logistic_cost
from .recipe import PairwiseRecipe

# Seconds between two writings of the state.
STATE_SECONDS = 30.0
# Pairs that `margins` takes at a time.
MARGIN_PAIRS = 16384
# Keep what is drawn for different ends apart, whatever the seed.
COIN, ORDER = 1, 2


@dataclass(frozen=True)
class Check:
    """A look at the development pairs after an epoch, the phase's first being 1.

    phase    logistic or kendall; cost    its mean over the epoch's pairs; tau    strict, over the development pairs
    """

    phase: str
    epoch: int
    cost: float
    tau: float


@dataclass
class Progress:
    """Where a training is.

    phase, epoch    how many are behind it; taken    steps of this epoch; costs    the sum over the pairs of this epoch
    best            number of the best check, the first of equal ones
    rise            number of the check, or of the phase's start, from which patience counts
    """

    phase: int = 0
    epoch: int = 0
    taken: int = 0
    costs: float = 0.0
    best: int = -1
    rise: int = -1
    checks: list[Check] = field(default_factory=list)


class PairwiseTrainer:
    """Minimises a recipe's cost over pairs, and keeps the weights with the highest tau on the development pairs.

    Which text of a pair is shown first is one coin a pair for the whole training. The decision on a development pair is
    the mean of both orders.

    state_path     where the state is kept while it runs; None: nowhere
    fingerprint    what the state must have been written for, such as settings and data; another is refused

    Raises InputError for sets without a pair, and ValueError for sets of other widths than the network's.
    """

    def __init__(
        self,
        network: PairwiseNetwork,
        recipe: PairwiseRecipe,
        training: Comparisons,
        development: Comparisons,
        state_path: Path | None = None,
        fingerprint: dict[str, Any] | None = None,
        quiet: bool = False,
    ):
        for name, comparisons in (("train on", training), ("check the training with", development)):
            widths = comparisons.texts.shape[1], comparisons.outputs.shape[1]
            if widths != (network.shape.vectors, network.shape.features):
                raise ValueError(f"pairs to {name} have widths {widths}, and the network is of {network.shape}")
            if not len(comparisons):
                raise InputError(f"there are no pairs to {name}; give more data")
        self.network, self.recipe, self.quiet = network, recipe, quiet
        self.state_path, self.fingerprint = state_path, fingerprint or {}
        self.development = development
        self.texts, self.outputs = torch.from_numpy(training.texts), torch.from_numpy(training.outputs)
        better_first = np.random.default_rng([COIN, recipe.seed]).random(len(training)) < 0.5
        better, worse, reference, better_output, worse_output = training.pairs.T
        # rows of the text shown first, of the second and of the reference; of the outputs in the same order; and y
        self.rows = torch.from_numpy(
            np.stack([np.where(better_first, better, worse), np.where(better_first, worse, better), reference])
        )
        self.output_rows = torch.from_numpy(
            np.stack(
                [
                    np.where(better_first, better_output, worse_output),
                    np.where(better_first, worse_output, better_output),
                ]
            )
        )
        self.y = torch.from_numpy(better_first.astype(np.float32))
        self.weights = flattened(network)
        self.optimiser = self._fresh_optimiser()
        self.progress = Progress()
        self.best = self._copy()

    def train(self) -> list[Check]:
        """Train to the end, put the best weights into the network, and return all checks.

        Raises InputError where a state of another training is in the way, or the cost is no number any more, and
        KeyboardInterrupt, after saving the state, on Ctrl-C.
        """
        if self.state_path is not None and self.state_path.exists():
            self._restore(read_state(self.state_path, self.fingerprint))
        progress, epochs, phases = self.progress, self.recipe.epochs, len(self.recipe.phases)
        behind = progress.phase * epochs + progress.epoch
        self._saved = time.monotonic()
        with (
            deferred() as interrupted,
            tqdm(total=phases * epochs, initial=behind, unit="epoch", disable=self.quiet or None) as bar,
        ):
            while progress.phase < phases:
                self._epoch(interrupted)
                bar.update()
                last, best = progress.checks[-1], progress.checks[progress.best]
                bar.set_postfix(cost=f"{last.cost:.4f}", tau=f"{last.tau:.4f}", best=f"{best.tau:.4f}", refresh=False)
        self._save()
        self.network.load_state_dict(self.best)
        return progress.checks

    def _epoch(self, interrupted: Callable[[], bool]) -> None:
        """What is left of an epoch, its check, and the step to the next phase where this one ends."""
        progress, recipe, pairs = self.progress, self.recipe, len(self.y)
        generator = np.random.default_rng([ORDER, recipe.seed, progress.phase, progress.epoch])
        order = torch.from_numpy(generator.permutation(pairs))
        rows, output_rows, y = self.rows[:, order], self.output_rows[:, order], self.y[order]
        for begin in range(progress.taken * recipe.batch, pairs, recipe.batch):
            batch = slice(begin, begin + recipe.batch)
            self._step(rows[:, batch], output_rows[:, batch], y[batch])
            if interrupted():
                self._save()
                raise KeyboardInterrupt
            if time.monotonic() - self._saved >= STATE_SECONDS:
                self._save()
        self._check()
        progress.epoch, progress.taken, progress.costs = progress.epoch + 1, 0, 0.0
        waited = len(progress.checks) - 1 - progress.rise
        if progress.epoch == recipe.epochs or (recipe.patience is not None and waited >= recipe.patience):
            self._next_phase()

    def _step(self, rows: torch.Tensor, output_rows: torch.Tensor, y: torch.Tensor) -> None:
        pairs = len(y)
        terms = self.network.terms(self.texts.index_select(0, rows.reshape(-1))).split(pairs)
        features = self.outputs.index_select(0, output_rows.reshape(-1)).split(pairs)
        if self.recipe.phases[self.progress.phase] == "logistic":
            cost = logistic_cost(self.network.logits(*terms, *features), y)
        else:
            theta, swapped = map(torch.sigmoid, self.network.both_orders(*terms, *features))
            cost = kendall_cost(theta, swapped, y, self.recipe.beta, self.recipe.gamma)
        self.weights.grad.zero_()
        cost.backward()
        self.optimiser.step()
        value = cost.item()
        if not math.isfinite(value):
            epoch = self.progress.epoch + 1
            raise InputError(
                f"the cost of step {self.progress.taken + 1} of epoch {epoch} is {value}; lower the learning rate"
            )
        self.progress.taken += 1
        self.progress.costs += value * pairs

    def _check(self) -> None:
        """Find the tau of the development pairs; keep the weights where it was never as high before."""
        progress = self.progress
        tau = strict_tau(margins(self.network, self.development))
        best = progress.checks[progress.best].tau if progress.best >= 0 else -math.inf
        phase = self.recipe.phases[progress.phase]
        progress.checks.append(Check(phase, progress.epoch + 1, progress.costs / len(self.y), tau))
        if tau > best:
            progress.best, self.best = len(progress.checks) - 1, self._copy()
            progress.rise = progress.best

    def _next_phase(self) -> None:
        """Go on from the best weights so far, with a fresh optimiser."""
        progress = self.progress
        progress.phase, progress.epoch, progress.rise = progress.phase + 1, 0, len(progress.checks) - 1
        if progress.phase < len(self.recipe.phases):
            self.network.load_state_dict(self.best)
            self.optimiser = self._fresh_optimiser()

    def _fresh_optimiser(self) -> torch.optim.Optimizer:
        kind = {"adagrad": torch.optim.Adagrad, "adamw": torch.optim.AdamW}[self.recipe.optimiser]
        return kind([self.weights], lr=self.recipe.learning_rate, weight_decay=self.recipe.weight_decay, foreach=False)

    def _copy(self) -> dict[str, torch.Tensor]:
        return {name: tensor.clone() for name, tensor in self.network.state_dict().items()}

    def _save(self) -> None:
        self._saved = time.monotonic()
        if self.state_path is None:
            return
        moments = dict(self.optimiser.state[self.weights])
        progress = json.dumps(asdict(self.progress))
        write_state(self.state_path, TrainingState(self._copy(), self.best, moments, progress), self.fingerprint)

    def _restore(self, state: TrainingState) -> None:
        progress = json.loads(state.progress)
        checks = [Check(**check) for check in progress.pop("checks")]
        self.progress, self.best = Progress(**progress, checks=checks), state.best
        self.network.load_state_dict(state.network)
        self.optimiser.state[self.weights] = state.optimizer


def flattened(network: nn.Module) -> nn.Parameter:
    """All weights of a network as one parameter, of which its own are views, and so are their gradients.

    An optimiser takes as long over four small tensors as over large ones; over one it takes a quarter of that.
    """
    own = list(network.parameters())
    flat = nn.Parameter(nn.utils.parameters_to_vector(own).detach().clone())
    flat.grad = torch.zeros_like(flat)
    sizes = [parameter.numel() for parameter in own]
    for parameter, values, gradients in zip(own, flat.data.split(sizes), flat.grad.split(sizes)):
        parameter.data, parameter.grad = values.view_as(parameter), gradients.view_as(parameter)
    return flat


@torch.inference_mode()
def margins(network: PairwiseNetwork, comparisons: Comparisons) -> np.ndarray:
    """How far a network puts the better output above the worse one: float64 [P], of the logits of both orders.

    (logit of (better, worse) - logit of (worse, better)) / 2: its sign is that of the mean of both orders' probabilities
    minus .5, also where these are rounded to 0 or 1.
    """
    terms, outputs = network.terms(torch.from_numpy(comparisons.texts)), torch.from_numpy(comparisons.outputs)
    found = []
    for begin in range(0, len(comparisons), MARGIN_PAIRS):
        rows = torch.from_numpy(comparisons.pairs[begin : begin + MARGIN_PAIRS]).T
        straight, swapped = network.both_orders(
            *(terms[each] for each in rows[:3]), *(outputs[each] for each in rows[3:])
        )
        found.append((straight.double() - swapped.double()) / 2)
    return torch.cat(found).numpy() if found else np.zeros(0)
