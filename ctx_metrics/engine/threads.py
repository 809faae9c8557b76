"""CPU threads: how many torch uses, and how long idle ones spin. Importing this module does not import torch."""

import os
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path

# Idle libgomp threads spin in a loop. When other processes are busy, the high default makes two threads slower than one.
# With 10,000 turns they are faster there, and at most 3 % slower on an idle machine.
SPINS = 10_000
_POLICIES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "KMP_BLOCKTIME")
_CGROUPS = Path("/sys/fs/cgroup")


def set_spins(environment: MutableMapping[str, str] = os.environ) -> None:
    """Make idle threads give up their core soon, unless the user chose how they wait. libgomp reads this when it is loaded.

    >>> environment = {}
    >>> set_spins(environment), environment
    (None, {'GOMP_SPINCOUNT': '10000'})
    """
    if not any(policy in environment for policy in _POLICIES):
        environment["GOMP_SPINCOUNT"] = str(SPINS)


def threads(default: int, cores: int, quota: float | None, environment: MutableMapping[str, str]) -> int:
    """The number of threads that torch should use: no more than the process may, unless the user set OMP_NUM_THREADS.

    >>> threads(16, 8, 2.5, {}), threads(16, 8, 0.5, {}), threads(16, 8, None, {})
    (2, 1, 8)
    >>> threads(16, 8, 2, {"OMP_NUM_THREADS": "16"})
    16
    """
    if environment.get("OMP_NUM_THREADS"):
        return default
    return max(1, min(default, cores, int(quota) if quota is not None else default))


@cache
def limit_threads() -> None:
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = threads(torch.get_num_threads(), cores, cpu_quota(), os.environ)
    if wanted < torch.get_num_threads():
        torch.set_num_threads(wanted)


def cpu_quota(root: Path = _CGROUPS, own: Path = Path("/proc/self/cgroup")) -> float | None:
    """The number of cores that the control group may use (cgroup v2's cpu.max, v1's cpu.cfs_quota_us); None: all."""
    quotas = []
    for line in _lines(own):
        _, controllers, path = line.split(":", 2)
        place = root if not controllers else root / "cpu" if "cpu" in controllers.split(",") else None
        # the limits of all parent groups also apply; in a container only the topmost group may be visible
        parts = [part for part in path.split("/") if part]
        for folder in [] if place is None else [place.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if controllers else ("cpu.max",)
            limits = " ".join(line for name in names for line in _lines(folder / name)).split()
            if len(limits) == 2 and limits[0].isdigit() and int(limits[1]):
                quotas.append(int(limits[0]) / int(limits[1]))
    return min(quotas, default=None)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.is_file() and os.access(path, os.R_OK) else []
