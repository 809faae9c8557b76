"""The network of Guzmán, Joty, Màrquez and Nakov (ACL 2015): which of two translations is better, given a reference.

    h_12 = tanh(W_12 [x1, x2] + b_12),  h_1r = tanh(W_1r [x1, xr] + b_1r),  h_2r = tanh(W_2r [x2, xr] + b_2r)
    s(1, 2) = w . [h_12, h_1r, h_2r, psi1, psi2] + b,    P(t1 is better) = 1 / (1 + exp(-s))

x are the vectors of the two texts and the reference, psi the scores of the two texts by other metrics. A group of the
hidden layer is a sum of two terms, one per text, so each text of a tournament is multiplied by the weights only once.
"""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import expit
from torch import nn

from ..errors import InputError

# The places a text can have in a group, each with its own matrix: t1 in (t1, t2), t1 in (t1, r), t2 in (t1, t2),
# t2 in (t2, r), r in (t1, r), r in (t2, r). The two places of each text are adjacent.
PLACES = 6
# The matrix of each place if (t1, r) and (t2, r) share theirs: t1 in (t1, t2), t2 in (t1, t2), t in (t, r), r in (t, r).
TIED_PLACES = (0, 2, 1, 2, 3, 3)


@dataclass(frozen=True)
class Shape:
    """The inputs and the structure of a network.

    vectors          width of a sentence vector; 0: none
    features         number of features of an output; 0: none
    hidden           units in each of the three groups; 0: none, which is logistic regression over [x1, x2, xr, psi1, psi2]
    tied             (t1, r) and (t2, r) share matrix and bias; no effect without vectors and hidden units
    antisymmetric    s(1, 2) is replaced by (s(1, 2) - s(2, 1)) / 2, so that swapping the texts negates it
    """

    vectors: int
    features: int
    hidden: int = 4
    tied: bool = False
    antisymmetric: bool = False

    def __post_init__(self):
        if min(self.vectors, self.features, self.hidden) < 0:
            raise InputError(f"{self}: no width may be below 0")
        if not self.vectors and not self.features:
            raise InputError("a pairwise network needs features, sentence vectors, or both")


