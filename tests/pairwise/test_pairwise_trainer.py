"""Training of the pairwise network: the optimisers by hand, what is kept, and stopping at any moment."""

import itertools
import math
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch

from ctx_metrics.errors import InputError
from ctx_metrics.pairwise.network import PairwiseNetwork, Shape, mean_probability
from ctx_metrics.pairwise.training import task as pairwise_task
from ctx_metrics.pairwise.training.recipe import PAPER, Architecture, PairwiseRecipe
from ctx_metrics.pairwise.training.task import (
    Comparisons,
    PairwiseTask,
    kendall_cost,
    logistic_cost,
    margins,
    strict_tau,
)
from ctx_metrics.training import loop as loop_module
from ctx_metrics.training.loop import Loop

SMALL = PairwiseRecipe(batch=10, epochs=3)
SHAPE = Shape(vectors=6, features=2, hidden=3)


def planted(pairs, seed, vectors=6, features=2):
    """Pairs of which the better output has the higher sum of its vector's first number and its features."""
    generator = np.random.default_rng(seed)
    texts = generator.uniform(-1, 1, (pairs, vectors)).astype(np.float32)
    outputs = generator.uniform(-1, 1, (pairs, features)).astype(np.float32)
    rows = generator.integers(0, pairs, (pairs, 5))
    of = [
        2 * texts[rows[:, side], :1].sum(1) + (outputs[rows[:, 3 + side]] @ np.arange(1, features + 1))
        for side in (0, 1)
    ]
    wrong = of[0] < of[1]
    rows[wrong] = rows[wrong][:, [1, 0, 2, 4, 3]]
    return Comparisons(texts, outputs, rows)


TRAINING, DEVELOPMENT = planted(47, 1), planted(40, 2)


def weights(network):
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def trained(recipe=SMALL, shape=SHAPE, training=TRAINING, development=DEVELOPMENT, state=None, fingerprint=None):
    """A loop that went to the end, and its checks."""
    task = PairwiseTask(PairwiseNetwork(shape, recipe.seed), recipe, training, development)
    loop = Loop(task, state, fingerprint, quiet=True)
    return loop, loop.train()


def scripted(monkeypatch, *taus):
    """Let the checks find these taus; what is returned gets the weights at each."""
    seen, left = [], iter(taus)

    def found(network, comparisons):
        seen.append(weights(network))
        return np.zeros(1)

    monkeypatch.setattr(pairwise_task, "margins", found)
    monkeypatch.setattr(pairwise_task, "strict_tau", lambda margins: next(left))
    return seen


@pytest.mark.parametrize(
    "shape, recipe",
    [
        pytest.param(Shape(6, 2), SMALL, marks=pytest.mark.full),
        (Shape(6, 2, tied=True, antisymmetric=True), SMALL),
        pytest.param(Shape(6, 2, hidden=0), SMALL, marks=pytest.mark.full),
        (Shape(6, 2), replace(SMALL, cost="kendall", beta=0.01, gamma=1.0)),
        pytest.param(Shape(6, 2), replace(SMALL, cost="logistic+kendall"), marks=pytest.mark.full),
        pytest.param(Shape(6, 2), replace(SMALL, optimiser="adamw", weight_decay=0.01), marks=pytest.mark.full),
    ],
    ids=str,
)
def test_a_planted_rule_is_learnt(shape, recipe):
    loop, checks = trained(replace(recipe, epochs=20, learning_rate=0.1), shape, planted(300, 3), planted(300, 4))
    assert max(check.tau for check in checks) > 0.85
    assert checks[-1].cost < checks[0].cost or recipe.cost == "logistic+kendall"
    # the network holds the best weights, whose tau is found again
    tau = pairwise_task.strict_tau(margins(loop.task.network, planted(300, 4)))
    assert tau == max(check.tau for check in checks)


def by_hand(optimiser, epochs, rate, decay, training, seed):
    """Logistic regression over features, all pairs in each step, with Adagrad or AdamW, in float64."""
    network = PairwiseNetwork(Shape(0, training.outputs.shape[1]), seed)
    values = np.concatenate([network.output.detach().numpy(), [0.0]]).astype(np.float64)
    first = np.random.default_rng([1, seed]).random(len(training)) < 0.5
    shown = np.where(first[:, None], training.pairs[:, 3:], training.pairs[:, :2:-1])
    x = np.concatenate([training.outputs[shown[:, 0]], training.outputs[shown[:, 1]], np.ones((len(first), 1))], 1)
    squares, mean = np.zeros_like(values), np.zeros_like(values)
    for step in range(1, epochs + 1):
        gradient = x.T @ (1 / (1 + np.exp(-x @ values)) - first) / len(first)
        if optimiser == "adagrad":
            gradient = gradient + decay * values
            squares += gradient**2
            values = values - rate * gradient / (np.sqrt(squares) + 1e-10)
        else:
            values = values * (1 - rate * decay)
            mean, squares = 0.9 * mean + 0.1 * gradient, 0.999 * squares + 0.001 * gradient**2
            values = values - rate * (mean / (1 - 0.9**step)) / (np.sqrt(squares / (1 - 0.999**step)) + 1e-8)
    return values


