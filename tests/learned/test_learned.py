"""The networks against their equations, written out in numpy float64, one pair and one token at a time."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from selection import some_rows
from torch.nn.utils.rnn import pad_packed_sequence

from ctx_metrics.learned.networks import NETWORKS, POOLINGS, ScalarMix, Shape, Side, token_mask

KINDS = list(NETWORKS)
SMALL = {"layers": 3, "width": 5, "hidden": 4, "projection": 3, "feedforward": 6}
TINY = {"layers": 2, "width": 3, "hidden": 2, "projection": 2, "feedforward": 3}
LENGTHS = [(1, 1), (1, 12), (12, 1), (2, 3), (7, 5), (12, 12), (4, 4), (3, 11), (8, 2), (6, 9), (10, 10), (5, 6)]


# the equations


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def mixed(p, states):
    """gamma * sum_k softmax(w)_k h_k of states [tokens, layers, width]."""
    weights = np.exp(p["mix.weights"]) / np.exp(p["mix.weights"]).sum()
    return [p["mix.gamma"] * sum(w * layer for w, layer in zip(weights, token)) for token in states]


def lstm(p, name, suffix, inputs):
    """One direction: i, f, g, o = W x + b + U h + d; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c)."""
    w, u = p[f"{name}.weight_ih_l0{suffix}"], p[f"{name}.weight_hh_l0{suffix}"]
    b, d = p[f"{name}.bias_ih_l0{suffix}"], p[f"{name}.bias_hh_l0{suffix}"]
    h = c = np.zeros(u.shape[1])
    states = []
    for x in inputs:
        i, f, g, o = np.split(w @ x + b + u @ h + d, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return states


def both_directions(p, name, inputs):
    backward = lstm(p, name, "_reverse", inputs[::-1])[::-1]
    return [np.concatenate(pair) for pair in zip(lstm(p, name, "", inputs), backward)]


def attention(queries, others):
    """For each query sum_j softmax_j(<query, other_j>) other_j."""
    found = []
    for query in queries:
        e = [math.exp(float(query @ other)) for other in others]
        found.append(sum(each / sum(e) * other for each, other in zip(e, others)))
    return found


def average(states):
    return sum(states) / len(states)


def maximum(states):
    return np.array([max(column) for column in zip(*states)])


def regressed(p, v):
    hidden = np.maximum(p["regressor.1.weight"] @ v + p["regressor.1.bias"], 0)
    return float(p["regressor.4.weight"][0] @ hidden + p["regressor.4.bias"][0])


def plain_score(kind, network, hypothesis, partner):
    """One pair's score; hypothesis and partner are arrays [tokens, layers, width]."""
    p = {name: tensor.double().numpy() for name, tensor in network.state_dict().items()}
    pool = {"both": (average, maximum), "avg": (average,), "max": (maximum,)}[network.shape.pooling]
    t, r = (both_directions(p, "encoder", mixed(p, states)) for states in (hypothesis, partner))
    if kind == "bilstm":
        v_t, v_r = (np.concatenate([pooled(side) for pooled in pool[::-1]]) for side in (t, r))  # [max; avg]
        return regressed(p, np.concatenate([v_t, v_r, v_t * v_r, v_t - v_r]))
    a_t, a_r = attention(t, r), attention(r, t)
    if kind == "bilstmatt":
        v = []
        for pooled in pool:
            ref, mt = pooled(a_r), pooled(a_t)
            v += [ref, mt, ref - mt, ref * mt]
        return regressed(p, np.concatenate(v))
    v = []
    for states, other in ((r, a_r), (t, a_t)):  # [ref_avg, ref_max, mt_avg, mt_max]
        enhanced = [np.concatenate([h, a, h - a, h * a]) for h, a in zip(states, other)]
        projected = [np.maximum(p["projection.weight"] @ m + p["projection.bias"], 0) for m in enhanced]
        composed = both_directions(p, "composer", projected)
        v += [pooled(composed) for pooled in pool]
    return regressed(p, np.concatenate(v))


# what is tested


def random_network(kind, noise=0.4, dtype=torch.float64, **shape):
    torch.manual_seed(8)
    network = NETWORKS[kind](Shape(**shape)).to(dtype).eval()
    with torch.no_grad():
        for parameter in network.parameters():  # so that no bias and no weight of the mix is at its start
            parameter.add_(torch.randn_like(parameter) * noise)
    return network


def random_pairs(lengths, layers, width, seed=3):
    rng = np.random.default_rng(seed)
    return [tuple(rng.normal(size=(tokens, layers, width)) for tokens in pair) for pair in lengths]


