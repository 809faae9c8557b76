"""A card whose memory ends at any allocation: the run ends with the same scores, or with one line that says so."""

import collections

import numpy as np
import pytest
from gpu_conftest import folders, nothing_is_loaded  # noqa: F401
from gpu_runs import RUNS
from selection import some
from stand_in_gpu import StandInGpu
from stand_in_gpu.memory import NO_MEMORY
from stand_in_gpu.queue import ALLOCATION

from ctx_metrics import release
from ctx_metrics.engine_options import EngineOptions
from ctx_metrics.errors import ResourceError

PERCENT = ("mbr", "mbr-references", "prbleu")
NAMES = [name for name in RUNS if name != "prbleu-mas"]  # which does not use the card
MOST, OF_TRAINING = 30, 8  # allocations that are tried, evenly spread; each of a training means a training


class Sweep:
    """Runs of one kind whose card fails at different allocations."""

    def __init__(self, name: str, folders, batch_tokens: int | None = None):
        self.name, self.folders, self.batch_tokens = name, folders, batch_tokens
        with StandInGpu() as gpu:
            self.expected = self._run()
        self.steps = gpu.of(ALLOCATION)
        self.allocations = len(self.steps)
        assert self.allocations == gpu.memory.allocations

    def of_each_line(self) -> list[int]:
        """The first and the last allocation of each line of code and operation that asks for memory."""
        found: dict[tuple[str, str], list[int]] = {}
        for number, step in enumerate(self.steps, 1):
            found.setdefault((step.place, step.op), []).append(number)
        return sorted({number for numbers in found.values() for number in (numbers[0], numbers[-1])})

    def _run(self) -> np.ndarray:
        release()
        engine = EngineOptions(device="cuda", quiet=True, batch_tokens=self.batch_tokens)
        return np.array(RUNS[self.name](self.folders, engine))

    def outcome(self, fail_at: int, failure: str = "memory", for_good: bool = False) -> str:
        """How a run ended: "same", "line", or what went wrong, and where."""
        with StandInGpu(fail_at=fail_at, failure=failure, for_good=for_good) as gpu:
            try:
                found = self._run()
            except ResourceError as error:
                return "line" if "\n" not in str(error) and "memory" in str(error) else f"ResourceError: {error}"
            except Exception as error:
                places = [step for step in _places(error) if "/ctx_metrics/" in step]
                return f"{type(error).__name__}: {str(error)[:60]} at {places[-1].rpartition('/ctx_metrics/')[2]}"
        if not gpu.memory.failures:
            return "no allocation failed"
        scale = 100 if self.name in PERCENT else 1
        close = found.shape == self.expected.shape and np.allclose(found, self.expected, atol=1e-5 * scale)
        return "same" if close else f"other scores: {found - self.expected}"

    def wrong(self, places, **how) -> dict[str, list[int]]:
        """What went wrong, and at which allocations."""
        found = collections.defaultdict(list)
        for place in places:
            if (outcome := self.outcome(place, **how)) not in ("same", "line"):
                found[outcome].append(place)
        return dict(found)


def _places(error: BaseException) -> list[str]:
    trace, found = error.__traceback__, []
    while trace is not None:
        found.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found


@pytest.fixture
def sweep(folders):
    return lambda name, **settings: Sweep(name, folders, **settings)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_lines_that_allocate(name, sweep):
    runs = sweep(name)
    places = runs.of_each_line()
    most = OF_TRAINING if name.startswith("train-") else MOST
    assert runs.wrong(places[:: 1 + (len(places) - 1) // most]) == {}


@pytest.mark.parametrize(
    "name", some(["comet-regression", "esim", "classifier", "rttsbert-library"], ["comet-regression"])
)
@pytest.mark.parametrize("failure", [failure for failure in NO_MEMORY if failure != "memory"])
def test_what_libraries_of_cuda_say(name, failure, sweep):
    """cuBLAS and cuDNN have names of their own for a lack of memory."""
    runs = sweep(name)
    count = runs.allocations
    places = sorted({count // 4, count // 2, 3 * count // 4, count})
    assert runs.wrong(places, failure=failure) == {}


@pytest.mark.full
@pytest.mark.parametrize("name", some(["bertr", "comet-regression", "comet-xcomet", "esim"], ["comet-regression"]))
def test_between_several_batches(name, sweep):
    """One batch is under way, and another one finds no memory."""
    runs = sweep(name, batch_tokens=40)
    assert runs.wrong(range(1, runs.allocations + 1, 1 + runs.allocations // 9)) == {}
    assert runs.wrong([runs.allocations // 2, runs.allocations - 30], for_good=True) == {}


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_no_memory_from_some_allocation_on(name, sweep):
    runs = sweep(name)
    places = range(1, runs.allocations, 1 + runs.allocations // 12)
    assert {runs.outcome(place, for_good=True) for place in places} == {"line"}