@pytest.mark.parametrize("optimiser", ["adagrad", "adamw"])
def test_the_optimisers_by_hand(monkeypatch, optimiser):
    training = planted(31, 5, vectors=0, features=3)
    scripted(monkeypatch, 1.0, 2.0, 3.0, 4.0)
    recipe = PairwiseRecipe(optimiser=optimiser, learning_rate=0.1, weight_decay=0.2, batch=31, epochs=4, seed=6)
    loop, _ = trained(recipe, Shape(0, 3), training, planted(5, 1, 0, 3))
    got = torch.cat([loop.task.network.output, loop.task.network.output_bias]).detach().numpy()
    np.testing.assert_allclose(got, by_hand(optimiser, 4, 0.1, 0.2, training, 6), rtol=2e-4, atol=1e-6)
    assert not np.allclose(got, by_hand(optimiser, 4, 0.1, 0.0, training, 6), rtol=2e-3)


@pytest.mark.parametrize("cost", ["logistic", "kendall"])
def test_the_cost_of_a_check_is_the_mean_over_all_pairs(cost):
    """The last batch has 7 pairs of 47, and counts for 7."""
    recipe = replace(SMALL, cost=cost, learning_rate=0.0, weight_decay=0.0, epochs=1, beta=3.0, gamma=2.0)
    loop, (check,) = trained(recipe)
    network = PairwiseNetwork(SHAPE, recipe.seed)
    texts, features = (torch.from_numpy(table) for table in (TRAINING.texts, TRAINING.outputs))
    rows, output_rows, y = loop.task.pairs
    inputs = [texts[row] for row in rows] + [features[row] for row in output_rows]
    logits = network(*inputs)
    if cost == "logistic":
        wanted = logistic_cost(logits, y)
    else:
        swapped = network(inputs[1], inputs[0], inputs[2], inputs[4], inputs[3])
        wanted = kendall_cost(logits.sigmoid(), swapped.sigmoid(), y, 3.0, 2.0)
    assert check.cost == pytest.approx(wanted.item(), rel=1e-5)
    assert (check.phase, check.epoch) == (cost, 1)


def test_which_text_is_shown_first_is_a_coin_a_pair():
    def coins(pairs, seed):
        one = PairwiseTask(PairwiseNetwork(SHAPE), replace(SMALL, seed=seed), planted(pairs, 1), DEVELOPMENT)
        rows, output_rows, y = one.pairs
        better, worse, reference, better_output, worse_output = planted(pairs, 1).pairs.T
        first = y.numpy().astype(bool)
        for i in range(pairs):
            texts, outputs = (better[i], worse[i]), (better_output[i], worse_output[i])
            ways = (texts, outputs) if first[i] else (texts[::-1], outputs[::-1])
            assert (*rows[:2, i].tolist(),) == ways[0] and (*output_rows[:, i].tolist(),) == ways[1]
        assert (rows[2].numpy() == reference).all()
        return first

    many = coins(400, 1)
    assert 150 < many.sum() < 250
    assert (coins(400, 2) != many).any()


def test_every_epoch_takes_each_pair_once_in_an_order_of_its_own(monkeypatch):
    taken = []
    step = Loop._step

    def noted(loop, batch):
        rows, output_rows, y = batch
        taken.append((torch.cat([rows, output_rows]).T.tolist(), y.tolist()))
        step(loop, batch)

    monkeypatch.setattr(Loop, "_step", noted)
    recipe = replace(SMALL, cost="logistic+kendall", epochs=2)
    loop, _ = trained(recipe)
    assert [len(y) for _, y in taken] == [10, 10, 10, 10, 7] * 4
    rows, output_rows, y = loop.task.pairs
    whole = sorted(map(tuple, torch.cat([rows, output_rows, y[None].long()]).T.tolist()))
    orders = []
    for epoch in range(4):
        of_epoch = [(*row, int(y)) for rows, ys in taken[5 * epoch : 5 * epoch + 5] for row, y in zip(rows, ys)]
        assert sorted(of_epoch) == whole
        orders.append(of_epoch)
    assert all(one != other for one, other in itertools.combinations(orders, 2))
    first, taken[:] = list(taken), []
    trained(recipe)
    assert taken == first
    taken.clear()
    trained(replace(recipe, seed=2))
    assert taken != first


