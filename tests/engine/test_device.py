import platform
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ctx_metrics import BERTR, COMET, RTTSBERT, BiLSTM, EngineOptions, Pairwise
from ctx_metrics.cli import doctor
from ctx_metrics.engine import device
from ctx_metrics.engine.device import (
    INSTALL,
    check_arithmetic,
    device_fault,
    number_format,
    resolve_device,
    resolve_dtype,
    token_batches,
)
from ctx_metrics.errors import InputError, ResourceError
from ctx_metrics.scale.corpora import key_of_part
from ctx_metrics.wording import by_flags


@pytest.fixture
def machine(monkeypatch):
    """A function that makes torch see so many CUDA devices, and MPS or not.

    built           the architectures that torch is built for
    capabilities    of the devices; by default they are those of an A100
    """

    def with_devices(cuda=0, mps=False, built=("sm_80",), capabilities=()):
        of_devices = capabilities or [(8, 0)] * cuda

        def capability(device):
            return of_devices[device if isinstance(device, int) else device.index or 0]

        monkeypatch.setattr(torch.cuda, "get_device_capability", capability)
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


@pytest.mark.parametrize(
    "field, name, meant",
    [
        *(("device", each, "") for each in ("", "cuda:-1", "cuda:128", "meta")),
        *(("device", *each) for each in (("GPU:1", "cuda:1"), ("0", "cuda:0"), ("CPU", "cpu"))),
        *(("dtype", *each) for each in (("FP16", "fp16"), ("half", "fp16"), ("float32", "fp32"), ("tf32", ""))),
    ],
)
def test_unknown_devices_and_number_formats(field, name, meant):
    what = {"device": "device", "dtype": "number format"}[field]
    with pytest.raises(InputError, match=f"^{field}: unknown {what} {name!r}") as caught:
        EngineOptions(**{field: name})
    assert str(caught.value).partition("; did you mean ")[2].rstrip("?") == meant


def test_numbers_of_numpy_are_numbers():
    assert EngineOptions(batch_tokens=np.int64(64), store_mb=np.int32(1)) == EngineOptions(batch_tokens=64, store_mb=1)


def fault_on(name: str) -> str:
    """Why a device is not taken; the line names its fix in Python and in a command."""
    with pytest.raises(ResourceError) as caught:
        resolve_device(name)
    device, _, fault = str(caught.value).partition(" was not found: ")
    fault, _, fix = fault.rpartition("; or try ")
    assert (device, fix) == (f"device {name!r}", "device='cpu'")
    with by_flags(), pytest.raises(ResourceError, match="; or try --ctx-device cpu$"):
        resolve_device(name)
    assert fault == device_fault(torch.device(name)).removeprefix("was not found: ")
    return fault


