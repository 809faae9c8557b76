"""Whole commands on the device: significance tests in several processes, and trainings."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from comet_gpu import made_up_segments
from findings import NotMeasured

from ctx_metrics.models.hub import multilingual_folder

from .bench import EXAMPLES, Bench

COMMAND_SECONDS = 300


def run_command(device: object, program: str, *arguments: object) -> str:
    """What one of our commands prints.

    Raises RuntimeError where it fails, or has not ended after COMMAND_SECONDS on a card; a CPU may be slow: NotMeasured.
    """
    command = [str(Path(sys.executable).with_name(program)), *map(str, arguments), "--ctx-device", str(device)]
    # in a group of its own, so that its workers end with it
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            printed, errors = process.communicate(timeout=COMMAND_SECONDS)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                late = NotMeasured if str(device) == "cpu" else RuntimeError
                raise late(f"{program} has not ended on {device} after {COMMAND_SECONDS} s") from error
            raise
    if process.returncode:
        raise RuntimeError(f"{program} exits with {process.returncode}: {(errors.splitlines() or [''])[-1]}")
    return printed


def check_workers(bench: Bench) -> None:
    """Significance tests in several processes, after the scores were computed on the device."""
    texts = [EXAMPLES / name for name in ("ref.en.txt", "system_a.en.txt", "system_b.en.txt")]
    reference, *systems = texts
    command = [reference, "-i", *systems, "-m", "bertr", "esim", "--paired-bs", "--paired-bs-n", "200", "-f", "json"]
    printed = {}
    for jobs in ("1", "4"):
        start = time.perf_counter()
        printed[jobs] = run_command(bench.device, "sacrebleu", *command, "-j", jobs)
        seconds = time.perf_counter() - start
    same = printed["1"] == printed["4"]
    figure = f"ends after {seconds:.0f} s; prints {'the same as' if same else 'something else than'} -j 1"
    bench.findings.add("sacrebleu -m bertr esim --paired-bs -j 4", figure, "the same as -j 1", same)


def check_training(bench: Bench) -> None:
    """A few steps of each kind of training, on the device and on the CPU."""
    folder = Path(tempfile.mkdtemp(dir=bench.cache))
    data = [
        "--train",
        write_judgements(folder / "train.tsv", 32, 1),
        "--dev",
        write_judgements(folder / "dev.tsv", 16, 2),
    ]
    narrow = ["--hidden", "32", "--feedforward", "32", "--epochs", "2", "--dropout", "0"]
    for network, flags, most in (
        ("bilstm", narrow, 0.01),
        ("esim", [*narrow, "--projection", "32"], 0.01),
        # its dropout cannot be switched off, and devices draw different numbers
        ("comet", ["--inputs", "mt+src+ref", "--encoder", "multilingual"], 0.2),
    ):

        def train_on(device: object, network=network, flags=flags) -> list[float]:
            out = Path(tempfile.mkdtemp(dir=folder)) / "model"
            options = ["--out", out, "--quiet", "--no-text-checks"]
            run_command(device, "ctx-metrics", "train", network, *flags, *data, *options)
            return [json.loads(line)["loss"] for line in (out / "checks.jsonl").read_text().splitlines()]

        def compare(network=network, train_on=train_on, most=most) -> None:
            if network == "comet" and multilingual_folder() is None:
                raise NotMeasured("needs pip install 'ctx-metrics[multilingual]'")
            on_cpu, first, second = (train_on(device) for device in ("cpu", bench.device, bench.device))
            worst, again = (
                max(abs(a / b - 1) for a, b in zip(first, other, strict=True)) for other in (on_cpu, second)
            )
            losses = ", ".join(f"{loss:.4f}" for loss in first)
            figure = f"losses {losses}; {worst:.1e} of it from the CPU's, {again:.1e} from a second run's"
            bench.findings.add(f"train {network}", figure, f"<= {most} from the CPU's", worst <= most)

        bench.findings.run(f"train {network}", compare)


def write_judgements(path: Path, segments: int, seed: int) -> Path:
    """Outputs that keep some words of their reference; the share that they keep is the score."""
    draw, rows = random.Random(seed), ["mt\tref\tsrc\tscore\tsystem\tseg"]
    for number, sample in enumerate(made_up_segments(segments, seed)[0]):
        words = sample["ref"].split()
        for system in "AB":
            kept = [draw.random() < draw.choice((0.9, 0.5)) for _ in words]
            output = [word if keep else draw.choice(words) for word, keep in zip(words, kept, strict=True)]
            score = 100 * sum(kept) / len(kept)
            rows.append(
                "\t".join([" ".join(output), sample["ref"], sample["src"], f"{score:.2f}", system, str(number)])
            )
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
