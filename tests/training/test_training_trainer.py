import dataclasses
import itertools
import os
import platform
import random
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from plugin_conftest import python
from safetensors.torch import save
from selection import some
from torch import nn

from ctx_metrics.errors import InputError
from ctx_metrics.learned import networks
from ctx_metrics.learned.networks import NETWORKS, Shape, full_fp32_lstms
from ctx_metrics.training import loop as loop_module
from ctx_metrics.training.loop import Loop, Progress, Task, deferred, epoch_batches
from ctx_metrics.training.quality.examples import Origin, TrainingSet
from ctx_metrics.training.quality.recipe import Recipe
from ctx_metrics.training.quality.task import QualityTask, pairwise_hinge, without_means
from ctx_metrics.training.state import STATE, TrainingState, claim, read_state, write_state

ROWS, WIDTH = 26, 6


class Line(nn.Module):
    """One weight and a bias, without dropout."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 1)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x):
        return self.linear(x)[:, 0]

    def outputs(self, x):
        return [self(x)]


class Numbers:
    """Row r is the number r / n."""

    def __init__(self, rows: int):
        self.lengths = [(0, 0)] * rows

    def batch(self, rows):
        return (torch.tensor([[row / len(self.lengths)] for row in rows]),)


class States:
    """Random states of two layers for a few tokens on each side."""

    def __init__(self, rows: int, seed: int):
        draw = np.random.default_rng(seed)
        self.lengths = [tuple(pair) for pair in draw.integers(1, 6, (rows, 2)).tolist()]
        self.sides = [
            [torch.from_numpy(draw.normal(size=(n, 2, WIDTH))).float() for n in of_side]
            for of_side in zip(*[pair[::-1] for pair in self.lengths])
        ]

    def batch(self, rows):
        found = []
        for of_side in self.sides:
            some = [of_side[row] for row in rows]
            found += [torch.cat(some), [len(each) for each in some]]
        return tuple(found)


class Scripted:
    """A development set that gives scores one after another, and remembers what it was asked."""

    def __init__(self, scores):
        self.given, self.values = iter(scores), []

    def score(self, values):
        self.values.append(values.copy())
        return next(self.given)


def training_set(targets, weights=None, groups=None, centred=None) -> TrainingSet:
    n = len(targets)
    centred = np.zeros(n, bool) if centred is None else np.array(centred)
    weights = np.ones(n) if weights is None else np.asarray(weights, float)
    groups = [str(k) for k in range(n)] if groups is None else groups
    origins = [Origin("toy", "A", None, row) for row in range(n)]
    columns = np.asarray(targets, float), weights, centred
    return TrainingSet([""] * n, [""] * n, [None] * n, *columns, groups, origins, {}, [])


def line_task(scores, recipe, targets=None, **more) -> QualityTask:
    targets = np.linspace(1, 2, 8) if targets is None else targets
    return QualityTask(
        Line(), recipe, training_set(targets, **more), Numbers(len(targets)), Scripted(scores), Numbers(3)
    )


def line_loop(scores, recipe, targets=None) -> Loop:
    return Loop(line_task(scores, recipe, targets), quiet=True)


def esim_loop(path, recipe) -> Loop:
    torch.manual_seed(5)
    network = NETWORKS["esim"](Shape(2, WIDTH, 3, 4, 5, dropout=0.4))
    draw = np.random.default_rng(1)
    targets, weights = draw.normal(size=ROWS), draw.choice([0.5, 1.0], ROWS)
    judged = draw.normal(size=9)
    development = SimpleNamespace(score=lambda values: float(np.corrcoef(values, judged)[0, 1]))
    training = training_set(targets, weights, [str(k // 2) for k in range(ROWS)])
    task = QualityTask(network, recipe, training, States(ROWS, 2), development, States(9, 3))
    return Loop(task, path, {"data": "x"}, quiet=True)


def same_weights(one: Loop, other: Loop) -> bool:
    states = [each.task.network.state_dict().values() for each in (one, other)]
    return all(torch.equal(a, b) for a, b in zip(*states, strict=True))


PLATEAU = Recipe(learning_rate=0.01, batch=4, epochs=4, patience=None, check_rows=12, loss="mse+hinge", seed=3)
LINEAR = dataclasses.replace(PLATEAU, schedule="linear", check_rows=None, weight_decay=0.01, loss="mse")
STOPPING = dataclasses.replace(PLATEAU, learning_rate=0.003, epochs=40, patience=6)


@pytest.mark.full
@pytest.mark.parametrize("recipe", some([PLATEAU, LINEAR, STOPPING], [STOPPING]))
def test_killed_again_and_again_it_ends_with_the_same_weights(tmp_path, monkeypatch, recipe):
    monkeypatch.setattr(loop_module, "STATE_SECONDS", 3)
    monkeypatch.setattr(loop_module, "time", SimpleNamespace(monotonic=itertools.count().__next__))  # a step a second
    whole = esim_loop(None, recipe)
    checks = whole.train()
    assert len(checks) >= 4 and not same_weights(whole, esim_loop(None, recipe))
    path, draw, stops = tmp_path / "state.safetensors", random.Random(9), 0
    step = Loop._step
    while True:
        left = draw.randint(0, 9)

        def dying(self, batch):
            nonlocal left
            left -= 1
            if left < 0:
                raise RuntimeError("killed")
            step(self, batch)

        monkeypatch.setattr(Loop, "_step", dying)
        part = esim_loop(path, recipe)
        try:
            assert part.train() == checks
            break
        except RuntimeError:
            stops += 1
    assert stops >= 3 and same_weights(part, whole)
    assert part.task.values(part.task.inputs).tolist() == whole.task.values(whole.task.inputs).tolist()


def test_the_second_ctrl_c_does_not_wait():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs start with Ctrl-C ignored
    try:
        with pytest.raises(KeyboardInterrupt), deferred() as interrupted:
            assert not interrupted()
            os.kill(os.getpid(), signal.SIGINT)
            assert interrupted()
            os.kill(os.getpid(), signal.SIGINT)
            pytest.fail("it did")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_get_no_signals():
    said = []

    def look():
        with deferred() as interrupted:
            said.append(interrupted())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert said == [False]


@pytest.mark.full
def test_a_damaged_state_is_refused(tmp_path):
    path = tmp_path / "state.safetensors"
    esim_loop(path, LINEAR).train()
    whole = path.read_bytes()
    one_bit = whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:]  # of a number
    nested = save({}, {"fingerprint": "[" * 100_000, "sums": "{}", "progress": "{}", "checksum": "0"})
    for content, said in (
        (whole[:-100], "not the state of a training"),
        (one_bit, "damaged"),
        (nested, "not the state"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"state.safetensors is {said}.*; delete it"):
            esim_loop(path, LINEAR).train()


def test_a_training_that_goes_on_elsewhere_says_so(tmp_path, caplog):
    path = tmp_path / STATE
    state = TrainingState({}, {}, {}, "{}")
    claim(tmp_path, {})  # finds no state
    for written, read in itertools.product(("cpu", "cuda", "cuda:1"), repeat=2):
        caplog.clear()
        write_state(path, state, {}, torch.device(written))
        read_state(path, {}, torch.device(read))
        assert len(caplog.messages) == (written[:4] != read[:4]), (written, read)
    caplog.clear()
    claim(tmp_path, {})
    [said] = caplog.messages
    assert said.index("'device': 'cuda'}") < said.index("'device': 'cpu'}: the weights may differ")


def test_losses_do_not_wait_for_a_gpu():
    """A tensor of the meta device has no values, so nothing can be read from it: neither a count of pairs nor a mask."""
    values, weights = torch.ones(4, device="meta"), torch.ones(4, device="meta")
    targets, groups = torch.tensor([1.0, 0.0, 0.0, 2.0]), torch.tensor([0, 0, 1, 1])
    for of_groups in (groups, torch.arange(4)):
        assert pairwise_hinge(values, targets, weights, of_groups, 0.5).device.type == "meta"
        assert without_means(values, of_groups, torch.tensor([True, True, False, False])).device.type == "meta"


def test_plateau_and_patience():
    """Of the scores, the 1st, 2nd and 5th are better than all before. The rate is halved after the others; an equal score
    is no better. The third check in a row without a better one, the 8th, is the last."""
    scores = [0.1, 0.3, 0.3, 0.2, 0.4, 0.1, 0.1, 0.1, 9.0]
    recipe = Recipe(learning_rate=0.08, batch=4, epochs=30, patience=3)
    loop = line_loop(scores, recipe)
    checks = loop.train()
    assert [check.score for check in checks] == scores[:8]
    assert [check.learning_rate for check in checks] == [0.08, 0.08, 0.08, 0.04, 0.02, 0.02, 0.01, 0.005]
    assert [check.rows for check in checks] == [8 * k for k in range(1, 9)]
    assert [check.epoch for check in checks] == list(range(1, 9)) and [check.step for check in checks][-1] == 16
    assert loop.progress.best == 4
    # the best check's weights are there in the end, not the last one's
    asked = loop.task.development.values
    assert loop.task.values(loop.task.development_inputs).tolist() == asked[4].tolist() != asked[7].tolist()
    assert len(line_loop(scores, dataclasses.replace(recipe, epochs=9, patience=None)).train()) == 9


def test_checks_between_and_at_the_ends_of_epochs(monkeypatch):
    """8 rows in batches of 3, 3 and 2; a check is due after 6 rows and at the end of an epoch. Each saves the state."""
    saved = []
    monkeypatch.setattr(Loop, "_save", lambda loop: saved.append(loop.progress.step))
    recipe = Recipe(batch=3, epochs=2, patience=None, check_rows=6)
    checks = line_loop([0.1, 0.2, 0.3, 0.4], recipe).train()
    assert [(check.step, check.epoch) for check in checks] == [(2, 1), (3, 1), (5, 2), (6, 2)]
    assert checks[1].rows == 8 and checks[3].rows == 16 and saved == [2, 3, 5, 6]


def test_the_linear_schedule_whatever_the_checks_say():
    """10 steps: the first one is the tenth that warms up; then (10 - step) / 9."""
    recipe = Recipe(learning_rate=0.9, schedule="linear", batch=4, epochs=5, patience=None)
    loop = line_loop([0.5, 0.1, 0.1, 0.1, 0.1], recipe)
    rates, step = [], loop.optimizer.step
    loop.optimizer.step = lambda: (rates.append(loop.optimizer.param_groups[0]["lr"]), step())
    loop.train()
    assert rates == pytest.approx([0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])


def test_the_loss_of_a_check_is_the_mean_since_the_one_before():
    """A rate of nearly nothing: values stay 0, targets are 1 and 3, so each batch of both has the loss 5."""
    recipe = Recipe(learning_rate=1e-12, batch=2, epochs=2, patience=None)
    checks = line_loop([0.1, 0.2], recipe, targets=[1.0, 3.0]).train()
    assert [check.loss for check in checks] == pytest.approx([5, 5])


def test_a_loss_that_is_no_number_is_one_line():
    with pytest.raises(InputError, match=r"^the loss of step 1 is inf; lower the learning rate$"):
        line_loop([0.1], Recipe(batch=8), targets=np.array([1e30] + [0.0] * 7)).train()


def test_gradients_are_clipped():
    """Adam hides the gradient's length in its first step, not in its moments: exp_avg = .1 gradient."""
    loop = line_loop([0.1], Recipe(batch=8, epochs=1, clip=0.25), targets=np.full(8, 100.0))
    loop.train()
    moments = [state["exp_avg"].flatten() for state in loop.optimizer.state.values()]
    assert torch.cat(moments).norm().item() == pytest.approx(0.025, rel=1e-3)


