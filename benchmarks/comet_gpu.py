"""COMET models on a GPU: speed against unbabel-comet's `predict`, use of the card, drift of bf16, and memory.

    python benchmarks/comet_gpu.py --cache DIR [--device cuda] [--repetitions 3] [--small]

Needs no data: 3 systems of 2,000 distinct made-up segments of about 40 tokens, and a random checkpoint of the large size
that --cache keeps (comet_fixture.py). Where unbabel-comet cannot be imported, its rows are left out and the rest is run.
Models are loaded and warmed up before the clock starts; all else counts, tokenisation too. Exits with 1 when a target is
missed. --small, also with --device cpu, checks the benchmark itself.

speed    `predict` in fp32 with its default batch of 16, one system after another, against one call of ours for all, in fp32
         and in bf16
use      floating-point operations of the distinct sequences' encoding, per second of the bf16 run, over the rate of a large
         bf16 matrix product measured on the same device
drift    difference of the systems' scores in bf16 and in fp32
memory   the peak above the weights for three token budgets, for half of the segments and for all
"""

import argparse
import json
import random
import statistics
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

import torch
from comet_cpu import TOLERANCE, difference, forget_texts, load_ours, load_peer
from comet_fixture import build_checkpoint
from tabulate import tabulate
from tokenizers import Tokenizer

import ctx_metrics

SPEED_TARGET, USE_TARGET, DRIFT_TARGET = 6.0, 0.4, 1e-3
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


def measure_memory(folder: Path, device: torch.device, budgets: list[int], systems: list, warm_up: list) -> list[tuple]:
    """(budget, peak MB above the weights for half of the segments, for all of them) of each token budget, in bf16."""
    results = []
    for budget in budgets:
        score = load_ours(folder, device=str(device), dtype="bf16", batch_tokens=budget)
        score(warm_up)
        peaks = []
        for part in ([system[: len(system) // 2] for system in systems], systems):
            forget_texts()
            torch.cuda.empty_cache()
            before = torch.cuda.memory_allocated(device)
            torch.cuda.reset_peak_memory_stats(device)
            score(part)
            synchronize(device)
            peaks.append((torch.cuda.max_memory_allocated(device) - before) / 2**20)
        results.append((budget, *peaks))
        del score
        ctx_metrics.release()
    return results


class Report:
    """Prints findings with their verdicts; `failed` says whether any target was missed."""

    def __init__(self, small: bool):
        self.small, self.failed = small, False

    def judge(self, finding: str, good: bool, of_speed: bool = True) -> None:
        """Print a finding and whether its target is met; at small sizes what is a matter of speed or size is not judged."""
        judged = not (self.small and of_speed)
        self.failed |= judged and not good
        print(f"{finding}: {('pass' if good else 'FAIL') if judged else 'not judged'}")

    def table(self, rows: list, headers: list[str]) -> None:
        """Print a table."""
        print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


def run_tools(folder: Path, device: torch.device, systems: list, warm_up: list, repetitions: int) -> dict[str, tuple]:
    """(seconds of each repetition, scores) of ours in both number formats, and of predict if it is there."""
    loaders = {
        f"ours {dtype}": partial(load_ours, folder, device=str(device), dtype=dtype) for dtype in ("fp32", "bf16")
    }
    try:
        import comet  # noqa: F401
    except Exception as error:  # beside newer libraries its import breaks in many ways
        print(f"unbabel-comet cannot be imported here, its rows are left out: {type(error).__name__}: {error}")
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


def report_tools(report: Report, results: dict[str, tuple], flop: float, rate: float) -> None:
    """Speed, equality of the scores, use of the card and drift."""
    median = {tool: statistics.median(seconds) for tool, (seconds, _) in results.items()}
    rows = []
    for tool, (seconds, scores) in results.items():
        values = [value for system in scores for value in system]
        spread = f"{min(seconds):.2f}-{max(seconds):.2f}"
        speed = f"{len(values) / median[tool]:.0f}"
        rows.append([tool, f"{median[tool]:.2f}", spread, speed, f"{statistics.pstdev(values):.3f}"])
    report.table(rows, ["tool", "median s", "range", "segments/s", "std of the scores"])
    fp32, bf16 = results["ours fp32"][1], results["ours bf16"][1]
    if "predict fp32" in results:
        ratio = median["predict fp32"] / median["ours bf16"]
        report.judge(f"bf16 is {ratio:.1f} times as fast as predict, target {SPEED_TARGET}", ratio >= SPEED_TARGET)
        print(f"fp32 is {median['predict fp32'] / median['ours fp32']:.1f} times as fast as predict")
        worst = difference(fp32, results["predict fp32"][1])
        finding = f"fp32 and predict differ by at most {worst:.1e} in a segment's score, target {TOLERANCE}"
        report.judge(finding, worst <= TOLERANCE, of_speed=False)
    achieved = flop / median["ours bf16"]
    finding = f"use of the card in bf16: {achieved / 1e12:.3g} of {rate / 1e12:.3g} TFLOP/s, {achieved / rate:.2f}"
    report.judge(f"{finding}, target {USE_TARGET}", achieved >= USE_TARGET * rate)
    drift = max(abs(statistics.mean(a) - statistics.mean(b)) for a, b in zip(bf16, fp32, strict=True))
    finding = f"bf16 and fp32 differ by at most {drift:.1e} in a system's score, target {DRIFT_TARGET}"
    report.judge(f"{finding} ({difference(bf16, fp32):.1e} in a segment's)", drift <= DRIFT_TARGET, of_speed=False)


def report_memory(report: Report, memory: list[tuple]) -> None:
    """Peaks of measure_memory."""
    rows = [[budget, f"{half:.0f}", f"{whole:.0f}", f"{whole * 1024 / budget:.1f}"] for budget, half, whole in memory]
    report.table(rows, ["token budget", "peak MB, half the segments", "peak MB, all", "KB a token"])
    independent = all(whole <= SLACK * half for _, half, whole in memory)
    proportional = all(b[2] / b[0] <= SLACK * a[2] / a[0] for a, b in pairwise(memory))
    finding = "peak memory above the weights is bounded by the budget, whatever the number of segments"
    report.judge(finding, independent and proportional)


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    device = torch.device(args.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("comet_gpu.py: no CUDA device is seen; --device cpu --small checks the benchmark itself")
    systems = made_up_segments(40 if args.small else 2000)
    texts = distinct_texts(systems)
    folder = build_checkpoint(args.cache, "regression", "tiny" if args.small else "large", texts)
    config = json.loads((folder / "encoder" / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(folder / "encoder" / "tokenizer.json"))
    lengths = [len(encoding.ids) for encoding in tokenizer.encode_batch(texts)]
    warm_up = made_up_segments(8 if args.small else 200, seed=1)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    print(
        f"{name}, torch {torch.__version__}: {SYSTEMS} systems x {len(systems[0])} segments, {len(texts)} distinct texts"
    )
    print(f"of {statistics.mean(lengths):.1f} tokens each ({min(lengths)}-{max(lengths)})")
    report = Report(args.small)
    rate = matmul_rate(device, 512 if args.small else 8192)
    results = run_tools(folder, device, systems, warm_up, args.repetitions)
    report_tools(report, results, encoding_flop(config, lengths), rate)
    if device.type == "cuda":
        budgets = [512, 1024, 2048] if args.small else [16384, 32768, 65536]
        report_memory(report, measure_memory(folder, device, budgets, systems, warm_up))
    else:
        print("memory is measured on CUDA devices alone")
    if report.failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
