"""What the trained metrics cost beside bertr, and pairwise beside ter: whole sacrebleu commands, in turns.

    python benchmarks/learned.py [--references REF --systems A B] [--docids FILE] [--runs 5]

Without texts of yours it takes the example, 59 segments. Every command has --paired-bs. Medians are compared with the
command that has `-m bertr` alone.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LEARNED = ["bilstm", "bilstmatt", "esim"]
METRICS = {
    "bertr": ["bertr"],
    "bertr and the three": ["bertr", *LEARNED],
    "bertr, slide": ["bertr", "slide"],
    "bleu, bertr, the three, slide": ["bleu", "bertr", *LEARNED, "slide"],
    "bleu, chrf, ter": ["bleu", "chrf", "ter"],
    "bleu, chrf, pairwise": ["bleu", "chrf", "pairwise"],
}


def main() -> None:
    """Measure and print every command's median and its ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", default=str(EXAMPLES / "ref.en.txt"))
    parser.add_argument("--systems", nargs="+", default=[str(EXAMPLES / f"system_{name}.en.txt") for name in "ab"])
    parser.add_argument("--docids", help="document ids, which slide's windows end with (the example has its own)")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    docids = args.docids or (str(EXAMPLES / "docids.txt") if args.systems[0].startswith(str(EXAMPLES)) else None)
    start = [str(Path(sys.executable).with_name("sacrebleu")), args.references, "-i", *args.systems, "--paired-bs"]
    taken: dict[str, list[float]] = {name: [] for name in METRICS}
    for _ in range(args.runs):
        for name, metrics in METRICS.items():
            ids = ["--docids", docids] if docids and "slide" in metrics else []
            begin = time.perf_counter()
            subprocess.run(
                [*start, *ids, "-m", *metrics], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
            taken[name].append(time.perf_counter() - begin)
    base = statistics.median(taken["bertr"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:32} {median:7.2f} s ({min(times):.2f} to {max(times):.2f})  {median / base:5.2f} times bertr")


if __name__ == "__main__":
    main()
