"""The stand-in card itself: what it refuses, notes, delays and lacks."""

import copy
import os
import pickle

import pytest
import torch
import torch.nn.functional as F
from gpu_conftest import nothing_is_loaded  # noqa: F401
from stand_in_gpu import StandInGpu
from stand_in_gpu.queue import PICKLE, PINNED, RECORD, TO_DEVICE, TO_HOST, WAIT, ChangedTooEarly
from torch import nn
from torch.nn.attention import varlen


@pytest.fixture
def gpu():
    with StandInGpu(devices=2) as gpu:
        yield gpu


def test_tensors_claim_to_be_where_they_were_sent(gpu):
    sent = torch.ones(2, 3).to("cuda")
    assert str(sent.device) == "cuda:0" and sent.is_cuda and not sent.is_cpu and sent.get_device() == 0
    assert torch.zeros(2, device=sent.device).is_cuda and torch.zeros_like(sent).is_cuda and sent.new_ones(1).is_cuda
    assert (sent @ sent.T)[0, :1].is_cuda and sent.half().is_cuda
    assert torch.tensor([1.0], device="cuda:1").get_device() == 1
    assert not sent.cpu().is_cuda and not torch.ones(2).is_cuda and sent.to("cpu").device.type == "cpu"
    assert copy.deepcopy(nn.Linear(2, 2).cuda()).weight.is_cuda
    with torch.inference_mode():
        assert F.linear(sent, torch.ones(4, 3, device="cuda")).is_cuda


def test_nothing_is_left_of_it():
    with StandInGpu():
        torch.ones(2, device="cuda")
    assert not torch.cuda.is_available() and "to" not in vars(torch.Tensor) and not torch.ones(1).is_pinned()
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(1, device="cuda")


@pytest.mark.parametrize("grad", [False, True])
def test_devices_do_not_mix(gpu, grad):
    with torch.enable_grad() if grad else torch.inference_mode():
        here, card, other = torch.ones(2, 2), torch.ones(2, 2, device="cuda"), torch.ones(2, 2, device="cuda:1")
        for mixed in (
            lambda: card + here,
            lambda: here @ card,
            lambda: card + other,
            lambda: torch.cat([card, here]),
            lambda: F.linear(card, here),
            lambda: card.masked_fill(here > 0, 0),
            lambda: F.layer_norm(card, (2,), here[0], here[1]),
            lambda: here.index_select(0, torch.tensor([1], device="cuda")),
            lambda: here[torch.tensor([1], device="cuda")],
            lambda: card.index_put_((torch.tensor([0]),), here[:1]),
            lambda: torch.tensor(0.0).add_(card.detach().sum()),
        ):
            with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
                mixed()
        assert (card + torch.tensor(1.0)).is_cuda and (card * 2).is_cuda
    for reads in (lambda: card.numpy(), lambda: memoryview(card.__array__())):
        with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
            reads()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.ones(1, device="cuda:2")


def test_copies_from_ordinary_memory_block(gpu):
    torch.ones(5).to("cuda", non_blocking=True)
    [step] = gpu.of(TO_DEVICE)
    assert step.blocks and step.bytes == 20 and step.shape == (5,)
    torch.ones(5, device="cuda").cpu()
    [step] = gpu.of(TO_HOST)
    assert step.blocks


def test_a_copy_to_pinned_memory_is_late(gpu):
    card, staging = torch.arange(4.0).cuda(), torch.empty(4, pin_memory=True)
    staging.copy_(card, non_blocking=True)
    assert staging.is_pinned() and staging.isnan().all()
    first, second = torch.cuda.Event(), torch.cuda.Event()
    first.record(torch.cuda.current_stream(card.device))
    later = (card * 2).to("cpu", non_blocking=True)  # torch pins that
    second.record()
    assert not first.query() and staging.isnan().all() and later.isnan().all()
    first.synchronize()
    assert staging.tolist() == [0, 1, 2, 3] and later.isnan().all() and first.query() and not second.query()
    card.sum().item()  # which waits for all
    assert later.tolist() == [0, 2, 4, 6]
    assert [step.event for step in gpu.of(WAIT)] == [first]
    assert not any(step.blocks for step in gpu.of(TO_HOST)) and len(gpu.of(PINNED)) == 2 and len(gpu.of(RECORD)) == 2


def test_a_copy_from_pinned_memory_is_late(gpu):
    staging = torch.arange(4.0).pin_memory()
    card = staging.to("cuda", non_blocking=True)
    assert not gpu.of(TO_DEVICE)[0].blocks
    torch.cuda.synchronize()
    assert card.tolist() == [0, 1, 2, 3]
    by_numpy = torch.from_numpy(staging.numpy())[1:]
    assert by_numpy.is_pinned() and not torch.ones(2).is_pinned()
    by_numpy.cuda(non_blocking=True)
    assert not gpu.of(TO_DEVICE)[-1].blocks
    staging.numpy()[2] = 7
    with pytest.raises(ChangedTooEarly):
        torch.cuda.synchronize()


