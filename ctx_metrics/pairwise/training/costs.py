"""What training of a pairwise network minimises (Guzmán et al. 2015), as a mean over the pairs of a minibatch."""

import torch
import torch.nn.functional as F


def logistic_cost(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The negative log-likelihood: the mean of -(y log theta + (1 - y) log(1 - theta)), theta = 1 / (1 + exp(-logit)).

    logits    fp32 [pairs], for the text shown first; y    fp32 [pairs], 1 where the first is better, 0 where the second

    >>> round(logistic_cost(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 0.0])).item(), 4)  # (log 2 + log(1 + e^2)) / 2
    1.41
    """
    return F.binary_cross_entropy_with_logits(logits, y)


def kendall_cost(
    theta: torch.Tensor, theta_swapped: torch.Tensor, y: torch.Tensor, beta: float = 100.0, gamma: float = 100.0
) -> torch.Tensor:
    """A smooth stand-in for Kendall's tau, the mean of y sig(-gamma D) + (1-y) sig(gamma D) + exp(-beta D^2 / 2).

    D = theta - theta_swapped is what the network says of a pair minus what it says of it in the other order, and sig the
    logistic function. The first two terms count the pairs in the wrong order, the Gaussian those that are near a tie.

    theta, theta_swapped    fp32 [pairs], in [0, 1]; y    as logistic_cost has it

    >>> theta, swapped = torch.tensor([0.5, 0.6]), torch.tensor([0.5, 0.4])
    >>> round(kendall_cost(theta, swapped, torch.ones(2), beta=50, gamma=10).item(), 4)  # (1/2 + 1 + 1/(1+e^2) + 1/e) / 2
    0.9935
    """
    difference = theta - theta_swapped
    # sig(-gamma D) for y = 1 and sig(gamma D) for y = 0
    wrong = torch.sigmoid((1 - 2 * y) * gamma * difference)
    return (wrong + torch.exp(-beta / 2 * difference**2)).mean()
