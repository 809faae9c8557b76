"""The training task of the pairwise network: pairs of outputs of which human judges preferred one, and their costs."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from ...errors import InputError
from ...training.loop import Progress, Task
from ..network import PairwiseNetwork
from .recipe import PairwiseRecipe

# Number of pairs that `margins` processes at a time.
MARGIN_PAIRS = 16384
# Keep random draws for different purposes independent, whatever the seed.
COIN, ORDER = 1, 2
# Rows of the first text, the second text and the reference; rows of both outputs; and y, 1 where the first is better.
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Comparisons:
    """P pairs over T distinct texts and O outputs; several pairs may use the same rows.

    texts      fp32 [T, V]: scaled sentence vectors of outputs and references
    outputs    fp32 [O, K]: scaled features, one row for each output with its reference
    pairs      int64 [P, 5]: rows of the better text, the worse text and the reference in `texts`, and of the better and
               the worse output in `outputs`

    V or K may be 0; the table still has its rows.
    """

    texts: np.ndarray
    outputs: np.ndarray
    pairs: np.ndarray

    def __post_init__(self):
        if not (np.isfinite(self.texts).all() and np.isfinite(self.outputs).all()):
            raise ValueError("texts or outputs are not finite")

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Check:
    """An evaluation on the development pairs after an epoch; a phase's epochs count from 1.

    phase    logistic or kendall; cost    its mean over the epoch's pairs; tau    strict tau over the development pairs
    """

    phase: str
    epoch: int
    cost: float
    tau: float


class PairwiseTask(Task):
    """Minimises a recipe's costs over pairs, one phase per cost, and evaluates tau on the development pairs.

    One coin flip per pair decides which of its texts comes first, for the whole training. The decision on a development
    pair is the mean of both orders.
    """

    kind, score, quick = Check, "tau", True
    network: PairwiseNetwork

    def __init__(
        self, network: PairwiseNetwork, recipe: PairwiseRecipe, training: Comparisons, development: Comparisons
    ):
        for name, comparisons in (("train on", training), ("check the training with", development)):
            if not len(comparisons):
                raise InputError(f"there are no pairs to {name}", fix="give more data")
        self.network, self.recipe, self.development = network, recipe, development
        self.rows, self.phases = len(training), len(recipe.phases)
        self.texts, self.outputs = torch.from_numpy(training.texts), torch.from_numpy(training.outputs)
        better_first = np.random.default_rng([COIN, recipe.seed]).random(len(training)) < 0.5
        better, worse, reference, better_output, worse_output = training.pairs.T
        both = np.stack([better, worse, better_output, worse_output])
        first, second, first_output, second_output = np.where(better_first, both, both[[1, 0, 3, 2]])
        self.pairs: Batch = (
            torch.from_numpy(np.stack([first, second, reference])),
            torch.from_numpy(np.stack([first_output, second_output])),
            torch.from_numpy(better_first.astype(np.float32)),
        )
        self.weights, self.gradient = flattened(network)

    def optimizer(self) -> torch.optim.Optimizer:
        recipe = self.recipe
        kind = {"adagrad": torch.optim.Adagrad, "adamw": torch.optim.AdamW}[recipe.optimiser]
        return kind([self.weights], lr=recipe.learning_rate, weight_decay=recipe.weight_decay, foreach=False)

    def batches(self, progress: Progress) -> list[Batch]:
        generator = np.random.default_rng([ORDER, self.recipe.seed, progress.phase, progress.epoch])
        order = torch.from_numpy(generator.permutation(self.rows))
        return list(zip(*(part[..., order].split(self.recipe.batch, -1) for part in self.pairs), strict=True))

    def size(self, batch: Batch) -> int:
        return len(batch[-1])

    def loss(self, batch: Batch, progress: Progress) -> torch.Tensor:
        rows, output_rows, y = batch
        terms = self.network.terms(self.texts.index_select(0, rows.reshape(-1))).split(len(y))
        features = self.outputs.index_select(0, output_rows.reshape(-1)).split(len(y))
        if self.recipe.phases[progress.phase] == "logistic":
            return logistic_cost(self.network.logits(*terms, *features), y)
        theta, swapped = map(torch.sigmoid, self.network.both_orders(*terms, *features))
        return kendall_cost(theta, swapped, y, self.recipe.beta, self.recipe.gamma)

    def descend(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        self.gradient.zero_()  # in place: the network's gradients are views of it
        loss.backward()
        optimizer.step()

    def place(self, progress: Progress) -> str:
        return f"cost of step {progress.taken + 1} of epoch {progress.epoch + 1}"

    def check(self, progress: Progress, loss: float) -> Check:
        tau = strict_tau(margins(self.network, self.development))
        return Check(self.recipe.phases[progress.phase], progress.epoch + 1, loss, tau)

    def bar(self, last: Check, best: Check) -> Mapping[str, str]:
        return {"cost": f"{last.cost:.4f}", "tau": f"{last.tau:.4f}", "best": f"{best.tau:.4f}"}


def flattened(network: nn.Module) -> tuple[nn.Parameter, torch.Tensor]:
    """Return all weights of a network as one parameter, and its gradient; the network's own become views of them.

    An optimiser step costs as much for a small tensor as for a large one, so one tensor in place of four takes a quarter
    of the time.
    """
    own = list(network.parameters())
    flat = nn.Parameter(nn.utils.parameters_to_vector(own).detach().clone())
    flat.grad = gradient = torch.zeros_like(flat)
    sizes = [parameter.numel() for parameter in own]
    for parameter, values, gradients in zip(own, flat.data.split(sizes), gradient.split(sizes), strict=True):
        parameter.data, parameter.grad = values.view_as(parameter), gradients.view_as(parameter)
    return flat, gradient


@torch.inference_mode()
def margins(network: PairwiseNetwork, comparisons: Comparisons) -> np.ndarray:
    """Return the margin, in logits, by which a network prefers the better output to the worse one: float64 [P].

    The margin is (logit of (better, worse) - logit of (worse, better)) / 2. It has the sign of the mean probability over
    both orders minus .5, even where these probabilities are rounded to 0 or 1.
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


