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


@pytest.mark.parametrize(
    "name",
    some(
        ["train-unified", "train-bilstm", "train-esim", "train-comet", "train-paraphrase"],
        ["train-unified", "train-bilstm", "train-paraphrase"],
    ),
)
def test_a_step_waits_once(name, folders, monkeypatch):
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
    assert len(waited) > 2
    for of_step in waited:
        assert [each.place.partition(":")[0] for each in of_step] == ["training/loop.py"], list(map(str, of_step))


def test_a_pass_on_a_card_has_more_tokens(folders, monkeypatch):
    """A row here has about 20 tokens: all 8 of a step are one pass where 150 are allowed, and several where 50 are."""
    passes = []

    def parts(self, batch, whole=unified.UnifiedTask._parts):
        passes.append(len(whole(self, batch)))
        return whole(self, batch)

    monkeypatch.setattr(unified.UnifiedTask, "_parts", parts)
    monkeypatch.setattr(unified, "TOKENS_A_PASS", {"cpu": 50, "cuda": 1000})
    RUNS["train-unified"](folders, EngineOptions(device="cpu", quiet=True))
    assert min(passes) > 1
    passes.clear()
    with StandInGpu():
        RUNS["train-unified"](folders, EngineOptions(device="cuda", quiet=True))
    assert max(passes) == 1


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