def test_a_row_of_weight_2_counts_as_two_rows():
    """The mean is over rows: 2 a + b over 2 rows is 3/2 of a + a + b over 3."""
    recipe = Recipe(batch=8)
    two = line_task([], recipe, targets=[1.0, 4.0], weights=[2, 1]).loss([0, 1], Progress()).item()
    assert two == pytest.approx(1.5 * np.mean([1.0, 1.0, 16.0])) == 9.0


@given(st.integers(0, 10**6))
def test_of_centred_rows_only_differences_count(seed):
    """The squares that are left are those of all differences of two errors of a segment, by brute force."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 12))
    errors, groups = draw.normal(size=n), draw.integers(0, 4, n)
    centred = (draw.random(4) < 0.5)[groups]
    found = without_means(*map(torch.tensor, (errors, groups, centred))).numpy()
    assert (found[~centred] == errors[~centred]).all()
    for group in set(groups[centred].tolist()):
        own = errors[groups == group]
        differences = sum((a - b) ** 2 for a in own for b in own) / 2
        assert (found[groups == group] ** 2).sum() == pytest.approx(differences / len(own), abs=1e-12)


def test_centred_rows_learn_no_level():
    """A shift of all targets of a centred segment changes nothing, that of any other segment does."""
    groups, centred = ["a", "a", "b", "b"], [True, True, False, False]
    losses = [
        line_task([], Recipe(batch=4), targets=targets, groups=groups, centred=centred).loss([0, 1, 2, 3], Progress())
        for targets in ([1.0, 3.0, 0.0, 1.0], [6.0, 8.0, 0.0, 1.0], [1.0, 3.0, 5.0, 6.0])
    ]
    assert losses[0].item() == losses[1].item() == pytest.approx((1 + 1 + 0 + 1) / 4) != losses[2].item()


@given(st.integers(0, 10**6))
def test_hinge_by_brute_force(seed):
    draw = np.random.default_rng(seed)
    n, margin = int(draw.integers(1, 9)), 0.5
    values, targets = draw.normal(size=n), draw.integers(0, 3, n).astype(float)
    weights, groups = draw.choice([0.5, 1.0, 2.0], n), draw.integers(0, 3, n)
    terms = [
        (weights[i] + weights[j]) / 2 * max(0, margin - (values[i] - values[j]))
        for i in range(n)
        for j in range(n)
        if groups[i] == groups[j] and targets[i] > targets[j]
    ]
    found = pairwise_hinge(*map(torch.tensor, (values, targets, weights, groups)), margin)
    assert found.item() == pytest.approx(sum(terms) / len(terms) if terms else 0, abs=1e-12)


def test_hinge_is_added_for_rows_of_a_segment_alone():
    """Values are 0: each of the 2 pairs misses the margin .5 whole; squared errors are 1, 0, 4, 0."""
    for loss, of_all, of_two in (("mse", 1.25, 2.5), ("hinge", 0.5, 0.0), ("mse+hinge", 1.75, 2.5)):
        task = line_task([], Recipe(batch=8, loss=loss), targets=[1.0, 0.0, 2.0, 0.0], groups=["a", "a", "b", "b"])
        found = [task.loss(rows, Progress()).item() for rows in ([0, 1, 2, 3], [0, 2])]
        assert found == pytest.approx([of_all, of_two])


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 30)), min_size=1, max_size=60),
    st.integers(1, 7),
    st.integers(0, 5),
    st.booleans(),
)
def test_batches(rows, size, seed, whole):
    """Each group's rows have one partner, so one partner length."""
    groups = [group for group, _ in rows]
    lengths = [(10 + 7 * group, hypothesis) for group, hypothesis in rows]
    batches = epoch_batches(lengths, groups, size, seed, 1, whole)
    assert sorted(row for batch in batches for row in batch) == list(range(len(rows)))
    assert len(batches) == -(-len(rows) // size) and all(0 < len(batch) < 2 * size for batch in batches)
    assert whole or sorted(map(len, batches))[1:] == [size] * (len(batches) - 1)
    assert batches == epoch_batches(lengths, groups, size, seed, 1, whole)
    if whole and max(map(groups.count, groups)) <= size / 2:  # then a segment ends near each cut
        assert all(
            sum(groups[row] == group for row in batch) in (0, groups.count(group))
            for batch in batches
            for group in groups
        )
    for group in set(groups):
        inside = [batch for batch in batches if any(groups[row] == group for row in batch)]
        # a group is a run of the sorted rows: it fills all but the first and the last of its batches
        assert sum(all(groups[row] == group for row in batch) for batch in inside) >= len(inside) - 2


def test_batches_hold_rows_of_about_one_length_and_change_from_epoch_to_epoch():
    draw = np.random.default_rng(4)
    lengths = [tuple(pair) for pair in draw.integers(1, 60, (400, 2)).tolist()]
    found = [epoch_batches(lengths, range(400), 8, 1, epoch) for epoch in range(3)]
    for batches in found:
        for batch in batches:
            partners = [lengths[row][0] for row in batch]
            assert max(partners) <= min(partners) * 1.1 / 0.9 + 3
    assert len({tuple(map(tuple, batches)) for batches in found}) == 3
    # rows whose lengths do not matter are mixed anew in every epoch
    made = [{frozenset(batch) for batch in epoch_batches([(0, 0)] * 400, range(400), 8, 1, epoch)} for epoch in (0, 1)]
    assert not made[0] & made[1]


@pytest.mark.full
def test_large_tensors_are_not_mapped_anew_each_time():
    code = """
import resource
from ctx_metrics.training.loop import keep_freed_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        bytearray(2**26)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
usual = faults()
print(keep_freed_memory(), faults() < usual / 4)
"""
    done = python(code)
    assert done.stdout.split() == (["True", "True"] if platform.libc_ver()[0] == "glibc" else ["False", "False"])


@pytest.mark.parametrize("host", ["tf32", "ieee"])
def test_lstms_are_in_full_fp32_on_cuda(monkeypatch, host):
    """cuDNN's default for them is TF32. What the program that uses us has chosen is there again afterwards."""
    rnn = torch.backends.cudnn.rnn
    monkeypatch.setattr(rnn, "fp32_precision", host)
    with pytest.raises(KeyError), full_fp32_lstms(torch.device("cuda", 1)):
        assert rnn.fp32_precision == "ieee"
        raise KeyError
    assert rnn.fp32_precision == host
    with full_fp32_lstms(torch.device("cpu")):
        assert rnn.fp32_precision == host
    if host == "tf32":
        assert torch.backends.cudnn.allow_tf32  # which raises where LSTMs are left in another format than convolutions


def test_a_network_and_its_training_compute_so(monkeypatch):
    """What runs cuDNN's LSTM runs within it: the states of a BiLSTM, and the gradients of a training's step."""
    monkeypatch.setattr(torch.backends.cudnn.rnn, "fp32_precision", "tf32")
    seen = []
    monkeypatch.setattr(networks, "full_fp32_lstms", lambda device: full_fp32_lstms(torch.device("cuda")))
    lstm = networks.bilstm(3, 2)
    lstm.register_forward_hook(lambda *_: seen.append(torch.backends.cudnn.rnn.fp32_precision))
    assert networks.run_bilstm(lstm, torch.zeros(2, 4, 3), [4, 2]).shape == (2, 4, 4)

    def backward():
        seen.append(torch.backends.cudnn.rnn.fp32_precision)

    task = SimpleNamespace(network=lstm, recipe=SimpleNamespace(clip=1.0))
    loss = SimpleNamespace(device=torch.device("cuda"), backward=backward)
    Task.descend(task, loss, torch.optim.SGD(lstm.parameters(), lr=0.1))
    assert seen == ["ieee"] * 2
