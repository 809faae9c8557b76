"""What the start-up hook costs: every Python start, and `sacrebleu -m bleu`, with and without the plugin.

    python benchmarks/startup.py [--starts 200] [--runs 30]

Run it with the Python of a virtual environment that ctx-metrics is installed in. The plugin is taken away by renaming
ctx_metrics.pth for the time of a start, and put back. Starts with and without it take turns; medians are compared.
"""

import argparse
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PTH = Path(sysconfig.get_path("purelib")) / "ctx_metrics.pth"


def measure(command: list[str], times: int) -> tuple[float, float]:
    """Median milliseconds of a command with and without the plugin, over runs that take turns."""
    away = PTH.with_suffix(".away")
    taken: dict[bool, list[float]] = {True: [], False: []}
    try:
        for _ in range(times):
            for plugin in (True, False):
                if not plugin:
                    PTH.rename(away)
                start = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                taken[plugin].append(1000 * (time.perf_counter() - start))
                if not plugin:
                    away.rename(PTH)
    finally:
        if away.exists():
            away.rename(PTH)
    return statistics.median(taken[True]), statistics.median(taken[False])


def main() -> None:
    """Measure and print both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    if not PTH.exists():
        sys.exit(f"startup.py: {PTH.name} is not in this Python's site-packages; install ctx-metrics there first")
    with_plugin, without = measure([sys.executable, "-c", "pass"], args.starts)
    print(f"Python start: {with_plugin:.2f} ms with, {without:.2f} ms without: {with_plugin - without:+.2f} ms")
    command = [str(Path(sys.executable).with_name("sacrebleu")), str(EXAMPLES / "ref.en.txt"), "-i"]
    with_plugin, without = measure([*command, str(EXAMPLES / "system_a.en.txt"), "-m", "bleu"], args.runs)
    print(f"sacrebleu -m bleu: {with_plugin:.1f} ms with, {without:.1f} ms without: {with_plugin / without:.3f} times")


if __name__ == "__main__":
    main()
