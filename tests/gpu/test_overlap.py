"""A card that is given the next batch before anybody waits for the last one: the order of what is asked of it."""

from functools import cache

import pytest
from gpu_conftest import folders, nothing_is_loaded  # noqa: F401
from gpu_runs import RUNS
from selection import some
from stand_in_gpu import StandInGpu
from stand_in_gpu.queue import KERNEL, RECORD, TO_DEVICE, TO_HOST, WAIT, Step

from ctx_metrics.engine.forward import PackedEncoder
from ctx_metrics.engine_options import EngineOptions

WORK = (KERNEL, TO_DEVICE, TO_HOST)
# each reads other things of the layers: states, vectors (mean, first token, normalised), labels, matches, a BiLSTM's states
READ = ("bertr", "comet-regression", "comet-regression-layernorm", "comet-kiwi", "comet-xcomet", "comet-adapted")
READ += ("bilstm", "esim", "rttsbert", "rttbertscore")


@pytest.fixture(scope="module")
def batches(folders):
    """A function that gives the steps of a run from each batch's beginning to that of the next; the last one's to the end of
    the run."""

    @cache
    def steps(name: str, dtype: str) -> list[list[Step]]:
        begun, forward = [], PackedEncoder.__call__

        def noted(network, *args, **kwargs):
            begun.append(len(gpu.steps))  # when the batch goes to the network
            return forward(network, *args, **kwargs)

        with pytest.MonkeyPatch.context() as patched, StandInGpu() as gpu:
            patched.setattr(PackedEncoder, "__call__", noted)
            RUNS[name](folders, EngineOptions(device="cuda", dtype=dtype, batch_tokens=40, quiet=True))
        assert len(begun) > 2
        return [gpu.steps[begin:end] for begin, end in zip(begun, [*begun[1:], None])]

    return steps


def until_a_wait(steps: list[Step]) -> list[Step]:
    return steps[: next((place for place, step in enumerate(steps) if step.kind == WAIT or step.blocks), None)]


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("dtype", some(["fp32", "bf16"], ["fp32"]))
def test_nothing_blocks_between_two_batches(name, dtype, batches):
    """Nor in them, but for the first, which brings constants with it."""
    _, *found, last = batches(name, dtype)
    blocking = {f"batch {number}: {step}" for number, steps in enumerate(found, 1) for step in steps if step.blocks}
    assert blocking == set()
    assert any(step.kind == RECORD for step in until_a_wait(last)), "the host waited in the last batch"


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("dtype", some(["fp32", "bf16"], ["fp32"]))
def test_a_batch_is_waited_for_when_the_next_one_is_under_way(name, dtype, batches):
    """All transfers and kernels of batch N+1 are asked for before the event of batch N is waited for."""
    found = batches(name, dtype)
    batch_of = {step.event: n for n, steps in enumerate(found) for step in steps if step.kind == RECORD}
    assert sorted(set(batch_of.values())) == [*range(len(found))], "a batch whose end nobody can wait for"
    for number, steps in enumerate(found[:-1]):
        for place, step in enumerate(steps):
            if step.kind == WAIT:
                assert batch_of[step.event] == number - 1, f"in batch {number}: {step}"
                late = [str(each) for each in steps[place:] if each.kind in WORK]
                assert late == [], f"of batch {number}, asked for after the wait for the one before: {late[:3]}"
    waited = {batch_of[step.event] for steps in found for step in steps if step.kind == WAIT}
    assert waited == {*range(len(found))}
    own = [step for step in found[-1] if step.kind == WAIT]
    assert batch_of[own[0].event] == len(found) - 2