def scores(network, pairs) -> torch.Tensor:
    sides = []
    for of_side in zip(*pairs):
        states = torch.from_numpy(np.concatenate(of_side)).to(network.mix.gamma.dtype)
        sides += [states, [len(text) for text in of_side]]
    with torch.no_grad():
        return network(*sides)


def largest(found, expected) -> float:
    return float(np.abs(np.asarray(found) - np.asarray(expected)).max())


@pytest.mark.parametrize("kind, pooling", some_rows(product(KINDS, POOLINGS), zip(KINDS, POOLINGS)))
def test_forward_equals_the_equations(kind, pooling):
    """Of each pair alone, whatever is beside it."""
    network = random_network(kind, pooling=pooling, **SMALL)
    pairs = random_pairs(LENGTHS, 3, 5)
    expected = [plain_score(kind, network, *pair) for pair in pairs]
    found = scores(network, pairs)
    assert found.shape == (len(pairs),) and np.ptp(expected) > 0.1
    assert largest(found, expected) < 1e-6
    # as it runs in use
    single = random_network(kind, dtype=torch.float32, pooling=pooling, **SMALL)
    assert largest(scores(single, pairs), [plain_score(kind, single, *pair) for pair in pairs]) < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_the_inputs_and_all_parameters_have_gradients(kind):
    network = random_network(kind, **TINY)
    with torch.no_grad():  # so that every ReLU is open for some input
        network.regressor[1].bias.add_(1)
        if kind == "esim":
            network.projection.bias.add_(1)
    lengths = [(2, 1), (1, 3), (3, 2)]
    sides = [torch.from_numpy(np.concatenate(side)).requires_grad_() for side in zip(*random_pairs(lengths, 2, 3))]
    of_sides = [list(side) for side in zip(*lengths)]
    network(sides[0], of_sides[0], sides[1], of_sides[1]).sum().backward()
    assert all(tensor.grad.abs().sum() > 0 for tensor in (*sides, *network.parameters()))


@pytest.mark.parametrize("kind, pooling", some_rows(product(KINDS, POOLINGS), product(KINDS, ["both"])))
def test_what_lies_beyond_a_texts_end_does_not_matter(kind, pooling):
    """compare reads states that others have padded, with whatever numbers."""
    network = random_network(kind, pooling=pooling, **SMALL)
    generator = torch.Generator().manual_seed(4)
    lengths = [5, 1, 3], [2, 6, 4]
    masks = [token_mask(of_side) for of_side in lengths]
    states = [torch.randn(*mask.shape, 8, generator=generator, dtype=torch.float64) for mask in masks]
    found = []
    for filling in (0.0, 50.0, -50.0):
        sides = [side.masked_fill(~mask[:, :, None], filling) for side, mask in zip(states, masks)]
        with torch.no_grad():
            found.append(network.compare(*map(Side, sides, masks, lengths)))
    assert largest(found[1], found[0]) < 1e-12 and largest(found[2], found[0]) < 1e-12 and np.ptp(found[0]) > 0


def test_the_mix_is_the_plain_mean_at_first():
    states = torch.randn(7, 12, 5, dtype=torch.float64)
    mix = ScalarMix(12).double()
    assert (mix(states) - states.mean(1)).abs().max() < 1e-15
    assert mix.gamma.requires_grad and mix.weights.requires_grad


def seen_by(lstm, run):
    """The inputs [texts, tokens, width] that a BiLSTM reads while `run` runs, once for each time."""
    seen = []
    hook = lstm.register_forward_pre_hook(lambda _, given: seen.append(pad_packed_sequence(given[0], batch_first=True)))
    run()
    hook.remove()
    return seen


