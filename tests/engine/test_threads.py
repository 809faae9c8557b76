"""The number of threads, how they wait, and CPUs without arithmetic for a half format."""

import os
import sys

import pytest
import torch

from ctx_metrics.engine import device
from ctx_metrics.environment import environment

POLICIES = ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME"]


@pytest.mark.parametrize("policy", [*POLICIES, None])
def test_waiting_is_short_unless_the_user_says_how_to_wait(monkeypatch, policy):
    monkeypatch.delitem(sys.modules, "torch")
    for each in (*POLICIES, "TOKENIZERS_PARALLELISM"):
        monkeypatch.delenv(each, raising=False)
    if policy:
        monkeypatch.setenv(policy, "1")
    before = dict(os.environ)
    with environment({"TOKENIZERS_PARALLELISM": "true"}):
        chosen = {policy: "1"} if policy else {"GOMP_SPINCOUNT": "10000"}
        assert {each: os.environ[each] for each in POLICIES if each in os.environ} == chosen
        assert os.environ["TOKENIZERS_PARALLELISM"] == "true"
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    "groups, files, quota",
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000\n", "cpu.max": "max 100000\n"}, 0.5),
        ("0::/a\n", {"a/cpu.max": "max 100000\n"}, None),
        ("0::/pod/c/d\n", {"pod/cpu.max": "250000 100000\n", "pod/c/d/cpu.max": "max 100000\n"}, 2.5),
        ("3:cpu,cpuacct:/d\n", {"cpu/d/cpu.cfs_quota_us": "300000\n", "cpu/d/cpu.cfs_period_us": "100000\n"}, 3.0),
        ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ("4:memory:/x\n", {}, None),
        (None, {}, None),
    ],
)
def test_the_quota_of_a_container(tmp_path, groups, files, quota):
    own = tmp_path / "own"
    if groups is not None:
        own.write_text(groups)
    for name, text in files.items():
        (tmp_path / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    assert device.cpu_quota(tmp_path / "root", own) == quota


@pytest.mark.parametrize("quota, asked, wanted", [(2.5, "", 2), (0.5, "", 1), (None, "", 6), (2.0, "16", 0)])
def test_torch_gets_no_more_threads_than_the_process_may_use(monkeypatch, quota, asked, wanted):
    chosen = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(6), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    device.limit_threads.cache_clear()
    monkeypatch.setattr(device, "cpu_quota", lambda: quota)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setattr(torch, "set_num_threads", chosen.append)
    device.resolve_device("cpu")
    device.resolve_device("cpu")
    assert chosen == [wanted] * bool(wanted)


@pytest.mark.parametrize("capable, said", [(False, 1), (True, 0)])
def test_bf16_without_its_arithmetic(monkeypatch, caplog, capable, said):
    monkeypatch.setattr(device.platform, "machine", lambda: "x86_64")
    for test in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.setattr(torch.cpu, test, lambda: capable, raising=False)
    device.check_arithmetic(torch.device("cpu"), torch.bfloat16)
    device.check_arithmetic(torch.device("cpu"), torch.float32)
    assert len(caplog.messages) == said and all("this CPU has no bf16 arithmetic" in each for each in caplog.messages)