def test_the_second_phase_starts_from_the_best_of_the_first(monkeypatch):
    begun = []
    step = Loop._step

    def noted(loop, batch):
        if loop.progress.taken == 0:
            moments = loop.optimizer.state[loop.task.weights]["sum"]
            begun.append((weights(loop.task.network), bool(moments.any())))
        step(loop, batch)

    monkeypatch.setattr(Loop, "_step", noted)
    # patience ends the first phase 2 epochs after the first of the two best, and the second after 2
    seen = scripted(monkeypatch, 0.1, 0.5, 0.5, 0.2, 0.3, 0.4)
    loop, checks = trained(replace(SMALL, cost="logistic+kendall", epochs=9, patience=2))
    assert [(check.phase, check.epoch) for check in checks] == [
        *(("logistic", epoch) for epoch in (1, 2, 3, 4)),
        *(("kendall", epoch) for epoch in (1, 2)),
    ]
    assert same(begun[4][0], seen[1]) and not same(seen[1], seen[3])
    assert [moments for _, moments in begun] == [False, True, True, True, False, True]
    assert same(weights(loop.task.network), seen[1])  # no epoch of the second phase was better


@pytest.mark.parametrize("shape", [SHAPE, Shape(6, 0, 0), Shape(0, 2)], ids=str)
@pytest.mark.parametrize("antisymmetric", [False, True])
def test_margins_are_of_both_orders(monkeypatch, shape, antisymmetric):
    shape = replace(shape, antisymmetric=antisymmetric)
    data = planted(25, 8, shape.vectors or 1, shape.features or 1)
    data = Comparisons(data.texts[:, : shape.vectors], data.outputs[:, : shape.features], data.pairs)
    network = PairwiseNetwork(shape, 3)
    whole = margins(network, data)
    inputs = [torch.from_numpy(data.texts)[rows] for rows in data.pairs.T[:3]]
    inputs += [torch.from_numpy(data.outputs)[rows] for rows in data.pairs.T[3:]]
    with torch.inference_mode():
        straight = network(*inputs).double().numpy()
        swapped = network(inputs[1], inputs[0], inputs[2], inputs[4], inputs[3]).double().numpy()
    np.testing.assert_allclose(whole, (straight - swapped) / 2, atol=1e-6)
    assert whole.dtype == np.float64 and ((whole > 0) == (mean_probability(straight, swapped) > 0.5)).all()
    monkeypatch.setattr(pairwise_task, "MARGIN_PAIRS", 4)
    np.testing.assert_allclose(margins(network, data), whole, atol=1e-6)
    assert margins(network, Comparisons(data.texts, data.outputs, data.pairs[:0])).shape == (0,)


def test_equal_outputs_have_no_margin():
    data = Comparisons(TRAINING.texts, TRAINING.outputs, np.array([[3, 3, 1, 4, 4], [2, 2, 0, 1, 1]]))
    for antisymmetric in (False, True):
        assert (margins(PairwiseNetwork(Shape(6, 2, antisymmetric=antisymmetric)), data) == 0).all()


LONG = replace(SMALL, cost="logistic+kendall", epochs=3)  # 2 phases of 3 epochs of 5 steps


def stopped_after(monkeypatch, steps):
    """Let Ctrl-C come after so many steps."""
    left = iter([False] * (steps - 1) + [True])

    @contextmanager
    def at_once():
        yield lambda: next(left)

    monkeypatch.setattr(loop_module, "deferred", at_once)


@pytest.mark.parametrize(
    "optimiser, steps", [("adagrad", 1), ("adamw", 5), ("adamw", 14), ("adagrad", 15), ("adamw", 30)]
)
def test_stopped_and_gone_on_with_is_the_same_in_every_bit(monkeypatch, tmp_path, optimiser, steps):
    recipe = replace(LONG, optimiser=optimiser, patience=None)
    whole, checks = trained(recipe)
    path = tmp_path / "state"
    with monkeypatch.context() as patch:
        stopped_after(patch, steps)
        with pytest.raises(KeyboardInterrupt):
            trained(recipe, state=path, fingerprint={"data": "a"})
    taken, step = [], Loop._step
    monkeypatch.setattr(Loop, "_step", lambda *given: (taken.append(1), step(*given)))
    again, gone_on = trained(recipe, state=path, fingerprint={"data": "a"})
    assert gone_on == checks and same(weights(again.task.network), weights(whole.task.network))
    assert same(again.best, whole.best) and again.progress == whole.progress and len(taken) == 30 - steps


