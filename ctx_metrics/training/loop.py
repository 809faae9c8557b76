"""The training loop: epochs and steps, checks on development data, the best weights, and a state on disk.

A run can be stopped at any moment and resumed. Its weights are then the same bit for bit on a CPU. On a GPU they are
the same up to rounding, since the order of summation in the gradients of cuDNN's LSTMs and of attention varies.
"""

import ctypes
import json
import math
import platform
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from tqdm import tqdm

from ..engine.device import resolve_dtype
from ..errors import InputError
from ..learned.networks import full_fp32_lstms
from ..wording import setting_named
from .state import TrainingState, load_moments, moments, read_state, write_state

# Seconds between two writes of the state, in addition to those at the checks.
STATE_SECONDS = 30.0
NOISE = 0.1
# glibc's mallopt: the size from which memory is mapped, and how much freed memory stays at the top of the heap
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MAPPED_FROM, _KEPT = 2**30, 2**31 - 1
# fix if a device has too little memory for a training run
SMALLER = "give a smaller --batch or --max-length, or --ctx-device cpu"


@dataclass
class Progress:
    """The progress of a training run. State files use the same names.

    step, phase            number of steps and of phases completed
    epoch, taken           number of epochs completed in the phase, and of steps in the epoch
    since, steps_since     rows and steps since the last check; `losses` is the sum of their losses
    best                   index of the best check, the first of equals; -1: none yet
    begun                  index of the phase's first check
    """

    step: int = 0
    phase: int = 0
    epoch: int = 0
    taken: int = 0
    since: int = 0
    steps_since: int = 0
    losses: float = 0.0
    rate: float = 0.0
    best: int = -1
    begun: int = 0
    checks: list[Any] = field(default_factory=list)


