import pytest
import torch

from ctx_metrics.engine.device import resolve_device, resolve_dtype
from ctx_metrics.errors import ResourceError


@pytest.fixture
def machine(monkeypatch):
    """A function that makes torch see so many CUDA devices, and MPS or not."""

    def with_devices(cuda=0, mps=False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return with_devices


def test_auto_takes_the_best_device(machine):
    for cuda, mps, best in ((0, False, "cpu"), (0, True, "mps"), (1, False, "cuda"), (1, True, "cuda")):
        machine(cuda, mps)
        assert resolve_device("auto") == resolve_device() == torch.device(best)


def test_named_devices(machine):
    machine(cuda=2, mps=True)
    for name in ("cpu", "mps", "cuda", "cuda:0", "cuda:1"):
        assert resolve_device(name) == torch.device(name)


@pytest.mark.parametrize("name", ["", "gpu", "cuda:x", "cuda:-1", "meta", "xpu", "0"])
def test_unknown_devices(name, machine):
    machine(cuda=2)
    with pytest.raises(ResourceError, match="unknown device .*; --ctx-device takes auto, cpu, mps, cuda or cuda:N"):
        resolve_device(name)


def test_absent_devices(machine):
    machine(cuda=0)
    with pytest.raises(ResourceError, match="'cuda' was not found: 0 CUDA devices seen; try --ctx-device cpu"):
        resolve_device("cuda")
    with pytest.raises(ResourceError, match="'mps' was not found"):
        resolve_device("mps")
    machine(cuda=2)
    with pytest.raises(ResourceError, match="'cuda:2' was not found: 2 CUDA devices seen"):
        resolve_device("cuda:2")


def test_number_formats():
    assert [resolve_dtype(name) for name in ("fp32", "bf16", "fp16")] == [torch.float32, torch.bfloat16, torch.float16]
    with pytest.raises(ResourceError, match="unknown number format 'float32'; --ctx-dtype takes fp32, bf16, fp16"):
        resolve_dtype("float32")
