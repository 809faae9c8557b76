"""COMET models on a GPU: speed against unbabel-comet's `predict`, use of the card, drift of bf16, memory, and host time.

    python benchmarks/comet_gpu.py --cache DIR [--device cuda] [--repetitions 3] [--small]

Needs no data: 3 systems of 2,000 distinct made-up segments of about 40 tokens, and a random checkpoint of the large size
that --cache keeps (comet_fixture.py). Where unbabel-comet cannot be imported, its rows are left out and the rest is run.
Models are loaded and warmed up before the clock starts; all else counts, tokenisation too. Prints one table, and exits with
1 when scores or memory are not as they must be; speed is not judged. --device cpu measures the host time alone; with --small
it checks the whole benchmark.

speed    `predict` in fp32 with its default batch of 16, one system after another, against one call of ours for all, in fp32
         and in bf16
use      floating-point operations of the distinct sequences' encoding, per second of the bf16 run, over the rate of a large
         bf16 matrix product measured on the same device
drift    difference of the systems' scores in bf16 and in fp32
memory   the peak above the weights for three token budgets, for half of the segments and for all
host     seconds of a run on the CPU outside the network: tokenising, forming batches, keeping what was read, the head. The
         network is a single narrow layer, and batches are as large as on a GPU. On a busy machine, compare the seconds of
         cores
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from comet_cpu import TOLERANCE, Ours, difference, load_peer
from comet_fixture import build_checkpoint
from device_flag import add_device, device_of
from findings import Findings
from tokenizers import Tokenizer

import ctx_metrics
from ctx_metrics.engine.device import TOKEN_BUDGETS, PendingCopy
from ctx_metrics.engine.forward import EncoderLayer, PackedEncoder
from ctx_metrics.engine.memory import forget_texts
from ctx_metrics.flag_types import positive
from ctx_metrics.notices import counted

DRIFT = 5e-3  # most that a half format may change a system's score; weights are random, and some layers few
SPEED, USE = 6.0, 0.25  # expected; an H200 had .27, and its speed against unbabel-comet has not been measured
SYSTEMS = 3
SLACK = 1.1  # how far memory may be from proportional to the budget, and from independent of the number of segments


def made_up_segments(count: int, seed: int = 0) -> list[list[dict]]:
    """Samples (src, mt, ref) of SYSTEMS systems that share sources and references; no two texts are equal."""
    generator = random.Random(seed)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = sorted({"".join(generator.choices(syllables, k=generator.choice([1, 2, 2, 3]))) for _ in range(3000)})
    texts: dict[str, None] = {}
    while len(texts) < count * (2 + SYSTEMS):
        texts[" ".join(generator.choices(words, k=generator.randint(10, 22)))] = None
    streams = [list(texts)[i * count : (i + 1) * count] for i in range(2 + SYSTEMS)]
    sources, references, *systems = streams
    return [
        [
            {"src": source, "mt": output, "ref": ref}
            for source, output, ref in zip(sources, outputs, references, strict=True)
        ]
        for outputs in systems
    ]


def distinct_texts(systems: list[list[dict]]) -> list[str]:
    """Every text of the samples once."""
    return list(dict.fromkeys(text for system in systems for sample in system for text in sample.values()))


def encoding_flop(config: dict, lengths: list[int]) -> float:
    """Operations of the transformer layers over sequences of so many tokens.

    Two for each weight and token, and 4 * width * length^2 a layer for attention.
    """
    layers, width, inner = (config[key] for key in ("num_hidden_layers", "hidden_size", "intermediate_size"))
    weights = layers * (4 * width * width + 2 * width * inner + 9 * width + inner)
    return sum(2 * weights * length + 4 * layers * width * length**2 for length in lengths)


def synchronize(device: torch.device) -> None:
    """Wait for the device, so that the clock sees all of its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def matmul_rate(device: torch.device, size: int, times: int = 20) -> float:
    """Operations per second of bf16 products of two random square matrices of `size`."""
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    for _ in range(3):
        torch.mm(a, b, out=out)
    synchronize(device)
    start = time.perf_counter()
    for _ in range(times):
        torch.mm(a, b, out=out)
    synchronize(device)
    return times * 2 * size**3 / (time.perf_counter() - start)