def test_what_makes_the_host_wait(gpu):
    card = torch.arange(4.0, device="cuda")
    inside = card > 1
    for does in (
        lambda: card.sum().item(),
        lambda: bool(card[0] > 1),
        lambda: card.nonzero(),
        lambda: card[inside],
        lambda: card.index_put_((inside,), torch.ones(2, device="cuda")),
        lambda: card.unique(),
        lambda: card.masked_select(inside),
        lambda: card.repeat_interleave(torch.ones(4, dtype=torch.long, device="cuda")),
        lambda: card.tolist(),
        lambda: card[[0, 1]],
        lambda: torch.cuda.synchronize(),
    ):
        for mode in (torch.inference_mode(), torch.no_grad()):
            gpu.steps.clear()
            with mode:
                does()
            assert any(step.blocks for step in gpu.steps)
    gpu.steps.clear()
    card[inside] = 0.0  # is a masked_fill
    card.masked_fill(inside, 1).index_select(0, torch.tensor([0]).pin_memory().cuda(non_blocking=True))
    assert not any(step.blocks for step in gpu.steps)


def test_memory_is_counted_and_ends():
    with StandInGpu() as gpu:
        kept = torch.zeros(100, device="cuda")
        gone = kept * 2
        assert gpu.memory.live() == 800 == torch.cuda.memory_allocated() and gpu.memory.allocations == 2
        view = gone[1:]
        del gone
        assert gpu.memory.live() == 800
        del view
        assert gpu.memory.live() == 400 and gpu.memory.peak == 800
    with StandInGpu(capacity=1000) as gpu:
        kept = torch.zeros(100, device="cuda")
        with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
            kept.new_zeros(1000, 10**9)
        torch.ones(100, device="cuda")
        assert gpu.memory.failures == 1 and kept.is_cuda


FAILURES = {"memory": "out of memory", "cublas alloc": "CUBLAS_STATUS_ALLOC_FAILED"}
FAILURES |= {"cublas init": "CUBLAS_STATUS_NOT_INITIALIZED", "cudnn alloc": "CUDNN_STATUS_ALLOC_FAILED"}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("for_good", [False, True])
def test_a_chosen_allocation_fails(failure, for_good):
    with StandInGpu(fail_at=2, failure=failure, for_good=for_good) as gpu:
        first = torch.zeros(2, device="cuda")
        with pytest.raises(RuntimeError, match=FAILURES[failure]):
            first + 1
        if for_good:
            with pytest.raises(RuntimeError, match=FAILURES[failure]):
                torch.ones(3).cuda()
        else:
            assert (first + 1).tolist() == [1, 1]
        assert gpu.memory.failures == 1 + for_good


def sequences(lengths, dtype=torch.bfloat16, size=8):
    ends = torch.tensor([0, *lengths]).cumsum(0).int().cuda()
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(sum(lengths), 2, size, generator=generator).to(dtype).cuda() for _ in range(3)], ends


def test_the_kernel_for_sequences_of_different_lengths(gpu):
    (q, k, v), ends = sequences([3, 1, 2])
    attended = varlen.varlen_attn(q, k, v, ends, ends, 3, 3)
    assert attended.is_cuda and attended.dtype == torch.bfloat16 and gpu.steps[-1].op == "varlen_attn"
    alone = F.scaled_dot_product_attention(*(each[4:].transpose(0, 1) for each in (q, k, v))).transpose(0, 1)
    assert torch.equal(attended[4:].cpu(), alone.cpu())


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda q, k, v, ends: (q[..., :4], k[..., :4], v[..., :4], ends, ends, 3, 3), "multiple of 8"),
        (lambda q, k, v, ends: (*(each.repeat(1, 1, 33) for each in (q, k, v)), ends, ends, 3, 3), "at most 256"),
        (lambda q, k, v, ends: (q.float(), k.float(), v.float(), ends, ends, 3, 3), "fp16 and bf16"),
        (lambda q, k, v, ends: (q, k, v, ends.long(), ends, 3, 3), "dtype int32"),
        (lambda q, k, v, ends: (q, k, v, ends.cpu(), ends, 3, 3), "on CUDA device"),
        (lambda q, k, v, ends: (q.transpose(1, 2).contiguous().transpose(1, 2), k, v, ends, ends, 3, 3), "contiguous"),
        (lambda q, k, v, ends: (q, k, v, ends, ends, 2, 3), "more than 2"),
        (lambda q, k, v, ends: (q, k, v, ends - 1, ends, 3, 3), "read beyond"),
        (lambda q, k, v, ends: (q[:-1], k, v, ends, ends, 3, 3), "read beyond"),
    ],
)
def test_what_the_kernel_refuses(gpu, change, message):
    (q, k, v), ends = sequences([3, 1, 2])
    with pytest.raises((RuntimeError, AssertionError), match=message):
        varlen.varlen_attn(*change(q, k, v, ends))


def test_pickles_are_noted_or_refused():
    with StandInGpu() as gpu:
        card = torch.ones(2, device="cuda")
        assert pickle.loads(pickle.dumps([card, torch.ones(1)]))[0].is_cuda and len(gpu.of(PICKLE)) == 1
        content = pickle.dumps(card)
    with pytest.raises(RuntimeError, match="deserialize object on a CUDA device"):
        pickle.loads(content)
    with StandInGpu(pickles=False), pytest.raises(TypeError, match="was pickled"):
        pickle.dumps({"x": torch.ones(2, device="cuda")})


def test_a_forked_process_cannot_use_the_card(gpu):
    torch.ones(1, device="cuda")
    if (child := os.fork()) == 0:
        try:
            torch.ones(1, device="cuda")
            os._exit(0)
        except RuntimeError as error:
            os._exit(3 if "Cannot re-initialize CUDA in forked subprocess" in str(error) else 4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
