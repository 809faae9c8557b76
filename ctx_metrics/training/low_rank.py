"""Low-rank changes of an encoder: W + B A replaces a linear layer's W. They take a few MB, the whole encoder hundreds."""

import torch
from torch import nn


class LowRankLinear(nn.Module):
    """A frozen linear layer W with a learned change of rank r: x (W + B A)^T + bias.

    Hu et al. (2022), "LoRA: Low-Rank Adaptation of Large Language Models", without their factor alpha / r. B is zero at
    first, so that the network starts out unchanged.

    linear    the layer, with m inputs and n outputs;  down    A [r, m];  up    B [n, r]
    """

    def __init__(self, linear: nn.Linear, rank: int):
        super().__init__()
        self.linear = linear
        self.down = nn.Parameter(torch.randn(rank, linear.in_features) / linear.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.linear(states) + nn.functional.linear(nn.functional.linear(states, self.down), self.up)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """The linear layer with the change added to its own weights."""
        self.linear.weight += self.up @ self.down
        return self.linear


def adapt(encoder: nn.Module, rank: int) -> int:
    """Give each linear layer of an encoder a change of this rank; freeze the rest except vectors: biases and layer norms.

    The pooler gets no change and is frozen. Returns the number of changed layers, 0 for an encoder without linear layers.
    """
    found = getattr(encoder, "pooler", None)
    pooler = set() if found is None else set(found.parameters())
    for parameter in encoder.parameters():
        parameter.requires_grad = parameter.dim() == 1 and parameter not in pooler
    changed = 0
    for parent in list(encoder.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear) and child.weight not in pooler:
                setattr(parent, name, LowRankLinear(child, rank))
                changed += 1
    return changed


def learned(network: nn.Module) -> dict[str, torch.Tensor]:
    """The parameters that an adapted network has learned, by name: all that are trainable."""
    return {name: parameter.detach() for name, parameter in network.named_parameters() if parameter.requires_grad}


def merge(network: nn.Module) -> None:
    """Merge each change into its layer's weights, so that the network is as fast as before."""
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LowRankLinear):
                setattr(parent, name, child.merged())