def timed(score, systems: list[list[dict]], device: torch.device, repetitions: int) -> tuple[list[float], list]:
    """Seconds of each repetition, and the scores."""
    seconds = []
    for _ in range(repetitions):
        forget_texts()
        synchronize(device)
        start = time.perf_counter()
        scores = score(systems)
        synchronize(device)
        seconds.append(time.perf_counter() - start)
    return seconds, scores


class NetworkWatch:
    """What the engine's networks take while this is entered.

    clock      gives seconds
    running    seconds that this process spends in their calls, which only enqueue the work on a GPU
    waiting    seconds that it waits for what comes back
    calls      how many of the networks' calls came to their end
    batches    on CUDA, the events before the first layer and after the last one of each of them
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.running = self.waiting = 0.0
        self.calls = 0
        self.batches: list[list[torch.cuda.Event]] = []
        self._events: list[torch.cuda.Event] = []  # of the call that is running
        self._replaced = ExitStack()

    def __enter__(self) -> "NetworkWatch":
        for owner, name, watched in (
            (PackedEncoder, "__call__", self._run),
            (EncoderLayer, "__call__", self._layer),
            (PendingCopy, "wait", self._wait),
        ):
            self._replaced.enter_context(replaced(owner, name, watched))
        return self

    def __exit__(self, *error) -> None:
        self._replaced.close()

    def idle(self) -> tuple[float, float, float]:
        """Seconds on the device from the first layer of all to the last, those of them between batches, and the longest
        time between two. What runs there beside the layers (copies, embeddings, heads) counts as between."""
        span = self.batches[0][0].elapsed_time(self.batches[-1][1]) / 1000
        gaps = [one[1].elapsed_time(next_one[0]) / 1000 for one, next_one in pairwise(self.batches)]
        return span, sum(gaps), max(gaps, default=0.0)

    def _run(self, original, network, *args, **kwargs):
        start = self.clock()
        self._events = []
        result = original(network, *args, **kwargs)
        self.calls += 1
        if self._events:
            self.batches.append(self._events)
        self.running += self.clock() - start
        return result

    def _layer(self, original, layer, hidden, *args):
        if not hidden.is_cuda:
            return original(layer, hidden, *args)
        if not self._events:
            self._events += [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            self._events[0].record(torch.cuda.current_stream(hidden.device))
        result = original(layer, hidden, *args)
        self._events[1].record(torch.cuda.current_stream(hidden.device))  # the last layer's stays
        return result

    def _wait(self, original, *args):
        start = self.clock()
        result = original(*args)
        self.waiting += self.clock() - start
        return result


@contextmanager
def replaced(owner: type, name: str, watched: Callable) -> Iterator[None]:
    """Have `watched(original, self, ...)` called in place of a method."""
    original = getattr(owner, name)

    @wraps(original)
    def method(*args, **kwargs):
        return watched(original, *args, **kwargs)

    setattr(owner, name, method)
    try:
        yield
    finally:
        setattr(owner, name, original)


class HostTime(NamedTuple):
    """Of one run on the CPU: seconds outside the network, by the clock and of the CPU's cores; all seconds; batches."""

    seconds: float
    cpu: float
    all: float
    batches: int


def host_time(score: Ours, systems: list[list[dict]]) -> HostTime:
    """What a run takes beside the network."""
    start = time.process_time()
    with NetworkWatch() as watch, NetworkWatch(time.process_time) as of_cores:
        [seconds], _ = timed(score, systems, torch.device("cpu"), 1)
    cores = time.process_time() - start - of_cores.running - of_cores.waiting
    return HostTime(seconds - watch.running - watch.waiting, cores, seconds, watch.calls)


