"""What training minimises."""

import torch

from ...engine.transfer import send


def squared_error(values: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Mean of weight * (value - target)^2 over n rows; all tensors [n]."""
    return (weights * (values - targets).square()).mean()


def pairwise_hinge(
    values: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor, groups: torch.Tensor, margin: float
) -> torch.Tensor:
    """Mean of weight * max(0, margin - (better - worse)) over the pairs of outputs of one segment whose targets differ.

    Mathur et al. (2019, section 6) suggest a ranking loss for Kendall's tau, which asks for the order alone. A pair weighs
    the mean of its two weights. 0 where a batch holds no pair.

    values, weights    [n], on the network's device
    targets    [n];  groups    int64 [n], the number of each row's segment. They are on the CPU, so that a GPU is not waited
               for when the pairs are counted

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
