"""Speed of meta-evaluation: calibrated ties, counts of pairs against scipy's, and 52 published metrics.

    python benchmarks/meta.py [--data DIR]

DIR holds wmt22_mqm/wmt22_mqm.tar.xz and wmt22_mqm_zhen_metric_scores/zh-en_all.tar.xz; without it the last table is left
out. Everything else is random data with ties. One thread is enough: nothing here runs on several.
"""

import argparse
import tarfile
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau
from tabulate import tabulate

from ctx_metrics.judgements.judged import is_human
from ctx_metrics.judgements.measures.ties import calibrate, pair_counts
from ctx_metrics.judgements.readers.tree import read_tree
from ctx_metrics.judgements.score_files import read_score_file
from ctx_metrics.meta.evaluation import Significance, evaluate
from ctx_metrics.meta.protocols import make_protocols

MEASURES = ("sys-acc", "seg-pearson", "acc-eq", "spa")


def timed(function: Callable, times: int = 5) -> float:
    """Median seconds of a call."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def peak(function: Callable) -> float:
    """MiB that a call holds at most."""
    tracemalloc.start()
    function()
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return held / 2**20


def judged_outputs(systems: int, segments: int) -> tuple[np.ndarray, np.ndarray]:
    """Penalties as MQM has them, half of them 0, and a metric that follows them; float64 (systems, segments)."""
    generator = np.random.default_rng(1)
    human = -np.floor(generator.exponential(1.5, (systems, segments)))
    return human, human + generator.normal(0, 3, human.shape)


def ties_table() -> str:
    """Calibration averaged over segments, as systems and segments grow."""
    rows = []
    for systems, segments in ((15, 2000), (30, 2000), (30, 4000), (60, 2000)):
        human, metric = judged_outputs(systems, segments)
        pairs = systems * (systems - 1) // 2 * segments
        rows.append(
            [
                f"{systems} x {segments:,}",
                f"{pairs:,}",
                f"{timed(partial(calibrate, human, metric)):.3f}",
                f"{peak(partial(calibrate, human, metric)):.0f}",
            ]
        )
    return tabulate(rows, ["systems x segments", "pairs", "seconds", "peak MiB"], "github", disable_numparse=True)


def counts_table() -> str:
    """Concordant, discordant and tied pairs of outputs all together, beside scipy's Kendall's tau of the same."""
    rows = []
    for outputs in (1_000, 10_000, 100_000):
        human, metric = (each.ravel() for each in judged_outputs(1, outputs))
        ours, scipys = timed(partial(pair_counts, human, metric)), timed(partial(kendalltau, human, metric))
        rows.append([f"{outputs:,}", f"{ours:.4f}", f"{scipys:.4f}", f"{ours / scipys:.1f}"])
    return tabulate(rows, ["outputs", "pair_counts", "scipy kendalltau", "ratio"], "github", disable_numparse=True)


def published_table(data: Path) -> str:
    """Four measures of all published metrics of WMT22 zh-en, from their files to the result."""
    with tempfile.TemporaryDirectory() as folder:
        for archive in ("wmt22_mqm/wmt22_mqm.tar.xz", "wmt22_mqm_zhen_metric_scores/zh-en_all.tar.xz"):
            with tarfile.open(data / archive) as tar:
                tar.extractall(folder, filter="data")
        start = time.perf_counter()
        judged = read_tree(f"{folder}/wmt22_mqm", "zh-en", "mqm", "refA")
        judged = judged.without([system for system in judged.systems if is_human(system)])
        files = sorted(Path(folder).rglob("zh-en_all/*.seg.score"))
        scores = [read_score_file(str(file), judged, file.name.removesuffix(".seg.score")) for file in files]
        read = time.perf_counter() - start
        rows = [["read", f"{read:.2f}"]]
        for name in MEASURES:
            start = time.perf_counter()
            evaluate([judged], {judged.name: scores}, [make_protocols()[name]], Significance("none"))
            rows.append([name, f"{time.perf_counter() - start:.2f}"])
    return tabulate(rows, [f"{len(files)} metrics, WMT22 zh-en", "seconds"], "github", disable_numparse=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of the WMT data")
    data = parser.parse_args().data
    print(ties_table(), counts_table(), *([published_table(data)] if data else []), sep="\n\n")


if __name__ == "__main__":
    main()