class PairwiseNetwork(nn.Module):
    """The network of a given shape, in fp32; initial weights are drawn from a generator seeded by `seed`, biases are 0.

    A weight matrix of n inputs and m outputs is uniform in +-sqrt(6 / (n + m)) (Glorot and Bengio 2010).

    >>> sum(p.numel() for p in PairwiseNetwork(Shape(vectors=75, features=4)).parameters())  # the paper's network
    1833
    """

    def __init__(self, shape: Shape, seed: int = 1):
        super().__init__()
        self.shape = shape
        generator = torch.Generator().manual_seed(seed)
        vectors, features, hidden = shape.vectors, shape.features, shape.hidden

        def drawn(inputs: int, outputs: int, *size: int) -> nn.Parameter:
            values, bound = torch.empty(size), (6 / (inputs + outputs)) ** 0.5
            if not values.is_meta:  # as in models.regressor.last_layer
                values = (torch.rand(size, generator=generator) * 2 - 1) * bound
            return nn.Parameter(values)

        self.has_groups = bool(vectors and hidden)
        if self.has_groups:
            self.weight = drawn(2 * vectors, hidden, 4 if shape.tied else PLACES, hidden, vectors)
            self.bias = nn.Parameter(torch.zeros(2 if shape.tied else 3, hidden))
            last = 3 * hidden + 2 * features
        elif vectors:
            last = 3 * vectors + 2 * features
            self.weight = drawn(last, 1, 3, vectors)
        else:
            last = 2 * features
        # last layer's weights for the groups and for psi; without groups, self.weight holds those for the vectors
        if width := (3 * hidden if self.has_groups else 0) + 2 * features:
            self.output = drawn(last, 1, width)
        self.output_bias = nn.Parameter(torch.zeros(1))

    def terms(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the terms that texts contribute in each place they can have: [n, T] from their vectors [n, V].

        T is 6 times the number of hidden units; 3 without hidden units, for t1, t2 and r; 0 without vectors.
        """
        if not self.shape.vectors:
            return vectors.new_zeros(len(vectors), 0)
        weight: torch.Tensor = self.weight
        if self.has_groups:
            weight = (weight[TIED_PLACES,] if self.shape.tied else weight).reshape(-1, self.shape.vectors)
        return F.linear(vectors, weight)

    def logits(self, *texts: torch.Tensor) -> torch.Tensor:
        """Return the logits [pairs] that the first text is better.

        texts    terms [pairs, T] of the first text, the second text and the reference, then features [pairs, K] of the first
                 and the second text

        If the network is antisymmetric, swapping first and second negates the logits exactly.
        """
        return self.both_orders(*texts)[0] if self.shape.antisymmetric else self._scores(*texts)

    def both_orders(self, *texts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return `logits` [pairs] for (first, second) and for (second, first), each that its own first text is better."""
        first, second, reference, first_features, second_features = texts
        # Both calls have the same shapes, so that a row is summed in the same order whichever text comes first.
        straight = self._scores(*texts)
        swapped = self._scores(second, first, reference, second_features, first_features)
        if not self.shape.antisymmetric:
            return straight, swapped
        half = (straight - swapped) / 2
        return half, -half

    def forward(self, *texts: torch.Tensor) -> torch.Tensor:
        """Return the logits [pairs] from vectors [pairs, V] of both texts and the reference, and both texts' features."""
        # each text separately, so that its terms do not depend on its place
        return self.logits(*map(self.terms, texts[:3]), *texts[3:])

    def _scores(self, *texts: torch.Tensor) -> torch.Tensor:
        """Return s(1, 2), before it is made antisymmetric."""
        first, second, reference, *features = texts
        if not self.has_groups:
            total: torch.Tensor = self.output_bias
            if self.shape.features:
                total = torch.addmv(total, torch.cat(features, 1), self.output)
            if self.shape.vectors:
                total = total + first[:, 0] + second[:, 1] + reference[:, 2]
            return total
        hidden = self.shape.hidden
        bias = self.bias[[0, 1, 1]] if self.shape.tied else self.bias
        # the texts' terms of [h_12, h_1r, h_2r], two for each group
        second_in_12, second_in_2r = second[:, 2 * hidden : 4 * hidden].split(hidden, 1)
        one = torch.cat((first[:, : 2 * hidden], second_in_2r), 1)
        other = torch.cat((second_in_12, reference[:, 4 * hidden :]), 1)
        groups = torch.tanh(one + other + bias.flatten())
        return torch.addmv(self.output_bias, torch.cat((groups, *features), 1), self.output)


def probability(logits: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-logits)) in float64, where probability(-x) == 1 - probability(x) exactly; NaN stays NaN.

    To make this exact, values are multiples of 2^-53: a probability below 1e-16 becomes 0.

    >>> probability(np.array([0.0, 2.0, -2.0])).round(4).tolist()
    [0.5, 0.8808, 0.1192]
    """
    logits = np.asarray(logits, np.float64)
    return _mirrored(expit(-np.abs(logits)), logits < 0)


def mean_probability(logits: np.ndarray, swapped: np.ndarray) -> np.ndarray:
    """Return the mean over both orders of the probability that the first text is better: float64 [n].

    The mean is (P(1, 2) + 1 - P(2, 1)) / 2. logits are those of (first, second), swapped those of (second, first).
    Exchanging the two gives exactly 1 minus the result.

    >>> mean_probability(np.array([2.0, 2.0]), np.array([-2.0, 2.0])).round(4).tolist()
    [0.8808, 0.5]
    """
    difference = probability(logits) - probability(swapped)  # exact: both are multiples of 2^-53
    return _mirrored(0.5 - np.abs(difference) / 2, difference < 0)


def _mirrored(smaller: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """Return `smaller`, in [0, .5], where a text lost, else 1 minus it, rounded to the grid of float64 in [.5, 1]."""
    smaller = 1 - (1 - smaller)
    return np.where(lost, smaller, 1 - smaller)
