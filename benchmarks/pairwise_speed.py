"""What does `pairwise` cost beside sacrebleu's own metrics? The sacrebleu command on the same systems, as often as is asked.

    python benchmarks/pairwise_speed.py REF SYSTEM SYSTEM ... [--runs N]

Compares `-m bleu chrf pairwise` with `-m bleu chrf ter`, whole commands with start and loading, in turns.
"""

import argparse
import subprocess
import sys
import time

METRICS = ("ter", "pairwise")


def seconds(reference: str, systems: list[str], metric: str) -> float:
    command = [sys.executable, "-m", "sacrebleu", reference, "-i", *systems, "-m", "bleu", "chrf", metric, "-q"]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference")
    parser.add_argument("systems", nargs="+")
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    ratios = []
    for run in range(1, args.runs + 1):
        ter, pairwise = (seconds(args.reference, args.systems, metric) for metric in METRICS)
        ratios.append(pairwise / ter)
        print(f"run {run}: bleu chrf ter {ter:.1f} s, bleu chrf pairwise {pairwise:.1f} s, ratio {ratios[-1]:.2f}")
    print(f"best ratio of {args.runs}: {min(ratios):.2f}")


if __name__ == "__main__":
    main()