def test_absent_cards(machine, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    machine(cuda=0)
    assert "nvidia-smi" in fault_on("cuda") and doctor_on("cuda") == f"none ({fault_on('cuda')})"
    machine(cuda=2)
    assert fault_on("cuda:2").startswith("torch sees 2 cards, and counts them from cuda:0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert fault_on("cuda:2") == "torch sees 2 cards with CUDA_VISIBLE_DEVICES='7'; unset or change it"


def test_a_torch_without_cuda(machine, monkeypatch):
    machine(cuda=0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    assert "is built without CUDA" in fault_on("cuda:1") and INSTALL in fault_on("cuda:1")
    assert doctor_on("cuda") == f"none ({fault_on('cuda')})"
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert fault_on("cuda") == "Macs have no CUDA; their GPU is mps"


def test_absent_mps(machine, monkeypatch):
    machine()
    found = []
    for system, built in (("Linux", False), ("Darwin", False), ("Darwin", True)):
        monkeypatch.setattr(platform, "system", lambda system=system: system)
        monkeypatch.setattr(torch.backends.mps, "is_built", lambda built=built: built)
        found.append(fault_on("mps"))
        assert doctor_on("mps") == f"none ({found[-1]})"
    assert found[0] == "only Macs have it" and INSTALL in found[1] and "macOS" in found[2]
    machine(mps=True)
    assert doctor_on("mps") == "available"


BUILT = ["sm_75", "sm_80", "sm_86", "sm_90a", "sm_120", "compute_120"]
TOO_OLD = f"it has compute capability 6.1, and torch {torch.__version__} is built for {', '.join(BUILT)} only"


def test_cards_that_torch_has_kernels_for(machine):
    for capability, runs in (((7, 0), False), ((7, 5), True), ((9, 0), True), ((10, 0), False), ((12, 1), True)):
        machine(cuda=1, built=BUILT, capabilities=[capability])
        assert (resolve_device("auto").type == "cuda") is runs, capability


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
    assert str(caught.value) == f"device 'cuda:1' cannot be used: {TOO_OLD}; or try device='cpu'"

    def fails(device=None):
        raise RuntimeError("CUDA unknown error - this may be due to an incorrectly set up environment\nmore lines")

    monkeypatch.setattr(torch.cuda, "get_device_capability", fails)
    with pytest.raises(ResourceError, match="'cuda' cannot be used: CUDA unknown error - .* environment; or try"):
        resolve_device("cuda")


def test_a_driver_that_is_too_old_is_one_line(machine, monkeypatch, caplog, recwarn):
    machine(cuda=1)  # which the driver's own library counts, and torch cannot use

    def is_available():
        warnings.warn(
            "CUDA initialization: The NVIDIA driver on your system is too old.\nUpdate it. (Triggered internally at x)",
            stacklevel=2,
        )
        return False

    monkeypatch.setattr(torch.cuda, "is_available", is_available)
    said = "CUDA initialization: The NVIDIA driver on your system is too old. Update it."
    assert resolve_device("auto") == torch.device("cpu") and caplog.messages == [f"no GPU is used: {said}"]
    assert doctor_on("cuda") == f"none ({said})"
    with pytest.raises(ResourceError, match=rf"'cuda' was not found: {said}; or try"):
        resolve_device("cuda")
    assert not recwarn.list


@pytest.fixture
def products():
    """How torch computes fp32 products on CUDA; changes end with the test."""
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    yield matmul
    matmul.fp32_precision = before


def test_tf32_is_said_and_shown(products, machine, caplog):
    """The program around us can have torch compute fp32 products in TF32, on cards from Ampere on."""
    machine(cuda=2, built=["sm_75", "sm_80"], capabilities=[(8, 0), (7, 5)])
    cards = "cuda:0", "cuda:1", "cpu"

    def shown(name: str) -> list[str]:
        for card in cards:
            check_arithmetic(resolve_device(card), resolve_dtype(name))
        return [number_format(name, card) for card in cards]

    assert shown("fp32") == ["fp32"] * 3
    products.fp32_precision = "tf32"
    assert shown("fp16") == ["fp16"] * 3 and caplog.messages == []
    assert shown("fp32") == ["tf32", "fp32", "fp32"] and number_format("fp32", resolve_device("auto")) == "tf32"
    [said] = caplog.messages
    assert said.startswith("cuda:0 computes fp32 in TF32, as torch.set_float32_matmul_precision or ")


def test_signatures_and_kept_results_tell_tf32_from_fp32(monkeypatch, tiny_bert):
    engine = EngineOptions(device="cpu", quiet=True)

    def known_by() -> list[tuple[str, str]]:
        metrics = [
            BERTR([["a"]], model=str(tiny_bert), engine=engine),
            COMET([["a"]], engine=engine),
            BiLSTM([["a"]], engine=engine),
            RTTSBERT(sources=["a"], roundtrips=[["a"]], model=str(tiny_bert), engine=engine),
            Pairwise([["a"]], [["a"], ["b"]], engine=engine),
        ]
        return [(str(metric.get_signature().format()), key_of_part(metric, {}, [["a"]], ["b"])) for metric in metrics]

    before = known_by()
    assert all("|dtype:fp32|" in signature for signature, _ in before)
    monkeypatch.setattr(device, "computes_in_tf32", lambda device: True)
    for (signature, key), (old, old_key) in zip(known_by(), before, strict=True):
        assert signature == old.replace("|dtype:fp32|", "|dtype:tf32|") and key != old_key


@given(st.lists(st.integers(1, 60), max_size=40), st.integers(1, 150))
def test_batches_of_the_longest_first_are_filled_up_to_the_budget(lengths, budget):
    batches = token_batches(lengths, budget)
    order = [index for batch in batches for index in batch]
    assert order == sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))  # in order where lengths are equal
    tokens = [sum(lengths[i] for i in batch) for batch in batches]
    for batch, own in zip(batches, tokens):
        assert batch and (len(batch) == 1 or own <= budget)
    for own, following in zip(tokens, batches[1:]):
        assert own + lengths[following[0]] > budget