def strict_tau(margins: np.ndarray) -> float:
    """Return the strict tau of WMT12, (C - D - T) / (C + D + T), from -1 to 1.

    margins holds, for each pair, the margin of the better output over the worse one, such as the difference of a metric's
    scores. C margins are above 0, D are below 0, and T are 0; a tie counts as wrong. NaN if there are no pairs.

    >>> strict_tau(np.array([0.5, 0.1, 3.0, -0.2, 0.0]))  # (3 - 1 - 1) / 5
    0.2
    """
    if not len(margins):
        return float("nan")
    return (2 * int(np.count_nonzero(margins > 0)) - len(margins)) / len(margins)  # C - D - T = 2 C - (C + D + T)


def logistic_cost(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the negative log-likelihood: the mean of -(y log theta + (1 - y) log(1 - theta)).

    Here theta = 1 / (1 + exp(-logit)).

    logits    fp32 [pairs], in favour of the first text; y    fp32 [pairs], 1 where the first is better, 0 otherwise

    >>> round(logistic_cost(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 0.0])).item(), 4)  # (log 2 + log(1 + e^2)) / 2
    1.41
    """
    return F.binary_cross_entropy_with_logits(logits, y)


def kendall_cost(
    theta: torch.Tensor, theta_swapped: torch.Tensor, y: torch.Tensor, beta: float = 100.0, gamma: float = 100.0
) -> torch.Tensor:
    """Return a smooth surrogate for Kendall's tau, the mean of y sig(-gamma D) + (1-y) sig(gamma D) + exp(-beta D^2 / 2).

    D = theta - theta_swapped is the network's probability for a pair minus that for the pair in the other order, and sig is
    the logistic function. The first two terms count pairs in the wrong order; the Gaussian counts pairs close to a tie.

    theta, theta_swapped    fp32 [pairs], in [0, 1]; y    as in logistic_cost

    >>> theta, swapped = torch.tensor([0.5, 0.6]), torch.tensor([0.5, 0.4])
    >>> round(kendall_cost(theta, swapped, torch.ones(2), beta=50, gamma=10).item(), 4)  # (1/2 + 1 + 1/(1+e^2) + 1/e) / 2
    0.9935
    """
    difference = theta - theta_swapped
    # sig(-gamma D) for y = 1 and sig(gamma D) for y = 0
    wrong = torch.sigmoid((1 - 2 * y) * gamma * difference)
    return (wrong + torch.exp(-beta / 2 * difference**2)).mean()
