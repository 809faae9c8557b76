"""The embedded multilingual model on a CPU beside the embedded English one and unbabel-comet's UnifiedMetric of its size.

    python benchmarks/embedded_speed.py --data DIR --cache DIR [--segments 100] [--repetitions 3] [--threads 2]

Segments of WMT22 zh-en, three systems, scored in turns in one process with the weights loaded: the multilingual model
reading the source, the reference, and both (three sequences a segment); UnifiedMetric of 12 layers x 384 with random weights
reading the source (`predict`, batches of 16, once a system); the English model reading the reference. Texts are forgotten
before each repetition. Seconds are medians; ratios are to the multilingual model reading the source.
"""

import argparse
import statistics
import time
from pathlib import Path

import torch
from comet_cpu import build_fixture, load_peer, read_texts, spread_segments, texts_for
from tabulate import tabulate

from ctx_metrics.engine.memory import forget_texts
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.models.estimator import EMBEDDED_FOLDER, EMBEDDED_UNIFIED, Example
from ctx_metrics.models.load import load_estimator


def ours(folder: Path, inputs: str | None):
    """What scores all systems at once."""
    estimator = load_estimator(str(folder), EngineOptions(device="cpu", quiet=True), inputs)

    def score(systems) -> None:
        forget_texts()
        samples = [sample for system in systems for sample in system]
        estimator.estimate([Example(sample["mt"], sample["ref"], sample["src"]) for sample in samples], "")

    return score


def main() -> None:
    """Time them and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--segments", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    systems, _ = read_texts(args.data)
    peer = load_peer(build_fixture(args.cache, "unified-qe", "small", systems))
    tools = {
        "multilingual, mt+src": ours(EMBEDDED_UNIFIED, "mt+src"),
        "multilingual, mt+ref": ours(EMBEDDED_UNIFIED, "mt+ref"),
        "multilingual, mt+src+ref": ours(EMBEDDED_UNIFIED, "mt+src+ref"),
        "unbabel-comet UnifiedMetric, mt+src": lambda systems: peer(texts_for("unified-qe", systems)),
        "English, mt+ref": ours(EMBEDDED_FOLDER, None),
    }
    chosen, few = spread_segments(systems, args.segments), spread_segments(systems, 4)
    seconds: dict[str, list[float]] = {name: [] for name in tools}
    for score in tools.values():
        score(few)
    for _ in range(args.repetitions):
        for name, score in tools.items():
            start = time.perf_counter()
            score(chosen)
            seconds[name].append(time.perf_counter() - start)
    first, *_ = medians = [statistics.median(each) for each in seconds.values()]
    rows = [(name, median, median / first) for name, median in zip(tools, medians, strict=True)]
    print(f"{args.segments} segments x {len(systems)} systems, {args.threads} threads, {args.repetitions} repetitions")
    print(tabulate(rows, ["model", "seconds", "ratio"], "github", floatfmt=".2f"))


if __name__ == "__main__":
    main()
