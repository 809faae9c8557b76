"""Everything about a GPU that only a GPU can show, as one table to send to us; about ten minutes on a data-centre card.

    python benchmarks/gpu_check.py [--device cuda] [--cache DIR] [--only NAME ...] [--small] > table.md

Needs no data and no network: random COMET checkpoints (comet_fixture.py), the models in the package, the examples and
made-up texts. A check that fails with an error gets a row, and the rest still run; Ctrl-C ends a single check. The exit code
is 1 if a check fails, and 143 if SIGTERM ends the program: the table then has the rows so far. Progress is on stderr.
"""

import argparse
import contextlib
import signal
import sys
import tempfile
from pathlib import Path

from device_flag import add_device, device_of

CHECKS = {
    "machine": "the device, its driver, what torch was built for, whether TF32 is on",
    "scores": "scores in fp32 equal the CPU's: COMET's classes and every neural metric of the package",
    "formats": "bf16 and fp16 against fp32",
    "repeated": "a second run gives the same scores to the last bit",
    "devices": "a second card gives the scores of the first",
    "predict": "scores equal unbabel-comet's on the same device; speed beside it, share of the card's rate, memory",
    "batches": "speed, memory, and how long the device waits between batches, by number format and token budget",
    "long": "memory in fp32 stays bounded for one long text among thousands of short ones",
    "memory": "a budget that does not fit is halved, with a notice and the same scores; a text that does not fit is one "
    "line; release() gives all memory back",
    "workers": "the command sacrebleu with -j 4 ends, and prints what it prints with -j 1",
    "training": "the first losses of `ctx-metrics train` are those of the CPU",
    "host": "seconds of a run outside the network, on the CPU",
}


def main() -> None:
    """Run the checks and print the table."""
    listed = "\n".join(f"  {name:<10} {what}" for name, what in CHECKS.items())
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=f"checks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_device(parser)
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="keeps the checkpoints, 3 GB, for another run (default: a folder that is removed, under TMPDIR or /tmp)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CHECKS,
        default=list(CHECKS),
        metavar="NAME",
        help="only these checks (default: all)",
    )
    parser.add_argument("--small", action="store_true", help="tiny models and few texts; judges no speed")
    args = parser.parse_args()
    device = device_of(parser, args.device)
    from findings import Findings
    from gpu_checks.bench import Bench
    from gpu_checks.order import check_all

    findings = Findings(args.small)
    signal.signal(signal.SIGTERM, stop)
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):  # libraries print
            check_all(Bench(device, args.cache or Path(folder), findings), args.only)
    finally:
        findings.show()
    if findings.failed:
        sys.exit(1)


def stop(number: int, _: object) -> None:
    """End the program, once."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
