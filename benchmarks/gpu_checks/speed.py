"""Speed and memory on the device, and what happens where memory runs out."""

import contextlib
import random
from collections.abc import Iterator

import torch
from comet_cpu import Ours, difference
from comet_gpu import NetworkWatch, distinct_texts, peak_memory, report_host, timed

import ctx_metrics
from ctx_metrics import ResourceError
from ctx_metrics.engine.device import TOKEN_BUDGETS, TokenBudget
from ctx_metrics.engine.memory import forget_texts
from ctx_metrics.notices import collected, counted

from .bench import DTYPES, Bench
from .scores import EQUAL

IDLE = 0.1  # share of the time that a device is expected to wait at most; no card has been measured
BUDGETS = [4096, 8192, 16384, 32768, 65536, 131072]


def check_batches(bench: Bench) -> None:
    """Speed, memory and the device's waits by number format and token budget."""
    bench.needs_cuda()
    for dtype in DTYPES:
        score = Ours(bench.checkpoint("large"), device=str(bench.device), dtype=dtype)
        score(bench.warm_up)
        for budget in BUDGETS:
            score.estimator.encoder.budget = TokenBudget(bench.device, budget)
            peak = peak_memory(score, bench.systems, bench.device)
            with NetworkWatch() as watch:
                [seconds], _ = timed(score, bench.systems, bench.device, 1)
            span, idle, longest = watch.idle()
            speed = len(bench.systems) * len(bench.systems[0]) / seconds
            host = 1000 * (seconds - watch.waiting) / watch.calls
            batches = counted(watch.calls, "batch", "batches")
            figure = (
                f"{speed:.0f} segments/s, {peak:.0f} MiB above the weights; {batches}, between them {idle / span:.1%} "
            )
            figure += f"of {span:.2f} s, {1000 * longest:.1f} ms at most; host {host:.1f} ms a batch"
            if (left := score.estimator.encoder.budget.tokens) < budget:
                figure += f"; memory ran out, went on with {left} tokens"
            default = budget == TOKEN_BUDGETS["cuda"]
            name = f"{dtype}, budget of {budget} tokens{' (default)' * default}"
            bench.findings.add(name, figure, f"expected: < {IDLE:.0%} between batches" if default else "")
        del score
        ctx_metrics.release()


def check_long(bench: Bench) -> None:
    """Padded attention must not pad thousands of short texts to a long one."""
    bench.needs_cuda()
    # the short texts fill several batches
    budget = 1024 if bench.small else None
    score = Ours(bench.checkpoint("large"), device=str(bench.device), batch_tokens=budget)
    score(bench.warm_up)
    words = sorted({word for text in distinct_texts(bench.systems) for word in text.split()})
    draw = random.Random(2)

    def sample() -> dict:
        return {key: " ".join(draw.choices(words, k=2)) for key in ("src", "mt", "ref")}

    short = [[sample() for _ in range(100 if bench.small else 2000)]]
    even = peak_memory(score, short, bench.device)
    short[0][0]["mt"] = " ".join(draw.choices(words, k=250))
    peak = peak_memory(score, short, bench.device)
    figure = f"{peak:.0f} MiB; {even:.0f} MiB without the long one"
    bench.findings.add("fp32, memory for a long text among short ones", figure, "<= twice as much", peak <= 2 * even)


def check_memory(bench: Bench) -> None:
    """Too little memory for a batch, and for a text; and what release gives back."""
    bench.needs_cuda()
    ctx_metrics.release()
    before = torch.cuda.memory_allocated(bench.device)
    score = Ours(bench.checkpoint("large"), device=str(bench.device))
    systems = [system[: len(system) // 4] for system in bench.systems]
    expected = score(systems)
    weights = torch.cuda.memory_allocated(bench.device) - before
    peak = peak_memory(score, systems, bench.device)
    torch.cuda.empty_cache()
    room = int(0.4 * peak * 2**20)
    forget_texts()
    with memory_limit(bench.device, torch.cuda.memory_reserved(bench.device) + room), collected() as said:
        found = score(systems)
    budget, worst = score.estimator.encoder.budget.tokens, difference(found, expected)
    name, shown = "a budget that does not fit", f"{room / 2**20:.0f} MiB where {peak:.0f} were used"
    if budget == TOKEN_BUDGETS["cuda"]:
        bench.findings.add(name, f"memory did not run out with {shown}")
    else:
        figure = f"went on with {budget} tokens ({shown}), {len(said)} notices; scores differ by {worst:.1e}"
        bench.findings.add(name, figure, f"a notice, <= {EQUAL}", bool(said) and worst <= EQUAL)
    forget_texts()
    name = "a text that does not fit"
    try:
        with no_memory(bench.device), collected():
            score([system[:1] for system in systems])
    except ResourceError as error:
        bench.findings.add(name, str(error), "one line", "\n" not in str(error))
    else:
        bench.findings.add(name, "it did fit, into memory that torch had kept")
    del score
    ctx_metrics.release()
    left = torch.cuda.memory_allocated(bench.device) - before
    figure = f"leaves {left / 2**20:.1f} of {weights / 2**20:.1f} MiB"
    bench.findings.add("release()", figure, "< 1 %, or 64 MiB of work space", left < max(weights / 100, 2**26), True)


@contextlib.contextmanager
def memory_limit(device: torch.device, size: int) -> Iterator[None]:
    """Let torch take at most so many bytes of a device."""
    total = torch.cuda.get_device_properties(device).total_memory
    number = device.index or 0  # torch takes no bare "cuda" here
    torch.cuda.set_per_process_memory_fraction(min(size / total, 1.0), number)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, number)


@contextlib.contextmanager
def no_memory(device: torch.device) -> Iterator[None]:
    """Take all the memory that torch still has, in ever smaller pieces."""
    torch.cuda.empty_cache()
    ballast: list[torch.Tensor] = []
    with memory_limit(device, torch.cuda.memory_reserved(device)):
        for size in (2**24, 2**20, 2**16, 2**12, 2**9):
            with contextlib.suppress(torch.OutOfMemoryError):
                while True:
                    ballast.append(torch.empty(size, dtype=torch.uint8, device=device))
        yield


def check_host(bench: Bench) -> None:
    """Where the CPU's time goes."""
    repetitions = 1 if bench.small else 3
    report_host(bench.findings, bench.cache, bench.systems, bench.warm_up, repetitions)