@pytest.mark.parametrize("kind, part", [*((kind, "encoder") for kind in KINDS), ("esim", "composer")])
def test_variational_dropout(kind, part):
    """In training a text's every token lacks the same dimensions, and the others grow by 1 / (1 - .25)."""
    network = random_network(kind, dropout=0.25, **{**SMALL, "width": 30, "projection": 30})
    rng = np.random.default_rng(5)
    pairs = [tuple(np.abs(rng.normal(size=(n, 3, 30))) + 0.1 for n in pair) for pair in LENGTHS]
    if part == "composer":  # its inputs come from a ReLU: keep them above 0
        with torch.no_grad():
            network.projection.weight.zero_()
            network.projection.bias.fill_(0.5)
    lstm = getattr(network, part)
    plain = seen_by(lstm, lambda: scores(network, pairs))
    network.train()
    torch.manual_seed(6)
    runs = [seen_by(lstm, lambda: scores(network, pairs)) for _ in range(2)]
    texts = []
    for (before, lengths), (dropped, _) in zip(plain, runs[0]):
        for text, other, length in zip(before, dropped, lengths.tolist()):
            if part == "encoder":
                ratio = other[:length] / text[:length]
                assert (ratio - ratio[:1]).abs().max() < 1e-9
            else:  # zero weights: 0.5 for every token, so the ratio is the mask
                assert (other[:length] - other[:1]).abs().max() < 1e-9
                ratio = other[:length] / 0.5
            texts.append(ratio[0])
            assert ((ratio[0].abs() < 1e-12) | ((ratio[0] - 4 / 3).abs() < 1e-9)).all()
    kept = (torch.stack(texts) > 0).double()
    assert len(texts) == 2 * len(LENGTHS)
    assert 0.65 < kept.mean() < 0.85 and len({tuple(text.tolist()) for text in kept}) == len(texts)
    assert not torch.equal(runs[0][0][0], runs[1][0][0])
    network.eval()
    again = seen_by(lstm, lambda: scores(network, pairs))
    assert all(torch.equal(one[0], other[0]) for one, other in zip(plain, again))


@pytest.mark.parametrize("kind", KINDS)
def test_the_regressors_dropout(kind):
    rates = [layer.p for layer in NETWORKS[kind](Shape(**SMALL)).regressor if isinstance(layer, torch.nn.Dropout)]
    assert rates == [0.5, 0.5]
    pairs = random_pairs(LENGTHS, 3, 5)
    network = random_network(kind, **SMALL).train()
    assert not torch.equal(scores(network, pairs), scores(network, pairs))
    still = random_network(kind, dropout=0.0, **SMALL).train()
    assert torch.equal(scores(still, pairs), scores(still.eval(), pairs))


def assert_xavier(weight):
    bound = math.sqrt(6 / sum(weight.shape))
    assert 0.99 * bound < weight.abs().max() <= bound and weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_initial_weights(kind):
    torch.manual_seed(7)
    network = NETWORKS[kind](Shape(12, 64, hidden=30, projection=40, feedforward=50))
    parts = dict(network.named_children())
    for lstm in (parts["encoder"], *([parts["composer"]] if kind == "esim" else [])):
        assert lstm.bidirectional and lstm.num_layers == 1 and len(list(lstm.parameters())) == 8
        for suffix in ("l0", "l0_reverse"):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            w, u, b, d = (getattr(lstm, f"{name}_{suffix}").detach() for name in names)
            assert_xavier(w)
            assert (u.T @ u - torch.eye(30)).abs().max() < 1e-5
            assert not b.any()
            assert d.tolist() == [0.0] * 30 + [1.0] * 30 + [0.0] * 60  # i, f, g, o
    linears = [layer for layer in network.modules() if isinstance(layer, torch.nn.Linear)]
    assert len(linears) == (3 if kind == "esim" else 2)
    for layer in linears:
        assert not layer.bias.any()
        if layer.out_features > 1:
            assert_xavier(layer.weight.detach())
    assert not network.mix.weights.any() and network.mix.gamma == 1


@pytest.mark.parametrize(
    "kind, inputs, count",
    [
        # mix 12 + 1 = 13
        # BiLSTM 768 -> 300, each direction 4*300*(768 + 300) + 2*4*300 = 1,284,000: 2,568,000
        # regressor 4800*300 + 300 + 300 + 1 = 1,440,601
        ("bilstm", 4800, 13 + 2_568_000 + 1_440_601),
        ("bilstmatt", 4800, 13 + 2_568_000 + 1_440_601),
        # projection 4*600*300 + 300 = 720,300; second BiLSTM 2*(4*300*(300 + 300) + 2400) = 1,444,800
        # regressor 2400*300 + 300 + 300 + 1 = 720,601
        ("esim", 2400, 13 + 2_568_000 + 720_300 + 1_444_800 + 720_601),
    ],
)
def test_the_papers_sizes(kind, inputs, count):
    network = NETWORKS[kind](Shape(layers=12, width=768))
    assert sum(parameter.numel() for parameter in network.parameters()) == count
    assert network.regressor[1].in_features == inputs and network.regressor[1].out_features == 300
    assert network.shape == Shape(12, 768, 300, 300, 300, "both", 0.5)
    half = NETWORKS[kind](Shape(layers=12, width=768, pooling="max"))
    assert half.regressor[1].in_features == inputs / 2
