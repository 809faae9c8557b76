"""benchmarks/gpu_check.py on the stand-in card: its code for CUDA runs, and it finds what it looks for."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import comet_gpu
import gpu_check
import pytest
import torch
from comet_cpu import Ours
from comet_fixture import build_checkpoint
from comet_gpu import NetworkWatch, distinct_texts, host_time, made_up_segments, replaced
from findings import Findings, NotMeasured
from gpu_checks import commands
from gpu_checks.bench import Bench
from gpu_checks.order import CHECKS, check_all
from gpu_conftest import nothing_is_loaded  # noqa: F401
from stand_in_gpu import StandInGpu

from ctx_metrics.engine.forward import EncoderLayer, PackedEncoder

CUDA = torch.device("cuda")
# whole commands, in processes that have no stand-in
COMMANDS = ("workers", "training")
DELAY = 0.05


def run(monkeypatch, folder, *names, **gpu) -> Findings:
    """Checks on small sizes, with a stand-in whose memory can be limited."""
    monkeypatch.setitem(sys.modules, "comet", None)  # its trainer asks for more of CUDA than the stand-in has
    with StandInGpu(**gpu) as card:
        total = torch.cuda.get_device_properties(CUDA).total_memory

        def limit(fraction, device=None):
            card.memory.capacity = None if fraction == 1 else int(fraction * total)

        monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", limit, raising=False)
        return findings_of(CUDA, folder, names)


def findings_of(device, folder, names) -> Findings:
    findings = Findings(small=True)
    check_all(Bench(torch.device(device), folder, findings), names)
    return findings


def verdicts(findings: Findings) -> dict[str, str]:
    return {row[0]: row[3] for row in findings.rows}


@pytest.mark.full
def test_every_check_runs_and_passes(monkeypatch, tmp_path):
    findings = run(monkeypatch, tmp_path, *(name for name in CHECKS if name not in COMMANDS), devices=2)
    found = verdicts(findings)
    assert [name for name, verdict in found.items() if verdict == "FAIL"] == []
    assert [name for name, verdict in found.items() if verdict.startswith("not measured")] == ["predict"]
    assert list(found.values()).count("pass") >= 30
    for name in ("2 cards", "a budget that does not fit", "a text that does not fit"):
        assert found[name] == "pass"


@pytest.mark.full
def test_scores_that_are_not_the_cpu_s_fail(monkeypatch, tmp_path):
    def as_in_tf32(original, layer, hidden, *args):
        result = original(layer, hidden, *args)
        return result * 1.01 if hidden.is_cuda else result

    with replaced(EncoderLayer, "__call__", as_in_tf32):
        found = verdicts(run(monkeypatch, tmp_path, "scores"))
    others = [name for name, verdict in found.items() if verdict != "FAIL"]
    assert others == ["paraphrase classifier: fp32 and the CPU", "all of this"]  # which has layers of its own


def test_a_check_that_breaks_off_is_a_row_and_the_others_run(monkeypatch, tmp_path, capsys):
    def broken(bench):
        raise RuntimeError("CUDA error: an illegal\nmemory access")

    def missing(bench):
        raise NotMeasured("there is one card")

    def ended(bench):
        raise KeyboardInterrupt

    monkeypatch.setitem(CHECKS, "scores", broken)
    monkeypatch.setitem(CHECKS, "devices", missing)
    monkeypatch.setitem(CHECKS, "workers", ended)
    findings = findings_of("cpu", tmp_path, ["scores", "devices", "workers", "machine"])
    rows = {row[0]: row for row in findings.rows}
    assert findings.failed
    assert rows["scores"][1:] == ("RuntimeError: CUDA error: an illegal memory access", "no error", "FAIL")
    assert rows["devices"][3] == "not measured: there is one card"
    assert rows["workers"][1:] == ("interrupted", "no error", "FAIL") and rows["device"][1] == "cpu"
    findings.show()
    printed = capsys.readouterr()
    assert printed.out.count("\n|") == len(findings.rows) + 1 and "Traceback" in printed.err


def test_without_a_card_what_needs_one_is_not_measured(tmp_path):
    found = verdicts(findings_of("cpu", tmp_path, ["devices", "batches", "long", "memory", "scores"]))
    assert list(found.values())[:-1] == [
        *["not measured: needs a CUDA device"] * 4,
        "not measured: compares a card with the CPU",
    ]


@pytest.mark.parametrize("program", [gpu_check, comet_gpu], ids=lambda program: program.__name__)
@pytest.mark.parametrize("device, said", [("cuda:7", "was not found: "), ("gpu", "unknown device")])
def test_a_device_that_is_not_there_is_one_line_at_once(monkeypatch, program, device, said, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", [f"{program.__name__}.py", "--device", device, "--cache", str(tmp_path)])
    with pytest.raises(SystemExit) as caught:
        program.main()
    line = caught.value.code  # text: it is printed, and the exit code is 1
    assert line.startswith(f"{program.__name__}.py: --device") and said in line and "ctx-" not in line
    assert "\n" not in line and not any(tmp_path.iterdir())


def test_the_names_of_the_checks_come_without_torch():
    assert list(gpu_check.CHECKS) == list(CHECKS)
    for arguments, code in ((["--help"], 0), (["--only", "speed"], 2)):
        command = [sys.executable, "-X", "importtime", gpu_check.__file__, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert done.returncode == code and "argparse" in imported and "torch" not in imported
        printed = done.stdout or done.stderr.splitlines()[-1]
        assert all(name in printed for name in CHECKS)


def test_a_program_that_is_told_to_end_prints_its_rows(monkeypatch, tmp_path, capsys):
    def ended(bench):
        bench.findings.add("the first of scores", "1")
        (bench.cache / "checkpoint").mkdir()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    monkeypatch.setitem(CHECKS, "scores", ended)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    arguments = ["--device", "cpu", "--small", "--only", "machine", "scores", "host"]
    monkeypatch.setattr(sys, "argv", ["gpu_check.py", *arguments])
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as caught:
            gpu_check.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.value.code == 143 and not any(Path(tmp_path).iterdir())
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0] for row in rows[1:]] == ["device", "the first of scores", "scores", "host", "all of this"]
    assert [row[3] for row in rows[3:5]] == ["not measured: stopped"] * 2


def test_a_cpu_may_be_slow_and_a_card_may_not_hang(monkeypatch):
    monkeypatch.setattr(commands, "COMMAND_SECONDS", 0.01)
    with pytest.raises(NotMeasured, match="has not ended on cpu"):
        commands.run_command("cpu", "ctx-metrics", "doctor")
    with pytest.raises(RuntimeError, match="has not ended on cuda:1"):
        commands.run_command(torch.device("cuda:1"), "ctx-metrics", "doctor")


@pytest.mark.parametrize("drift, failed", [(0.004, False), (0.006, True)])
def test_scores_are_judged_and_speed_is_not(drift, failed):
    scores = [[0.1, 0.2], [0.3, 0.5]]
    half = [[score + drift for score in system] for system in scores]
    findings = Findings(small=False)
    results = {"predict fp32": ([1.0], scores), "ours fp32": ([9.0], scores), "ours bf16": ([9.0], half)}
    comet_gpu.report_tools(findings, results, flop=1.0, rate=1e12)
    assert findings.failed is failed and verdicts(findings)["ours bf16 beside predict"] == "-"


@pytest.fixture
def tiny(tmp_path):
    systems = made_up_segments(20)
    return build_checkpoint(tmp_path, "regression", "tiny", distinct_texts(systems)), systems


def late(original, *args):
    time.sleep(DELAY)
    return original(*args)


def test_a_host_that_is_late_is_seen_between_the_batches(tiny):
    folder, systems = tiny
    with StandInGpu():
        score = Ours(folder, device="cuda", batch_tokens=1024)
        with replaced(PackedEncoder, "__call__", late), NetworkWatch() as watch:
            score(systems)
        span, idle, longest = watch.idle()
    assert watch.calls >= 3
    assert DELAY <= longest < idle <= span and idle >= DELAY * (watch.calls - 1)


@pytest.mark.full
def test_host_time_leaves_the_network_out(tiny):
    folder, systems = tiny
    score = Ours(folder, device="cpu", batch_tokens=1024)
    before = host_time(score, systems)
    assert before.batches >= 3 and 0 < before.seconds < before.all and before.cpu > 0
    with replaced(EncoderLayer, "__call__", late):
        after = host_time(score, systems)
    # both were timed in the same run, so that a busy machine does not matter
    assert after.seconds < after.all - 2 * DELAY * after.batches
