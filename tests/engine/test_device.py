import warnings

import pytest
import torch

from ctx_metrics.cli import doctor
from ctx_metrics.engine.device import resolve_device, resolve_dtype
from ctx_metrics.errors import ResourceError


@pytest.fixture
def machine(monkeypatch):
    """A function that makes torch see so many CUDA devices, and MPS or not.

    built           the architectures that torch is built for
    capabilities    of the devices; by default they are those of an A100
    """

    def with_devices(cuda=0, mps=False, built=("sm_80",), capabilities=()):
        of_devices = capabilities or [(8, 0)] * cuda
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: of_devices[device])
        monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: list(built))
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


BUILT = ["sm_75", "sm_80", "sm_86", "sm_90a", "sm_120", "compute_120"]
TOO_OLD = f"it has compute capability 6.1, and torch {torch.__version__} is built for {', '.join(BUILT)} only"


@pytest.mark.parametrize(
    "capability, runs",
    [
        ((6, 1), False),
        ((7, 0), False),
        ((7, 5), True),
        ((8, 9), True),
        ((9, 0), True),
        ((10, 0), False),
        ((12, 1), True),
    ],
)
def test_cards_that_torch_has_kernels_for(machine, capability, runs):
    machine(cuda=1, built=BUILT, capabilities=[capability])
    assert (resolve_device("auto").type == "cuda") is runs


def test_auto_passes_over_cards_that_torch_cannot_use(machine, caplog):
    machine(cuda=2, built=BUILT, capabilities=[(6, 1), (8, 6)])
    assert resolve_device("auto") == torch.device("cuda:1")
    machine(cuda=1, built=BUILT, capabilities=[(6, 1)])
    assert resolve_device("auto") == torch.device("cpu")
    assert caplog.messages == [f"device cuda:0 is not used: {TOO_OLD}"] * 2
    assert doctor_on("cuda:0") == f"cannot be used: {TOO_OLD}"


def doctor_on(device: str) -> str:
    [text] = [finding.text for finding in doctor.devices() if finding.name == device]
    return text


def test_a_named_card_that_torch_cannot_use_is_one_line(machine, monkeypatch):
    machine(cuda=2, built=BUILT, capabilities=[(8, 6), (6, 1)])
    assert resolve_device("cuda") == torch.device("cuda")
    with pytest.raises(ResourceError) as caught:
        resolve_device("cuda:1")
    assert str(caught.value) == f"device 'cuda:1' cannot be used: {TOO_OLD}; try --ctx-device cpu"

    def fails(device=None):
        raise RuntimeError("CUDA unknown error - this may be due to an incorrectly set up environment\nmore lines")

    monkeypatch.setattr(torch.cuda, "get_device_capability", fails)
    with pytest.raises(ResourceError, match="'cuda' cannot be used: CUDA unknown error - .* environment; try"):
        resolve_device("cuda")


def test_a_driver_that_is_too_old_is_one_line(machine, monkeypatch, caplog, recwarn):
    machine(cuda=1)  # which the driver's own library counts, and torch cannot use

    def is_available():
        warnings.warn(
            "CUDA initialization: The NVIDIA driver on your system is too old.\nUpdate it. (Triggered internally at x)"
        )
        return False

    monkeypatch.setattr(torch.cuda, "is_available", is_available)
    said = "CUDA initialization: The NVIDIA driver on your system is too old. Update it."
    assert resolve_device("auto") == torch.device("cpu") and caplog.messages == [f"no GPU is used: {said}"]
    assert doctor_on("cuda") == f"none ({said})"
    with pytest.raises(ResourceError, match=rf"'cuda' was not found: 0 CUDA devices seen \({said}\); try --ctx-device"):
        resolve_device("cuda")
    assert not recwarn.list


def test_number_formats():
    assert [resolve_dtype(name) for name in ("fp32", "bf16", "fp16")] == [torch.float32, torch.bfloat16, torch.float16]
    with pytest.raises(ResourceError, match="unknown number format 'float32'; --ctx-dtype takes fp32, bf16, fp16"):
        resolve_dtype("float32")
