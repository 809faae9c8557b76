"""The checks, in the order in which they run."""

import time
from collections.abc import Callable, Sequence

import ctx_metrics

from . import commands, machine, scores, speed
from .bench import Bench

CHECKS: dict[str, Callable[[Bench], None]] = {
    "machine": machine.check_machine,
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


def check_all(bench: Bench, names: Sequence[str]) -> None:
    """Run the checks of these names, each whatever becomes of the others. Those that SystemExit leaves out get a row."""
    start, left = time.perf_counter(), list(names)
    try:
        for name in names:
            bench.findings.run(name, lambda name=name: CHECKS[name](bench))
            left.remove(name)
            ctx_metrics.release()
    except SystemExit:
        for name in left:
            bench.findings.skip(name, "stopped")
        raise
    finally:
        bench.findings.add("all of this", f"took {time.perf_counter() - start:.0f} s")
