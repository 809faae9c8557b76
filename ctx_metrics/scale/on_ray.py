"""Blocks scored on Ray: by workers of this machine, one a GPU or a share of the cores, or by those of a cluster."""

import importlib.util
import logging
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from ..engine.threads import cpu_quota
from ..errors import InputError, ResourceError

Item = TypeVar("Item")
Result = TypeVar("Result")
EXTRA = "pip install 'ctx-metrics[ray]'"
AHEAD = 3  # blocks a worker that are handed out: one is scored, and the next ones are there when it ends
TRIES = 3  # times that a block is given out again when its worker dies
WAIT = 10  # seconds for a cluster to answer
STORE = 256 * 2**20  # bytes of Ray's store on this machine: a few blocks of text


class OnRay:
    """Ray as the place of blocks: each worker is an actor that holds the models, and is started again if it dies.

    address    of a cluster, as ray.init takes it; None is the one of RAY_ADDRESS, else Ray on this machine alone
    workers    how many; None: one a GPU, else one for every two cores

    Raises InputError where Ray is not installed or the cluster cannot be reached.
    """

    def __init__(self, address: str | None = None, workers: int | None = None):
        if importlib.util.find_spec("ray") is None:
            raise InputError(f"--on ray needs the package ray; install it with: {EXTRA}")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        self._ray = ray
        alone = address is None and not os.environ.get("RAY_ADDRESS")
        own: dict[str, Any] = (
            {"num_cpus": _cores(), "include_dashboard": False, "object_store_memory": STORE} if alone else {}
        )
        _check_reached(address or os.environ.get("RAY_ADDRESS") or "")
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
        except (ConnectionError, OSError, RuntimeError, ImportError, ValueError) as error:
            where = address or os.environ.get("RAY_ADDRESS") or "this machine"
            raise InputError(f"--on ray: {where} cannot be reached: {' '.join(str(error).split()):.300}") from error
        resources = ray.cluster_resources()
        cores, gpus = resources.get("CPU", 1.0), resources.get("GPU", 0.0)
        self.workers = workers or int(gpus) or max(1, int(cores) // 2)
        self._options = {
            "num_cpus": max(1, int(cores) // self.workers) if cores >= self.workers else cores / self.workers,
            "num_gpus": 0 if not gpus else 1 if self.workers <= gpus else gpus / self.workers,
            "max_restarts": -1,
            "max_task_retries": TRIES,
        }
        self._actors = [self._worker() for _ in range(self.workers)]

    def _worker(self) -> Any:
        threads = max(1, int(self._options["num_cpus"]))
        return self._ray.remote(Worker).options(**self._options).remote(threads)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The function's results, in the items' order; at most AHEAD items a worker are read before their turn.

        Raises ResourceError where workers die on an item again and again, and what else the function raises.
        """
        ray, given = self._ray, self._ray.put(function)
        busy: dict[Any, int] = {}  # what is being computed, and by which worker
        loads = [0] * self.workers
        waiting: deque = deque()  # all that is not given back yet, in order
        items = iter(items)
        more = True
        while more or waiting:
            while more and len(busy) < AHEAD * self.workers and len(waiting) < 2 * AHEAD * self.workers:
                try:
                    item = next(items)
                except StopIteration:
                    more = False
                    break
                worker = loads.index(min(loads))
                result = self._actors[worker].call.remote(given, item)
                busy[result], loads[worker] = worker, loads[worker] + 1
                waiting.append(result)
            if not waiting:
                return
            if waiting[0] in busy:
                for result in ray.wait([*busy], num_returns=1)[0]:
                    loads[busy.pop(result)] -= 1
                continue
            yield self._got(waiting.popleft())

    def _got(self, result: Any) -> Any:
        from ray.exceptions import RayActorError, RayError, RayTaskError

        try:
            return self._ray.get(result)
        except RayTaskError as error:
            raise error.as_instanceof_cause() from error
        except RayActorError as error:
            raise ResourceError(
                f"--on ray: a worker died {TRIES + 1} times on one block ({_first_line(error)}); take fewer --workers, or a "
                "smaller --block"
            ) from error
        except RayError as error:
            raise ResourceError(f"--on ray: {_first_line(error)}") from error

    def close(self) -> None:
        """End the workers, and Ray where it was started here."""
        self._ray.shutdown()


class Worker:
    """A process of Ray that calls functions; models that they load stay loaded.

    threads    of its arithmetic
    """

    def __init__(self, threads: int):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import torch

        torch.set_num_threads(threads)

    def call(self, function: Callable[[Item], Result], item: Item) -> Result:
        """The function's result."""
        return function(item)


def _check_reached(address: str) -> None:
    """Raise InputError where nothing answers at HOST:PORT or ray://HOST:PORT; Ray tries for minutes, and says much."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), WAIT).close()
    except OSError as error:
        raise InputError(f"--on ray: {address} cannot be reached: {error.strerror or error}") from error


def _cores() -> int:
    """Cores that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return max(1, min(cores, int(quota) if quota is not None else cores))


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