class Task(ABC):
    """The interface of one kind of training run.

    recipe        has learning_rate, batch, epochs (maximum per phase), patience (None: unlimited) and seed
    rows          number of rows per epoch
    check_rows    rows between two checks, in addition to the check at the end of each epoch; None: no others
    phases        number of phases; each starts from the best weights so far, with a fresh optimizer
    kind, score   the class of checks, and the name of their number to maximise
    quick         steps take less than a millisecond: they draw no random numbers, the progress bar counts epochs, states
                  are written only at intervals of time, and a check's loss is the mean over rows, not steps
    """

    network: nn.Module
    recipe: Any
    rows: int
    check_rows: int | None = None
    phases: int = 1
    kind: type
    score: str
    quick: bool = False

    def prepare(self) -> None:  # noqa: B027  # most have nothing to prepare
        """Prepare for the first step."""

    @abstractmethod
    def optimizer(self) -> torch.optim.Optimizer:
        """Return a fresh optimizer for the network's weights."""

    @abstractmethod
    def batches(self, progress: Progress) -> Sequence[Any]:
        """Return the batches of an epoch, in an order that depends only on the seed and the epoch."""

    @abstractmethod
    def loss(self, batch: Any, progress: Progress) -> torch.Tensor:
        """Return the loss of a batch, which a step minimises."""

    @abstractmethod
    def check(self, progress: Progress, loss: float) -> Any:
        """Evaluate the development data and return the check; `loss` is the mean since the last check."""

    @abstractmethod
    def bar(self, last: Any, best: Any) -> Mapping[str, str]:
        """Return the values that the progress bar shows after a check."""

    def size(self, batch: Any) -> int:
        return len(batch)

    def rate(self, progress: Progress, steps: int) -> float:
        """Return the learning rate of the next step; `steps` is the total number of steps."""
        return progress.rate

    def slower(self, rate: float) -> float:
        """Return the learning rate after a check that is no better than the best."""
        return rate

    def descend(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Take one optimizer step, with the gradient's norm clipped to recipe.clip."""
        optimizer.zero_grad()
        with full_fp32_lstms(loss.device):
            loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        optimizer.step()

    def place(self, progress: Progress) -> str:
        return f"loss of step {progress.step + 1}"

    def tensors(self) -> Mapping[str, torch.Tensor]:
        return self.network.state_dict()


class Loop:
    """Trains a task's network, and keeps the weights of the check with the highest score.

    state_path     file of the state during the run; None: no state is kept
    fingerprint    settings and data that the state depends on; a state with a different fingerprint is refused
    """

    def __init__(
        self, task: Task, state_path: Path | None = None, fingerprint: dict[str, Any] | None = None, quiet: bool = False
    ):
        self.task, self.quiet = task, quiet
        self.state_path, self.fingerprint = state_path, fingerprint or {}
        self.optimizer = task.optimizer()
        self.progress = Progress(rate=task.recipe.learning_rate)
        self.best = self._copy()
        self.steps = task.recipe.epochs * -(-task.rows // task.recipe.batch)
        self._saved = time.monotonic()
        self._device = next(task.network.parameters()).device

    def train(self) -> list[Any]:
        """Train to the end, put the best weights into the network, and return all checks."""
        if self.state_path is not None and self.state_path.exists():
            self._restore(self.state_path)
        task, progress, epochs = self.task, self.progress, self.task.recipe.epochs
        if not task.quick:
            keep_freed_memory()
        task.prepare()
        extent: dict[str, Any] = {"total": self.steps, "initial": progress.step, "unit": "step"}
        if task.quick:
            behind = progress.phase * epochs + progress.epoch
            extent = {"total": task.phases * epochs, "initial": behind, "unit": "epoch"}
        with deferred() as interrupted, tqdm(**extent, disable=self.quiet or None) as bar:
            while progress.phase < task.phases:
                batches, over = task.batches(progress), self._is_out_of_patience()
                while progress.taken < len(batches) and not over:
                    self._step(batches[progress.taken])
                    at_end = progress.taken == len(batches)
                    if at_end or not task.quick:
                        bar.update()
                    checked = at_end or (task.check_rows is not None and progress.since >= task.check_rows)
                    if checked:
                        self._check()
                        over = self._is_out_of_patience()
                        shown = task.bar(progress.checks[-1], progress.checks[progress.best])
                        bar.set_postfix(**shown, refresh=not task.quick)
                    if (checked and not task.quick) or time.monotonic() - self._saved >= STATE_SECONDS:
                        self._save()
                    if interrupted():
                        self._save()
                        raise KeyboardInterrupt
                self._end_epoch()
        if task.quick:
            self._save()
        self._load(self.best)
        task.network.eval()
        return progress.checks

    def _step(self, batch: Any) -> None:
        progress, task = self.progress, self.task
        if not task.quick:
            # dropout depends only on the seed and the step, so the state needs no random generator
            torch.manual_seed(task.recipe.seed * 1_000_003 + progress.step)
            task.network.train()
        progress.rate = task.rate(progress, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = progress.rate
        loss = task.loss(batch, progress)
        value = loss.item()  # waits for a GPU once per step: a loss that is not finite must not change the weights
        if not math.isfinite(value):
            raise InputError(f"the {task.place(progress)} is {value}", fix="lower the learning rate")
        task.descend(loss, self.optimizer)
        rows = task.size(batch)
        progress.step += 1
        progress.taken += 1
        progress.since += rows
        progress.steps_since += 1
        progress.losses += value * rows if task.quick else value

    def _check(self) -> None:
        progress, task = self.progress, self.task
        best = getattr(progress.checks[progress.best], task.score) if progress.best >= 0 else -math.inf
        mean = progress.losses / (progress.since if task.quick else progress.steps_since)
        progress.checks.append(task.check(progress, mean))
        progress.since, progress.steps_since, progress.losses = 0, 0, 0.0
        if getattr(progress.checks[-1], task.score) > best:
            progress.best, self.best = len(progress.checks) - 1, self._copy()
        else:
            progress.rate = task.slower(progress.rate)

    def _is_out_of_patience(self) -> bool:
        progress, patience = self.progress, self.task.recipe.patience
        waited = len(progress.checks) - 1 - max(progress.best, progress.begun - 1)
        return patience is not None and waited >= max(patience, 1)

    def _end_epoch(self) -> None:
        progress = self.progress
        progress.epoch, progress.taken = progress.epoch + 1, 0
        if progress.epoch < self.task.recipe.epochs and not self._is_out_of_patience():
            return
        progress.phase, progress.epoch, progress.begun = progress.phase + 1, 0, len(progress.checks)
        if progress.phase < self.task.phases:
            self._load(self.best)
            self.optimizer = self.task.optimizer()

    def _copy(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().cpu().clone() for name, tensor in self.task.tensors().items()}

    def _load(self, tensors: dict[str, torch.Tensor]) -> None:
        self.task.network.load_state_dict(tensors, strict=False)  # a task may train only part of its network

    def _save(self) -> None:
        self._saved = time.monotonic()
        if self.state_path is not None:
            progress = json.dumps(asdict(self.progress))
            state = TrainingState(dict(self.task.tensors()), self.best, moments(self.optimizer), progress)
            write_state(self.state_path, state, self.fingerprint, self._device)

    def _restore(self, path: Path) -> None:
        state = read_state(path, self.fingerprint, self._device)
        given = json.loads(state.progress)
        checks = [self.task.kind(**check) for check in given.pop("checks")]
        self.progress, self.best = Progress(**given, checks=checks), state.best
        self._load(state.network)
        load_moments(self.optimizer, state.optimizer)


def training_dtype(name: str) -> torch.dtype:
    """Return the dtype of the matrix products in training; raise InputError for fp16."""
    if (dtype := resolve_dtype(name)) == torch.float16:
        given = setting_named("--ctx-dtype", "dtype", "fp16")
        raise InputError(f"{given} is too narrow to train in", fix="use bf16 or fp32")
    return dtype


def adamw(network: nn.Module, recipe: Any) -> torch.optim.Optimizer:
    """Return AdamW for a network's trainable parameters; weight decay applies to matrices, not to vectors."""
    own = [parameter for parameter in network.parameters() if parameter.requires_grad]
    decayed = [parameter for parameter in own if parameter.dim() > 1]
    others = [parameter for parameter in own if parameter.dim() <= 1]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=recipe.learning_rate,
    )


def epoch_batches(
    lengths: Sequence[tuple[int, int]], groups: Sequence[int], size: int, seed: int, epoch: int, whole: bool = False
) -> list[list[int]]:
    """Return an epoch's batches of `size` row numbers (one may be smaller); they depend only on the seed and the epoch.

    Rows are sorted by the partner's and then the hypothesis's length, cut into batches, and the batches are shuffled. A
    random factor on the partner's length, the same for all rows of a group, makes batches differ between epochs and keeps
    the rows of a segment together.

    lengths    number of tokens of (partner, hypothesis) of each row
    groups     the number of each row's segment, from 0
    whole      whether a batch ends at the end of a segment if one is within half of `size` rows

    >>> sorted(map(sorted, epoch_batches([(9, 8), (1, 2), (9, 9), (1, 1)], [0, 1, 2, 3], size=2, seed=1, epoch=0)))
    [[0, 2], [1, 3]]
    """
    random = np.random.default_rng([seed, epoch])
    partner, hypothesis = np.array(lengths, float).T
    noise = random.uniform(1 - NOISE, 1 + NOISE, max(groups) + 1)[np.asarray(groups)]
    order = np.lexsort((hypothesis, noise, partner * noise))
    cuts = np.arange(size, len(order), size)
    of_rows = np.asarray(groups)[order]
    ends = np.flatnonzero(of_rows[1:] != of_rows[:-1]) + 1
    if whole and len(ends):
        after = np.searchsorted(ends, cuts).clip(max=len(ends) - 1)
        before = (after - 1).clip(min=0)
        nearest = np.where(abs(ends[after] - cuts) < abs(ends[before] - cuts), ends[after], ends[before])
        cuts = np.where(abs(nearest - cuts) < size / 2, nearest, cuts)
    batches = [part.tolist() for part in np.split(order, cuts)]
    return [batches[i] for i in random.permutation(len(batches))]


def linear_rate(highest: float, step: int, steps: int) -> float:
    """Return the learning rate of step 0 <= step < steps: it rises over a tenth of all steps, then falls to 0 at the end.

    >>> [linear_rate(1.0, step, 20) for step in (0, 1, 2, 11)]
    [0.5, 1.0, 1.0, 0.5]
    """
    warm = max(1, steps // 10)
    if step < warm:
        return highest * (step + 1) / warm
    return highest * (steps - step) / (steps - warm)


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed; a second Ctrl-C interrupts as usual.

    Without effect outside the main thread, which alone receives signals.
    """
    came = False

    def note(number, frame):
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGINT, before)


@cache
def keep_freed_memory() -> bool:
    """Make the process keep up to 2 GiB of the memory that it frees, for the next step; return whether it does.

    By default glibc maps each large tensor anew, and the kernel clears all its pages: two thirds of the time of a training
    step over long sequences. Without glibc, nothing is changed.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return all(library.mallopt(*each) == 1 for each in ((_MMAP_THRESHOLD, _MAPPED_FROM), (_TRIM_THRESHOLD, _KEPT)))
