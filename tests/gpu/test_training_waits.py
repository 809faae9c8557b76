"""A training on a card: the host waits for it once a step, and little else is copied to it than a batch."""

import pytest
import torch
from gpu_conftest import folders, nothing_is_loaded  # noqa: F401
from gpu_runs import RUNS
from selection import some
from stand_in_gpu import StandInGpu
from stand_in_gpu.queue import SYNCHRONISATION, TO_DEVICE, TO_HOST

from ctx_metrics.engine.quantised import PackedRows
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.training.loop import Loop
from ctx_metrics.training.quality import unified
from ctx_metrics.training.quality.network import PackedEmbedding


@pytest.fixture
def passes(monkeypatch):
    """The number of passes of each step of a model of UniTE's shape, with 50 tokens in each on the CPU."""
    monkeypatch.setitem(unified.TOKENS_A_PASS, "cpu", 50)
    numbers = []

    def parts(self, batch, whole=unified.UnifiedTask._parts):
        found = whole(self, batch)
        numbers.append(len(found))
        return found

    monkeypatch.setattr(unified.UnifiedTask, "_parts", parts)
    return numbers


@pytest.mark.full
@pytest.mark.parametrize(
    "name",
    some(
        ["train-unified", "train-bilstm", "train-esim", "train-comet", "train-paraphrase"],
        ["train-bilstm", "train-paraphrase"],
    ),
)
def test_a_step_waits_once(name, folders, passes, monkeypatch):
    """For the loss, which must be a number before the weights change. Transformers' encoders look at their masks besides."""
    waited = []

    def step(self, batch, whole=Loop._step):
        before = len(gpu.steps)
        whole(self, batch)
        of_step = [each for each in gpu.steps[before:] if each.kind in (SYNCHRONISATION, TO_DEVICE, TO_HOST)]
        waited.append([each for each in of_step if each.blocks and not each.place.endswith(", in transformers")])

    monkeypatch.setattr(Loop, "_step", step)
    with StandInGpu() as gpu:
        RUNS[name](folders, EngineOptions(device="cuda", quiet=True))
    assert len(waited) > 2 and set(passes) == ({1} if name == "train-unified" else set())
    for of_step in waited:
        assert [each.place.partition(":")[0] for each in of_step] == ["training/loop.py"], list(map(str, of_step))


@pytest.mark.full
def test_a_batch_is_read_while_the_one_before_is_computed(folders, monkeypatch):
    begun, copied, epochs = [], [], set()

    def step(self, batch, whole=Loop._step):
        begun.append(len(gpu.steps))
        epochs.add(self.progress.epoch)
        whole(self, batch)

    def outputs(self, inputs, whole=unified.UnifiedTask.outputs):
        if self.network.training:
            copied.append(sum(each.kind == TO_DEVICE for each in gpu.steps[begun[-1] :]))
        return whole(self, inputs)

    monkeypatch.setattr(Loop, "_step", step)
    monkeypatch.setattr(unified.UnifiedTask, "outputs", outputs)
    with StandInGpu() as gpu:
        RUNS["train-unified"](folders, EngineOptions(device="cuda", quiet=True))
    at_once = [number for number in copied if number]  # the first batch of each epoch
    assert len(copied) == len(begun) > len(at_once) == len(epochs) and copied[0] > 0


@pytest.mark.full
def test_a_pass_on_a_cpu_has_fewer_tokens(folders, passes):
    """A row here has about 20 tokens: all 8 of a step are one pass on a card, and several where 50 are allowed."""
    RUNS["train-unified"](folders, EngineOptions(device="cpu", quiet=True))
    assert min(passes) > 1


def test_a_table_of_words_is_copied_once():
    """The 4-bit rows of a multilingual encoder are unpacked on the card, and not on the CPU for each batch."""
    blocks = torch.randint(0, 256, (9, 2, 18), dtype=torch.uint8)
    blocks[..., 0], blocks[..., 1] = 0, 0x3C  # the scale 1
    ids = torch.tensor([[3, 8], [0, 3]])
    expected = PackedEmbedding(PackedRows(blocks))(ids)
    with StandInGpu() as gpu:
        table, on_card = PackedEmbedding(PackedRows(blocks)), ids.cuda()
        found = [table(on_card), table(on_card)]
        copies = [step.bytes for step in gpu.of(TO_DEVICE, TO_HOST)]
        assert all(torch.equal(each.cpu(), expected) for each in found)
    assert copies == [8 * ids.numel(), blocks.numel()]