def test_states_are_written_at_intervals_of_time_and_at_the_end(monkeypatch, tmp_path):
    saved, save = [], Loop._save
    monkeypatch.setattr(Loop, "_save", lambda loop: (saved.append(loop.progress.step), save(loop)))
    whole, checks = trained(LONG, state=tmp_path / "state")
    assert saved == [30]
    monkeypatch.setattr(Loop, "_step", lambda *given: pytest.fail("a step of a training that is done"))
    again, same_checks = trained(LONG, state=tmp_path / "state")
    assert same_checks == checks and same(weights(again.task.network), weights(whole.task.network))
    monkeypatch.undo()
    monkeypatch.setattr(Loop, "_save", lambda loop: saved.append(loop.progress.step))
    monkeypatch.setattr(loop_module, "STATE_SECONDS", 0.0)
    saved.clear()
    trained(LONG)
    assert saved == [*range(1, 31), 30]


def test_a_cost_that_is_no_number_is_said():
    broken = Comparisons(TRAINING.texts * np.float32(1e20), TRAINING.outputs * np.float32(1e38), TRAINING.pairs)
    with pytest.raises(InputError, match="lower the learning rate") as raised:
        trained(replace(SMALL, learning_rate=1e6), training=broken)
    assert "\n" not in str(raised.value)


def test_sets_that_cannot_be_are_refused():
    none = replace(TRAINING, pairs=TRAINING.pairs[:0])
    for sets in ((none, DEVELOPMENT), (TRAINING, none)):
        with pytest.raises(InputError, match="no pairs"):
            PairwiseTask(PairwiseNetwork(SHAPE), SMALL, *sets)


def test_flattened_weights_are_the_networks_own():
    network = PairwiseNetwork(SHAPE)
    before, batch = weights(network), [torch.ones(2, 6)] * 3 + [torch.ones(2, 2)] * 2
    flat, gradient = pairwise_task.flattened(network)
    assert same(weights(network), before) and flat.numel() == sum(p.numel() for p in network.parameters())
    network(*batch).sum().backward()
    assert flat.grad is gradient and gradient.any()
    assert torch.equal(gradient, torch.cat([p.grad.flatten() for p in network.parameters()]))
    with torch.no_grad():
        flat += 1
    assert all(torch.equal(after, before[name] + 1) for name, after in network.state_dict().items())


def test_kendall_cost_has_the_papers_constants():
    # D = .02: 100 * D = 2, 100 * D^2 / 2 = .02
    numbers = (torch.tensor([number], dtype=torch.float64) for number in (0.51, 0.49, 1.0))
    assert kendall_cost(*numbers).item() == pytest.approx(1 / (1 + math.exp(2)) + math.exp(-0.02), rel=1e-12)


# Comparisons and recipes


def test_numbers_that_are_not_finite_are_refused():
    texts, outputs = np.zeros((4, 3), np.float32), np.zeros((3, 1), np.float32)
    for given in ((texts + np.float32("nan"), outputs), (texts, outputs + np.float32("inf"))):
        with pytest.raises(ValueError):
            Comparisons(*given, np.zeros((0, 5), np.int64))


def test_strict_tau_counts_ties_as_wrong():
    assert strict_tau(np.array([1e-300, 0.0, 5, 7])) == 0.5  # (3 - 0 - 1) / 4
    assert np.isnan(strict_tau(np.zeros(0)))


def test_numbers_that_fp32_cannot_compute_with_are_refused():
    for name in ("learning_rate", "weight_decay", "beta", "gamma"):
        assert getattr(PairwiseRecipe(**{name: 1e6}), name) == 1e6
        for value in (1e7, float("nan"), -1.0):
            with pytest.raises(InputError, match=f"^{name.replace('_', ' ')} .+ must be from 0 to 1,000,000$"):
                PairwiseRecipe(**{name: value})


def test_the_defaults_are_the_papers():
    numbers = {"learning_rate": 0.01, "batch": 30, "weight_decay": 1e-4, "epochs": 10_000, "beta": 100, "gamma": 100}
    assert PairwiseRecipe("logistic", "adagrad", **numbers, patience=None) == PAPER
    assert Architecture() == Architecture(("4metrics",), ("encoder@3:25", "encoder@0:50"), "embedded", 4, False, False)
