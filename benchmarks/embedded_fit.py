"""Fits the alignment regressor's network to human scores; the encoder stays frozen."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine.pairs import map_pairs, one_by_one
from ctx_metrics.models.regressor import PairFeatures, RegressorNetwork, feature_names, network_inputs


@dataclass(frozen=True)
class Recipe:
    """How the network is built and fitted; both branches are fitted on their own. Written into the model's config.

    mqm weights    weight of an MQM judgement in each branch's loss; one of direct assessment weighs 1
    """

    layers: tuple[int, ...] = (3, 4, 6)
    alignment_hidden: int = 32
    alignment_dropout: float = 0.1
    alignment_epochs: int = 8
    alignment_mqm_weight: float = 0.05
    pooled_hidden: int = 64
    pooled_dropout: float = 0.2
    pooled_epochs: int = 4
    pooled_mqm_weight: float = 0.2
    batch: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    seed: int = 1


def encode_pairs(
    encoder: TextEncoder, pairs: Sequence[tuple[str, str]], layers: Sequence[int], label: str
) -> list[tuple | None]:
    """The network's inputs for (hypothesis, reference) pairs, as models.regressor.PairFeatures gives them; None
    where a side has no tokens."""
    features = one_by_one(PairFeatures(layers))
    results = map_pairs(encoder, pairs, [(layer,) for layer in layers], features, label=label)
    return [result.value for result in results]


def fit(
    inputs: Sequence[tuple], targets: Sequence[float], is_mqm: Sequence[bool], width: int, recipe: Recipe
) -> RegressorNetwork:
    """Fit both branches to standardised human scores; returns the network in evaluation mode.

    inputs    what encode_pairs gave, n of them;  targets    n scores;  is_mqm    n flags that pick the weights;
    width     the encoder's
    """
    torch.manual_seed(recipe.seed)
    features, hypotheses, references = network_inputs(inputs)
    y, mqm = torch.tensor(targets), torch.tensor(is_mqm)
    network = RegressorNetwork(
        len(feature_names(recipe.layers)),
        len(recipe.layers),
        width=width,
        alignment_hidden=recipe.alignment_hidden,
        pooled_hidden=recipe.pooled_hidden,
        alignment_dropout=recipe.alignment_dropout,
        pooled_dropout=recipe.pooled_dropout,
    )
    network.alignment.mean.copy_(features.mean(0))
    network.alignment.std.copy_(features.std(0) + 1e-6)
    fit_branch(
        network.alignment,
        [features],
        y,
        torch.where(mqm, recipe.alignment_mqm_weight, 1.0),
        recipe.alignment_epochs,
        recipe,
    )
    fit_branch(
        network.pooled,
        [hypotheses, references],
        y,
        torch.where(mqm, recipe.pooled_mqm_weight, 1.0),
        recipe.pooled_epochs,
        recipe,
    )
    return network.eval()


def fit_branch(
    branch: nn.Module,
    inputs: Sequence[torch.Tensor],
    targets: torch.Tensor,
    weights: torch.Tensor,
    epochs: int,
    recipe: Recipe,
) -> None:
    """Minimise the weighted squared error of a branch, in place, with AdamW and a one-cycle learning rate."""
    generator = torch.Generator().manual_seed(recipe.seed)
    steps = -(-len(targets) // recipe.batch)
    optimizer = torch.optim.AdamW(branch.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.learning_rate, total_steps=steps * epochs, pct_start=0.1
    )
    branch.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(targets), generator=generator).split(recipe.batch):
            loss = (weights[rows] * (branch(*(tensor[rows] for tensor in inputs)) - targets[rows]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
