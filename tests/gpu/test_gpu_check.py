"""benchmarks/gpu_check.py on the stand-in card: its code for CUDA runs, and it finds what it looks for."""

import sys
import time

import pytest
import torch
from comet_cpu import Ours
from comet_fixture import build_checkpoint
from comet_gpu import NetworkWatch, distinct_texts, host_time, made_up_segments, replaced
from findings import Findings, NotMeasured
from gpu_check import CHECKS, check_all
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
        return check_all(CUDA, folder, True, list(names))


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
    findings = check_all(torch.device("cpu"), tmp_path, True, ["scores", "devices", "workers", "machine"])
    rows = {row[0]: row for row in findings.rows}
    assert findings.failed
    assert rows["scores"][1:] == ("RuntimeError: CUDA error: an illegal memory access", "no error", "FAIL")
    assert rows["devices"][3] == "not measured: there is one card"
    assert rows["workers"][1:] == ("interrupted", "no error", "FAIL") and rows["device"][1] == "cpu"
    findings.show()
    printed = capsys.readouterr()
    assert printed.out.count("\n|") == len(findings.rows) + 1 and "Traceback" in printed.err


def test_without_a_card_what_needs_one_is_not_measured(tmp_path):
    found = verdicts(check_all(torch.device("cpu"), tmp_path, True, ["devices", "batches", "long", "memory"]))
    assert list(found.values())[:-1] == ["not measured: needs a CUDA device"] * 4


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


def test_host_time_leaves_the_network_out(tiny):
    folder, systems = tiny
    score = Ours(folder, device="cpu", batch_tokens=1024)
    before = host_time(score, systems)
    assert before.batches >= 3 and 0 < before.seconds < before.all and before.cpu > 0
    with replaced(EncoderLayer, "__call__", late):
        after = host_time(score, systems)
    assert after.all >= before.all + DELAY * before.batches and after.seconds < after.all - 2 * DELAY * after.batches
