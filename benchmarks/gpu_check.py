"""Everything about a GPU that only a GPU can show, as one table to send to us; about ten minutes on a card for computing.

    python benchmarks/gpu_check.py [--device cuda] [--cache DIR] [--only NAME ...] [--small] > table.md

Needs no data and no network: random COMET checkpoints (comet_fixture.py), the models in the package, the examples and
made-up texts. It takes 3 GB of disk in --cache, by default a temporary folder. A check that breaks off is a row too, and the
others run; Ctrl-C ends a single check. Exits with 1 when a check fails. Progress is on stderr. --small takes tiny models and
judges no speed; with --device cpu it checks this program itself.

machine     the device, its driver, what torch was built for, whether TF32 is on
scores      scores in fp32 equal the CPU's: COMET's classes and every neural metric of the package
formats     bf16 and fp16 against fp32
predict     scores equal unbabel-comet's on the same device; speed beside it, share of the card's rate, memory (comet_gpu.py)
batches     speed, memory, and how long the device waits between batches, by number format and token budget
long        one long text among thousands of short ones: memory in fp32 stays bounded
repeated    a second run gives the same scores to the last bit
memory      a budget that does not fit is halved, with a notice and the same scores; a text that does not fit is one line;
            release() gives all memory back
workers     the command sacrebleu with -j 4 ends, and prints what it prints with -j 1
devices     a second card gives the scores of the first
training    the first losses of `ctx-metrics train` are those of the CPU
host        seconds of a run outside the network, on the CPU (comet_gpu.py)
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from findings import Findings
from gpu_checks import commands, scores, speed
from gpu_checks.bench import Bench

import ctx_metrics
from ctx_metrics.engine.device import computes_in_tf32, cuda_fault


def check_machine(bench: Bench) -> None:
    """The device and what torch knows of it."""
    add = bench.findings.add
    add("ctx-metrics, torch", f"{ctx_metrics.__version__}, {torch.__version__}; {os.cpu_count()} cores")
    if bench.device.type != "cuda":
        add("device", bench.device.type)
        return
    properties = torch.cuda.get_device_properties(bench.device)
    add("device", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB; {torch.cuda.device_count()} in all")
    add("driver, CUDA", f"{driver()}, {torch.version.cuda}")
    fault = cuda_fault(bench.device.index or 0)
    version = ".".join(map(str, torch.cuda.get_device_capability(bench.device)))
    figure = f"{version}; torch has {' '.join(torch.cuda.get_arch_list())}"
    add("compute capability", figure, "torch has kernels for it", not fault)
    precision = torch.get_float32_matmul_precision()
    forced = os.environ.get("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "not set")
    figure = f"precision {precision}, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE {forced}"
    add("TF32 in matrix products", figure, "off", not computes_in_tf32(bench.device))


def driver() -> str:
    """The version of the NVIDIA driver."""
    if not (tool := shutil.which("nvidia-smi")):
        return "nvidia-smi not found"
    command = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.partition("\n")[0].strip()


CHECKS: dict[str, Callable[[Bench], None]] = {
    "machine": check_machine,
    "scores": scores.check_scores,
    "formats": scores.check_formats,
    "repeated": scores.check_repeated,
    "devices": scores.check_devices,
    "predict": scores.check_predict,
    "batches": speed.check_batches,
    "long": speed.check_long,
    "memory": speed.check_memory,
    "workers": commands.check_workers,
    "training": commands.check_training,
    "host": speed.check_host,
}


def check_all(device: torch.device, cache: Path, small: bool, names: list[str]) -> Findings:
    """Run the checks of these names, each whatever becomes of the others."""
    findings = Findings(small)
    bench = Bench(device, cache, findings)
    start = time.perf_counter()
    for name in names:
        findings.run(name, lambda name=name: CHECKS[name](bench))
        ctx_metrics.release()
    findings.add("all of this", f"took {time.perf_counter() - start:.0f} s")
    return findings


def main() -> None:
    """Run the checks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cache", type=Path, help="keeps the checkpoints for another run")
    parser.add_argument("--only", nargs="+", choices=CHECKS, default=list(CHECKS), metavar="NAME")
    parser.add_argument("--small", action="store_true")
    args = parser.parse_args()
    device = torch.device(args.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        sys.exit("gpu_check.py: torch sees no CUDA device; `ctx-metrics doctor` shows what it sees")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):  # libraries print
        findings = check_all(device, args.cache or Path(folder), args.small, args.only)
    findings.show()
    if findings.failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
