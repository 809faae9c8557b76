"""The pairwise network and its costs against their equations, written out in loops."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from selection import some

from ctx_metrics.errors import InputError
from ctx_metrics.pairwise.network import PairwiseNetwork, Shape, mean_probability, probability
from ctx_metrics.pairwise.training.task import kendall_cost, logistic_cost

SHAPES = [
    Shape(vectors, features, hidden, tied, antisymmetric)
    for vectors, features in ((3, 2), (3, 0), (0, 2))
    for hidden in (0, 2)
    for tied in (False, True)
    for antisymmetric in (False, True)
]
FEW = [Shape(3, 2, 2, tied, antisymmetric) for tied in (False, True) for antisymmetric in (False, True)]
FEW += [Shape(3, 0, 0), Shape(3, 2, 0, False, True), Shape(0, 2, 2)]
PAIRS = 5


def inputs(shape, pairs=PAIRS, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    widths = [shape.vectors] * 3 + [shape.features] * 2
    return [torch.randn(pairs, width, generator=generator, dtype=dtype) for width in widths]


def double(shape, seed=3):
    """A network in float64 whose biases are not 0, as after some training."""
    network = PairwiseNetwork(shape, seed).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return network


def swapped(first, second, reference, first_features, second_features):
    return second, first, reference, second_features, first_features


def parameters(network):
    return {name: parameter.detach().numpy().copy() for name, parameter in network.named_parameters()}


def places(shape):
    """(group, row of its matrix, row of its bias, text) of all that a group reads, texts being 0: t1, 1: t2, 2: r."""
    if shape.tied:
        return [(0, 0, 0, 0), (0, 1, 0, 1), (1, 2, 1, 0), (1, 3, 1, 2), (2, 2, 1, 1), (2, 3, 1, 2)]
    return [(0, 0, 0, 0), (0, 2, 0, 1), (1, 1, 1, 0), (1, 4, 1, 2), (2, 3, 2, 1), (2, 5, 2, 2)]


def score(shape, values, texts, features):
    """s(1, 2) of one pair, number by number."""
    total, psi = values["output_bias"][0], 0
    if shape.vectors and shape.hidden:
        before = np.zeros((3, shape.hidden))
        for group, matrix, bias, text in places(shape):
            for unit in range(shape.hidden):
                before[group, unit] += values["bias"][bias, unit] / 2  # each group reads two texts
                for d in range(shape.vectors):
                    before[group, unit] += values["weight"][matrix, unit, d] * texts[text][d]
        psi = 3 * shape.hidden
        for place, h in enumerate(np.tanh(before).flatten()):
            total += values["output"][place] * h
    elif shape.vectors:
        for text in range(3):
            for d in range(shape.vectors):
                total += values["weight"][text, d] * texts[text][d]
    for text in range(2):
        for k in range(shape.features):
            total += values["output"][psi + text * shape.features + k] * features[text][k]
    return total


def logit(shape, values, texts, features):
    """The logit of a pair: of (1, 2), or half of that less (2, 1)."""
    straight = score(shape, values, texts, features)
    if not shape.antisymmetric:
        return straight
    return (straight - score(shape, values, [texts[1], texts[0], texts[2]], features[::-1])) / 2


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def hand_cost(kind, shape, values, batch, y, beta=7.0, gamma=5.0):
    """The logistic or the Kendall cost of a batch."""
    cost = 0.0
    for pair in range(len(y)):
        texts, features = [t[pair] for t in batch[:3]], [f[pair] for f in batch[3:]]
        theta = sigmoid(logit(shape, values, texts, features))
        if kind == "logistic":
            cost -= math.log(theta if y[pair] else 1 - theta)
            continue
        d = theta - sigmoid(logit(shape, values, [texts[1], texts[0], texts[2]], features[::-1]))
        cost += sigmoid(-gamma * d) if y[pair] else sigmoid(gamma * d)
        cost += math.exp(-beta * d * d / 2)
    return cost / len(y)


@pytest.mark.parametrize("shape", some(SHAPES, FEW), ids=str)
def test_logits_are_the_papers_equations(shape):
    network, batch = double(shape), inputs(shape)
    got = network(*batch).detach().numpy()
    rows = [each.numpy() for each in batch]
    wanted = [
        logit(shape, parameters(network), [t[pair] for t in rows[:3]], [f[pair] for f in rows[3:]])
        for pair in range(PAIRS)
    ]
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    terms = [network.terms(each) for each in batch[:3]]
    straight, other = network.both_orders(*terms, *batch[3:])
    np.testing.assert_array_equal(straight.detach().numpy(), got)
    np.testing.assert_array_equal(other.detach().numpy(), network(*swapped(*batch)).detach().numpy())


@pytest.mark.parametrize("kind", ["logistic", "kendall"])
@pytest.mark.parametrize("shape", some(SHAPES, FEW), ids=str)
def test_both_costs(shape, kind):
    network, batch = double(shape), inputs(shape)
    y = torch.tensor([1.0, 0, 0, 1, 1], dtype=torch.float64)
    if kind == "logistic":
        cost = logistic_cost(network(*batch), y)
    else:
        thetas = network(*batch).sigmoid(), network(*swapped(*batch)).sigmoid()
        cost = kendall_cost(*thetas, y, beta=7.0, gamma=5.0)
    cost.backward()
    rows, values = [each.numpy() for each in batch], parameters(network)
    assert cost.item() == pytest.approx(hand_cost(kind, shape, values, rows, y.tolist()), rel=1e-12)
    # biases may cancel where swapping negates
    own = [each for name, each in network.named_parameters() if "bias" not in name and each.numel()]
    assert own and all(parameter.grad.any() for parameter in own)


@given(
    st.sampled_from([Shape(v, k, h, t, True) for v, k in ((7, 3), (25, 0), (0, 4)) for h in (0, 4) for t in (0, 1)]),
    st.integers(1, 70),
    st.integers(0, 5),
    st.integers(0, 1000),
)
def test_swapping_negates_in_every_bit(shape, pairs, offset, seed):
    """Also from rows within larger tables, whose memory begins anywhere."""
    batch = [each[offset:] for each in inputs(shape, pairs + offset, seed, torch.float32)]
    with torch.inference_mode():
        network = PairwiseNetwork(shape, seed)
        straight, other = network(*batch).double().numpy(), network(*swapped(*batch)).double().numpy()
    np.testing.assert_array_equal(straight, -other)
    np.testing.assert_array_equal(probability(straight), 1 - probability(other))


def test_a_tournament_swaps_in_every_bit():
    """Terms of distinct texts, gathered for all ordered pairs of systems."""
    shape, systems, segments = Shape(9, 2, antisymmetric=True), 4, 11
    texts, features = torch.randn(systems + 1, segments, 9), torch.randn(systems, segments, 2)
    with torch.inference_mode():
        network = PairwiseNetwork(shape)
        terms = network.terms(texts.reshape(-1, 9)).reshape(systems + 1, segments, -1)
        pairs = [(terms[i], terms[j], terms[-1], features[i], features[j]) for i in range(4) for j in range(4)]
        p = np.stack([probability(network.logits(*pair).numpy()) for pair in pairs]).reshape(4, 4, segments)
    np.testing.assert_array_equal(p, 1 - p.transpose(1, 0, 2))
    assert (p[range(4), range(4)] == 0.5).all() and (p[0, 1] != 0.5).all()


logits_drawn = st.lists(st.floats(-800, 800) | st.floats(-1e-8, 1e-8) | st.floats(-3, 3), min_size=1, max_size=30)


@given(logits_drawn, logits_drawn)
def test_probabilities_mirror_in_every_bit(some, others):
    size = min(len(some), len(others))
    x, z = np.array(some[:size]), np.array(others[:size])
    p, mean = probability(x), mean_probability(x, z)
    for values, mirrored in ((p, probability(-x)), (mean, mean_probability(z, x))):
        np.testing.assert_array_equal(values, 1 - mirrored)
        np.testing.assert_array_equal(mirrored, 1 - values)
        assert ((values >= 0) & (values <= 1)).all()
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(p, 1 / (1 + np.exp(-x)), atol=2.3e-16)
    np.testing.assert_allclose(mean, (p + 1 - probability(z)) / 2, atol=2.3e-16)
    np.testing.assert_array_equal(mean_probability(x, -x), p)
    assert np.isnan([*probability(np.array([np.nan])), *mean_probability(np.array([np.nan]), x[:1])]).all()


@pytest.mark.parametrize(
    "shape, weight, output",
    [
        # sqrt(6 / (2 * 40 + 5)) for a group; the last layer reads 3 * 5 + 2 * 30 numbers and gives 1
        *((Shape(40, 30, hidden=5, tied=tied), 85, 76) for tied in (False, True)),
        (Shape(40, 30, hidden=0), 181, 181),
    ],
)
def test_first_weights_are_glorots(shape, weight, output):
    network = PairwiseNetwork(shape, seed=4)
    assert not any(parameter.any() for name, parameter in network.named_parameters() if "bias" in name)
    for parameter, numbers in ((network.weight, weight), (network.output, output)):
        bound = math.sqrt(6 / numbers)
        assert 0.9 * bound < parameter.max() <= bound and -bound <= parameter.min() < -0.9 * bound
        assert abs(parameter.mean()) < 0.2 * bound


def test_first_weights_hang_on_the_seed_alone():
    torch.manual_seed(1)
    state = torch.get_rng_state()
    one = PairwiseNetwork(Shape(5, 2), seed=7).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    same, other = PairwiseNetwork(Shape(5, 2), seed=7).state_dict(), PairwiseNetwork(Shape(5, 2), seed=8).state_dict()
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["weight"], other["weight"])


def test_a_network_that_reads_nothing_is_refused():
    for numbers in ((0, 0), (-1, 4), (5, -1), (5, 1, -4)):
        with pytest.raises(InputError):
            Shape(*numbers)
