"""What the start-up hook costs: CPU time of every Python start, and of `sacrebleu -m bleu`, with and without the plugin.

    python benchmarks/startup.py [--starts 200] [--runs 30]

Run it with the Python of a virtual environment that ctx-metrics is installed in, without -e: the finder of an editable
install costs every start more than all that is measured here. The plugin is taken away by renaming ctx_metrics.pth for
the time of a start, and put back. Starts with and without it take turns; the shortest are compared, because whatever
else runs on the machine can only add to CPU time.
"""

import argparse
import resource
import subprocess
import sys
import sysconfig
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SITE = Path(sysconfig.get_path("purelib"))
PTH = SITE / "ctx_metrics.pth"
LIMIT = 1.1  # times the CPU time without the plugin, that a run of bleu may take with it
ROUNDS = 3  # a shared machine may differ by a tenth within a round: one below the limit is enough


def cpu(command: list[str]) -> float:
    """CPU milliseconds of one run of a command, in user and system mode."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(command: list[str], times: int) -> tuple[float, float]:
    """Least CPU milliseconds of a command with and without the plugin, over runs that take turns."""
    away = PTH.with_suffix(".away")
    taken: dict[bool, list[float]] = {True: [], False: []}
    try:
        for _ in range(times):
            for plugin in (True, False):
                if not plugin:
                    PTH.rename(away)
                taken[plugin].append(cpu(command))
                if not plugin:
                    away.rename(PTH)
    finally:
        if away.exists():
            away.rename(PTH)
    return min(taken[True]), min(taken[False])


def main() -> None:
    """Measure and print both comparisons; exit code 1 where a run of bleu takes over LIMIT times as long in each round."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    if not PTH.exists():
        sys.exit(f"startup.py: {PTH.name} is not in this Python's site-packages; install ctx-metrics there first")
    if not (SITE / "ctx_metrics").is_dir():
        sys.exit("startup.py: ctx-metrics is installed with -e here; install it without, in an environment of its own")
    with_plugin, without = measure([sys.executable, "-c", "pass"], args.starts)
    print(f"Python start: {with_plugin:.2f} ms with, {without:.2f} ms without: {with_plugin - without:+.2f} ms")
    command = [str(Path(sys.executable).with_name("sacrebleu")), str(EXAMPLES / "ref.en.txt"), "-i"]
    for _ in range(ROUNDS):
        with_plugin, without = measure([*command, str(EXAMPLES / "system_a.en.txt"), "-m", "bleu"], args.runs)
        times = with_plugin / without
        print(
            f"sacrebleu -m bleu: {with_plugin:.1f} ms with, {without:.1f} ms without: {times:.3f} times (at most {LIMIT})"
        )
        if times <= LIMIT:
            return
    sys.exit(1)


if __name__ == "__main__":
    main()