def report_host(findings: Findings, cache: Path, systems: list, warm_up: list, repetitions: int) -> None:
    """Host time, with the batches of a GPU."""
    folder = build_checkpoint(cache, "regression", "tiny" if findings.small else "host", distinct_texts(systems))
    score = Ours(folder, device="cpu", dtype="fp32", batch_tokens=TOKEN_BUDGETS["cuda"])
    score(warm_up)
    runs = [host_time(score, systems) for _ in range(repetitions)]
    seconds, cpu = ([run[k] for run in runs] for k in (0, 1))
    median, batches = statistics.median(seconds), runs[0].batches
    figure = f"{in_range(seconds)} of {statistics.median(run.all for run in runs):.2f} s"
    figure += f", {1000 * median / batches:.1f} ms for each of {counted(batches, 'batch', 'batches')}"
    findings.add("time outside the network", figure, "less than a GPU takes for a batch")
    findings.add("its CPU time", f"{in_range(cpu)}, {counted(torch.get_num_threads(), 'thread', 'threads')}")


def in_range(seconds: list[float]) -> str:
    """The median of seconds, and the least and the largest of several."""
    spread = f" ({min(seconds):.2f} to {max(seconds):.2f})" if len(seconds) > 1 else ""
    return f"{statistics.median(seconds):.2f} s{spread}"


