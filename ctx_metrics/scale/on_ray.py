"""Score blocks on Ray: with workers on this machine, one per GPU or per share of the cores, or with those of a cluster."""

import importlib.util
import logging
import math
import os
import re
import signal
import socket
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import InputError, ResourceError
from ..notices import notice
from ..wording import by_flags

Item = TypeVar("Item")
Result = TypeVar("Result")
EXTRA = "pip install 'ctx-metrics[ray]'"
AHEAD = 3  # blocks per worker that are handed out: while one is scored, the next ones already wait
TRIES = 3  # number of times that a block is handed out again when its worker dies
WAIT = 10  # seconds that a cluster has to answer
WAIT_FOR_WORKERS = 60  # seconds until a notice that no worker has started
STORE = 256 * 2**20  # bytes of Ray's object store on this machine: a few blocks of text


class RayExecutor:
    """Ray as the executor of blocks: each worker is an actor that holds the models and is restarted if it dies.

    address    a cluster's address, as ray.init takes it; None: that in RAY_ADDRESS, else Ray only on this machine
    workers    number of workers; None: one per GPU, or one for every two cores if there are no GPUs
    """

    def __init__(self, address: str | None = None, workers: int | None = None):
        if importlib.util.find_spec("ray") is None:
            raise InputError("--on ray needs the package ray", fix=f"install it with: {EXTRA}")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        from ..engine import device

        self._ray = ray
        alone = address is None and not os.environ.get("RAY_ADDRESS")
        own: dict[str, Any] = (
            {"num_cpus": device.cores(), "include_dashboard": False, "object_store_memory": STORE} if alone else {}
        )
        _check_reached(address or os.environ.get("RAY_ADDRESS") or "")
        self._on_sigterm = signal.getsignal(signal.SIGTERM)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # problems are also raised
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
        except (ConnectionError, OSError, RuntimeError, ImportError, ValueError) as error:
            where = address or os.environ.get("RAY_ADDRESS") or "this machine"
            fix = "" if alone else "check that the versions of Ray and the tokens (RAY_AUTH_TOKEN) are the same"
            raise InputError(
                f"--on ray: {where} cannot be reached: {' '.join(str(error).split()):.300}", fix=fix
            ) from error
        _repeat_messages()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        gpus = [node["GPU"] for node in nodes if node.get("GPU")]
        cores = [node.get("CPU", 0.0) for node in nodes if node.get("GPU") or not gpus]
        self.workers = workers or int(sum(gpus)) or sum(max(1, int(own) // 2) for own in cores if own)
        self._options = {
            "num_cpus": share(cores, self.workers),
            "num_gpus": min(1, share(gpus, self.workers)) if gpus else 0,
            "max_restarts": -1,
            "max_task_retries": TRIES,
        }
        self._actors = [self._worker() for _ in range(self.workers)]
        started = [actor.call.remote(abs, 0) for actor in self._actors]
        if not ray.wait(started, num_returns=1, timeout=WAIT_FOR_WORKERS)[0]:
            notice(
                f"--on ray: no worker has started in {WAIT_FOR_WORKERS} s; the cluster is busy or has no free "
                "resources; try again later"
            )

    def _worker(self) -> Any:
        asked = os.environ.get("OMP_NUM_THREADS", "")
        threads = int(asked) if asked.isdecimal() and int(asked) else max(1, int(self._options["num_cpus"]))
        return self._ray.remote(Worker).options(**self._options).remote(threads)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The function's results, in the items' order; at most 2 * AHEAD items per worker are read before their turn."""
        ray, given = self._ray, self._ray.put(function)
        busy: dict[Any, int] = {}  # the worker of each result that is being computed
        loads = [0] * self.workers
        waiting: deque = deque()  # all results not yet returned, in order
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
                f"--on ray: a worker died {TRIES + 1} times on one block ({_first_line(error)})",
                fix="give fewer --workers or a smaller --block",
            ) from error
        except RayError as error:
            raise ResourceError(f"--on ray: {_first_line(error)}") from error

    def close(self) -> None:
        self._ray.shutdown()
        # Ray's handler would stay, and with it a forked process can miss the signal with which a pool ends it
        if self._on_sigterm is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_sigterm)


class Worker:
    """A Ray process that calls functions; models that they load stay loaded."""

    def __init__(self, threads: int):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import torch

        torch.set_num_threads(threads)

    def call(self, function: Callable[[Item], Result], item: Item) -> Result:
        with by_flags():
            return function(item)


def share(amounts: Sequence[float], workers: int) -> float:
    """The share of the machines' amounts (cores or GPUs) that each worker gets: the largest whole number that fits, else a
    half, a third and so on.

    >>> share([16], 3), share([1, 1], 2), share([1, 1], 3), share([2], 8), share([4, 8], 1)
    (5, 1, 0.5, 0.25, 8)
    """
    for each in range(int(max(amounts)), 0, -1):
        if sum(own // each for own in amounts) >= workers:
            return each
    return 1 / math.ceil(workers / max(1, sum(map(math.floor, amounts))))


def _repeat_messages() -> None:
    """Turn Ray's messages about its workers into notices; it prints paragraphs on standard output, and has no option."""
    import ray._private.worker as of_ray

    if hasattr(of_ray, "print_to_stdstream"):  # the function is private, and may move
        of_ray.print_to_stdstream = _repeat


def _repeat(data: Mapping[str, Any], ignore_prefix: bool = True) -> None:
    for line in data["lines"]:
        if line.startswith("A worker died"):
            notice("--on ray: a worker died; another one takes its place and its block")
        elif not line.startswith("Task Worker.call failed"):  # comes along with it
            notice(f"--on ray: {line.strip():.200}")


def _check_reached(address: str) -> None:
    """Raise InputError if nothing answers at HOST:PORT or ray://HOST:PORT; Ray would try for minutes, with many messages."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not re.fullmatch("[0-9]{1,5}", port) or int(port) > 65535:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), WAIT).close()
    except OSError as error:
        raise InputError(f"--on ray: {address} cannot be reached: {error.strerror or error}") from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
