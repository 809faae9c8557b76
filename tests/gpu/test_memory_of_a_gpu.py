"""How much of a card's memory the encoder takes: as much as the budget of tokens allows, whatever the texts' lengths."""

import numpy as np
import pytest
import torch
from gpu_conftest import folders, nothing_is_loaded  # noqa: F401
from selection import some
from stand_in_gpu import StandInGpu
from stand_in_gpu.queue import ALLOCATION

from ctx_metrics.engine.encoder import TextEncoder
from ctx_metrics.engine.readout import PooledMix
from ctx_metrics.engine.tokenizer import TokenIds
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.comet.checkpoint import open_comet

LAST = PooledMix((0.0, 0.0, 0.0, 1.0), "avg")
BUDGET = 4000
# fp32 numbers of the encoder's width that a token takes at most: its states, queries, keys and values, each twice while they
# are laid out for attention, and twice the width twice in between
NUMBERS_A_TOKEN = 12


def texts(lengths) -> list[TokenIds]:
    draw = np.random.default_rng(1)
    return [TokenIds(np.array([0, *draw.integers(5, 30, length - 2), 2]), 0) for length in lengths]


def encoder_on(device: str, folder: str, dtype: str = "fp32") -> TextEncoder:
    options = EngineOptions(device=device, dtype=dtype, batch_tokens=BUDGET, quiet=True)
    return TextEncoder(open_comet(folder), options)


@pytest.mark.parametrize("dtype", some(["fp32", "bf16"], ["fp32"]))
@pytest.mark.parametrize("capability", some([(8, 0), (7, 5)], [(8, 0)]))
def test_one_long_text_among_many_short_ones(folders, caplog, dtype, capability):
    """Where attention pads, it is the padded batch that keeps to the budget; memory does not run out, and no batch is split."""
    mixed = texts([500, *[6] * 2000])
    model = folders.comet("regression")
    expected = [states[LAST] for states in encoder_on("cpu", model).encode(mixed, [LAST])]
    with StandInGpu(capability=capability) as gpu:
        encoder = encoder_on("cuda", model, dtype)
        encoder.require([LAST])
        encoder.load()
        weights = gpu.memory.live()
        gpu.forget_peak()
        gpu.memory.capacity = bound = weights + BUDGET * NUMBERS_A_TOKEN * 4 * encoder.width
        found = [states[LAST] for states in encoder.encode(mixed, [LAST])]
        largest = max(gpu.of(ALLOCATION), key=lambda step: step.bytes)
    assert gpu.memory.failures == 0 and gpu.memory.peak <= bound, f"the largest was {largest}"
    assert encoder.budget.tokens == BUDGET and caplog.text == ""
    assert torch.allclose(torch.stack(found), torch.stack(expected), atol=1e-5 if dtype == "fp32" else 0.05)


def test_a_deeper_network_takes_the_place_of_the_shallow_one(folders):
    """The weights of fewer layers are free before those of more are loaded."""
    first, model = PooledMix((0.0, 1.0), "avg"), folders.comet("regression")
    with StandInGpu() as gpu:
        encoder = encoder_on("cuda", model)
        encoder.require([LAST])
        encoder.load()
        alone = gpu.memory.peak
    with StandInGpu() as gpu:
        encoder = encoder_on("cuda", model)
        encoder.require([first])
        encoder.load()
        shallow = gpu.memory.live()
        encoder.require([LAST])
        encoder.load()
    assert shallow > 1000 and gpu.memory.peak <= alone