def measure_memory(folder: Path, device: torch.device, budgets: list[int], systems: list, warm_up: list) -> list[tuple]:
    """(budget, peak MiB above the weights for half of the segments, for all of them) of each token budget, in bf16."""
    results = []
    for budget in budgets:
        score = Ours(folder, device=str(device), dtype="bf16", batch_tokens=budget)
        score(warm_up)
        half = [system[: len(system) // 2] for system in systems]
        results.append((budget, *(peak_memory(score, part, device) for part in (half, systems))))
        del score
        ctx_metrics.release()
    return results


def peak_memory(score: Ours, systems: list[list[dict]], device: torch.device) -> float:
    """The most MiB that the device holds during a run, above what it holds before."""
    forget_texts()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    score(systems)
    synchronize(device)
    return (torch.cuda.max_memory_allocated(device) - before) / 2**20


def run_tools(folder: Path, device: torch.device, systems: list, warm_up: list, repetitions: int) -> dict[str, tuple]:
    """(seconds of each repetition, scores) of ours in both number formats, and of predict if it is there."""
    loaders = {f"ours {dtype}": partial(Ours, folder, device=str(device), dtype=dtype) for dtype in ("fp32", "bf16")}
    try:
        import comet  # noqa: F401
    except Exception as error:  # beside newer libraries its import breaks in many ways
        shown = f"{type(error).__name__}: {error}"
        print(f"unbabel-comet cannot be imported here, its rows are left out: {shown}", file=sys.stderr)
    else:
        loaders["predict fp32"] = partial(load_peer, folder, gpus=1 if device.type == "cuda" else 0)
    results = {}
    for tool, load in loaders.items():
        score = load()
        score(warm_up)
        results[tool] = timed(score, systems, device, repetitions)
        del score
        ctx_metrics.release()
    return results


def report_tools(findings: Findings, results: dict[str, tuple], flop: float, rate: float) -> None:
    """Speed, equality of the scores, use of the card and drift."""
    median = {tool: statistics.median(seconds) for tool, (seconds, _) in results.items()}
    for tool, (seconds, scores) in results.items():
        findings.add(f"speed, {tool}", f"{sum(map(len, scores)) / median[tool]:.0f} segments/s; {in_range(seconds)}")
    fp32, bf16 = results["ours fp32"][1], results["ours bf16"][1]
    if "predict fp32" in results:
        for dtype, expected in (("fp32", ""), ("bf16", f"expected: >= {SPEED}")):
            ratio = median["predict fp32"] / median[f"ours {dtype}"]
            findings.add(f"ours {dtype} beside predict", f"{ratio:.1f} times as fast", expected)
        worst = difference(fp32, results["predict fp32"][1])
        varying = statistics.pstdev(value for system in fp32 for value in system)
        figure = f"{worst:.1e} in a segment's score; segments vary by {varying:.3f} (std)"
        findings.add("ours fp32 and predict", figure, f"<= {TOLERANCE}", worst <= TOLERANCE)
    achieved = flop / median["ours bf16"]
    figure = f"{achieved / 1e12:.3g} TFLOP/s, {achieved / rate:.2f} of a matrix product's {rate / 1e12:.3g}"
    findings.add("rate, ours bf16", figure, f"expected: >= {USE}")
    findings.add("ours bf16 and fp32", *drift(bf16, fp32))


def drift(half: list[list[float]], fp32: list[list[float]]) -> tuple[str, str, bool]:
    """How far systems' scores in a half format are from those in fp32: figure, what to expect, whether it is so."""
    worst = max(abs(statistics.mean(a) - statistics.mean(b)) for a, b in zip(half, fp32, strict=True))
    figure = f"{worst:.1e} in a system's score, {difference(half, fp32):.1e} in a segment's"
    return figure, f"<= {DRIFT} in a system's", worst <= DRIFT


def report_memory(findings: Findings, memory: list[tuple]) -> None:
    """Peaks of measure_memory."""
    for budget, half, whole in memory:
        figure = f"{whole:.0f} MiB above the weights, {whole * 1024 / budget:.1f} KiB a token"
        findings.add(f"bf16 memory, {budget} tokens", f"{figure}; {half:.0f} MiB for half of the segments")
    independent = max(whole / half for _, half, whole in memory)
    grows = max((b[2] / b[0]) / (a[2] / a[0]) for a, b in pairwise(memory))
    figure = f"{independent:.2f} of the peak for half of the segments; {grows:.2f} a token of the smaller budget's"
    good = independent <= SLACK and grows <= SLACK
    findings.add("bf16 memory, growth", figure, f"<= {SLACK} both", good, of_speed=True)


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True, metavar="DIR", help="keeps the checkpoints, 3 GB")
    add_device(parser)
    parser.add_argument(
        "--repetitions", type=positive, default=3, metavar="N", help="runs of each tool (default: %(default)s)"
    )
    parser.add_argument("--small", action="store_true", help="tiny models and few texts; judges no speed or memory")
    args = parser.parse_args()
    device = device_of(parser, args.device)
    findings = Findings(args.small)
    systems = made_up_segments(40 if args.small else 2000)
    warm_up = made_up_segments(8 if args.small else 200, seed=1)
    if device.type == "cuda" or args.small:
        report_device(findings, args.cache, device, systems, warm_up, args.repetitions)
    report_host(findings, args.cache, systems, warm_up, args.repetitions)
    findings.show()
    if findings.failed:
        sys.exit(1)


def report_device(
    findings: Findings, cache: Path, device: torch.device, systems: list, warm_up: list, repetitions: int
) -> None:
    """Everything but the host time."""
    texts = distinct_texts(systems)
    folder = build_checkpoint(cache, "regression", "tiny" if findings.small else "large", texts)
    config = json.loads((folder / "encoder" / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(folder / "encoder" / "tokenizer.json"))
    lengths = [len(encoding.ids) for encoding in tokenizer.encode_batch(texts)]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    findings.add("device and torch", f"{name}, {torch.__version__}")
    figure = f"{SYSTEMS} x {len(systems[0])}; {len(texts)} distinct texts of {statistics.mean(lengths):.1f} tokens"
    findings.add("systems x segments", f"{figure} ({min(lengths)} to {max(lengths)})")
    rate = matmul_rate(device, 512 if findings.small else 8192)
    results = run_tools(folder, device, systems, warm_up, repetitions)
    report_tools(findings, results, encoding_flop(config, lengths), rate)
    if device.type == "cuda":
        budgets = [512, 1024, 2048] if findings.small else [16384, 32768, 65536]
        report_memory(findings, measure_memory(folder, device, budgets, systems, warm_up))
    else:
        findings.skip("bf16 memory", "needs a CUDA device")


if __name__ == "__main__":
    main()
