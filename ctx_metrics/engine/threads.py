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


def cores() -> int:
    """The number of cores that this process may use."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return max(1, min(own, int(quota) if quota is not None else own))


@cache
def limit_threads() -> None:
    """Let torch use no more threads than there are cores for this process, unless the user set OMP_NUM_THREADS."""
    import torch

    if not os.environ.get("OMP_NUM_THREADS") and cores() < torch.get_num_threads():
        torch.set_num_threads(cores())


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
