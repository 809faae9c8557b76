import math

import pytest
import torch

from ctx_metrics.pairwise.training.task import kendall_cost, logistic_cost


def single(cost, *numbers, **named):
    return cost(*(torch.tensor([number], dtype=torch.float64) for number in numbers), **named).item()


def test_logistic_cost_by_hand():
    assert single(logistic_cost, 0.0, 1.0) == pytest.approx(math.log(2))
    # a probability of 3/4, whose logit is log 3, for what is right and what is wrong
    assert single(logistic_cost, math.log(3), 1.0) == pytest.approx(-math.log(3 / 4))
    assert single(logistic_cost, math.log(3), 0.0) == pytest.approx(-math.log(1 / 4))
    assert single(logistic_cost, 500.0, 0.0) == 500.0


def test_costs_are_means_over_the_minibatch():
    x, y = torch.tensor([0.3, -1.0, 2.0]), torch.tensor([1.0, 1, 0])
    for cost in (lambda x, y: logistic_cost(x, y), lambda x, y: kendall_cost(x.sigmoid(), (-x).sigmoid(), y, 3, 2)):
        alone = [cost(x[i : i + 1], y[i : i + 1]).item() for i in range(3)]
        assert cost(x, y).item() == pytest.approx(sum(alone) / 3, rel=1e-6)


@pytest.mark.parametrize(
    "theta, theta_swapped, y, wanted",
    [
        (0.5, 0.5, 1.0, 1 / 2 + 1),  # a tie: half wrong, and the top of the Gaussian
        (0.5, 0.5, 0.0, 1 / 2 + 1),
        # D = .2, gamma D = 2 and beta D^2 / 2 = 1
        (0.6, 0.4, 1.0, 1 / (1 + math.exp(2)) + math.exp(-1)),
        (0.6, 0.4, 0.0, 1 / (1 + math.exp(-2)) + math.exp(-1)),
        (0.4, 0.6, 1.0, 1 / (1 + math.exp(-2)) + math.exp(-1)),
        (0.4, 0.6, 0.0, 1 / (1 + math.exp(2)) + math.exp(-1)),
    ],
)
def test_kendall_cost_by_hand(theta, theta_swapped, y, wanted):
    assert single(kendall_cost, theta, theta_swapped, y, beta=50, gamma=10) == pytest.approx(wanted, rel=1e-12)


def test_kendall_cost_has_the_papers_constants():
    # D = .02: 100 * D = 2, 100 * D^2 / 2 = .02
    assert single(kendall_cost, 0.51, 0.49, 1.0) == pytest.approx(1 / (1 + math.exp(2)) + math.exp(-0.02), rel=1e-12)


def test_costs_gradients():
    y = torch.tensor([1.0, 0, 1], dtype=torch.float64)
    x, z = (torch.randn(3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda x: logistic_cost(x, y), (x,))
    assert torch.autograd.gradcheck(lambda x, z: kendall_cost(x.sigmoid(), z.sigmoid(), y, 9.0, 4.0), (x, z))
