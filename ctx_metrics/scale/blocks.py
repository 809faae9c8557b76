"""Runs in blocks: an executor computes block after block, and blocks kept by an earlier run are not computed again."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from ..engine.memory import forget_texts, memory_for
from ..errors import CtxMetricsError
from ..notices import Notice, Progress, collected, counted, notice
from ..wording import worded
from .kept import ResultCache

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Calls a function on items, in any processes, and returns the results in the items' order."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The function's results. Items are read as they are needed. Raises the errors of the function."""
        ...


class LocalExecutor:
    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        return map(function, items)


LOCAL = LocalExecutor()


@contextmanager
def opened(name: str | None, workers: int | None = None) -> Iterator[Executor]:
    """The executor of a name, open within the block: None is this process; ray, ray:ADDRESS and ray://ADDRESS are Ray."""
    if name is None:
        yield LOCAL
        return
    from .on_ray import RayExecutor

    address = None if name == "ray" else name if name.startswith("ray://") else name.removeprefix("ray:")
    executor = RayExecutor(address, workers)
    try:
        yield executor
    finally:
        executor.close()


class Form(Protocol):
    """The form in which a result is kept, with the notices given when it was made."""

    @property
    def said(self) -> list[Notice]: ...

    @classmethod
    def of(cls, result: Any, said: list[Notice]) -> "Form | None":
        """The form of a result; None for one that a later run must compute again."""

    def result(self) -> Any: ...


@dataclass(frozen=True)
class Part(Generic[Result]):
    """A part of a block whose result is kept by itself.

    size    in units of the run
    key     returns the name under which the result is kept
    fits    whether something that was kept can be this part's result
    """

    size: int
    take: Callable[[Result], object]
    key: Callable[[], str] = str
    fits: Callable[[Any], bool] = bool


class Block(NamedTuple):
    """Parts that are computed together.

    task     returns the arguments of the run's function for the parts with these numbers
    before   number of segments before the block
    table    the file whose rows the segments are, or ""
    first    0-based number of the block's first row in the table
    """

    parts: Sequence[Part]
    task: Callable[[Sequence[int]], tuple]
    before: int = 0
    table: str = ""
    first: int = 0


@dataclass
class BlockRun:
    """A run in blocks.

    label, unit, total    such as "comet", "output", 3000; total: None if unknown
    cache, form           where results are kept between runs, and in which form; None: nowhere
    kept_in               where else they are kept: the folder that `take` of the parts writes to
    single                whether each block has one part, whose result the function returns; else it returns a list
    device                computes the blocks, for errors about memory
    done                  units that are finished; those of an earlier run at first
    """

    label: str
    unit: str
    total: int | None = None
    executor: Executor = LOCAL
    cache: ResultCache | None = None
    form: type[Form] | None = None
    kept_in: str = ""
    single: bool = False
    device: str = "auto"
    quiet: bool = False
    done: int = 0
    _reused: int = 0
    _asked: deque[tuple[Block, list[Part]]] = field(default_factory=deque)

    def complete(self, function: Callable[..., Any], blocks: Iterable[Block]) -> None:
        """Compute all parts that are not kept, in order, and give every part its result.

        function    computes the parts of a block; another process may call it
        """
        try:
            with Progress(self.label, self.unit, self.total, done=self.done, quiet=self.quiet) as bar:
                apart = _Apart(function, self.single, self.label, self.device)
                for found in self.executor.map(apart, self._tasks(blocks, bar)):
                    block, left = self._asked.popleft()
                    if isinstance(found, CtxMetricsError):
                        raise found.after(block.first if block.table else block.before, block.table) from found
                    results, said = found
                    for each in said:
                        notice(self._moved(each, block))
                    for part, result in zip(left, results, strict=True):
                        if self.cache is not None and self.form and (form := self.form.of(result, said)) is not None:
                            self.cache.put(part.key(), form)
                        part.take(result)
                        self.done += part.size
                        bar.update(part.size)
        except KeyboardInterrupt as error:
            folder = self.kept_in if self.cache is None else self.cache.path
            if not folder:
                raise
            done = self._of_all(self.done)
            raise KeyboardInterrupt(f"{done} are kept in {folder}; run the same command again to continue") from error
        if self.cache is not None:
            self.cache.trim()
        if self._reused:
            notice(f"{self._of_all(self._reused)} were read from an earlier run ({worded('--ctx-cache', 'cache')})")

    def _tasks(self, blocks: Iterable[Block], bar: Progress) -> Iterator[tuple]:
        for block in blocks:
            left = [number for number, part in enumerate(block.parts) if not self._is_kept(part, block)]
            if known := sum(part.size for number, part in enumerate(block.parts) if number not in left):
                self.done += known
                self._reused += known
                bar.update(known)
            if left:
                self._asked.append((block, [block.parts[number] for number in left]))
                yield block.task(left)

    def _is_kept(self, part: Part, block: Block) -> bool:
        found = self.cache.get(part.key(), self.form, part.fits) if self.cache is not None and self.form else None
        if found is None:
            return False
        for each in found.said:
            notice(self._moved(each, block))
        part.take(found.result())
        return True

    def _moved(self, given: Notice, block: Block) -> Notice:
        return (given.of_rows() if block.table else given).after(block.before)

    def _of_all(self, number: int) -> str:
        many = f"{self.unit}s"
        if self.total is None:
            return f"{self.label}: {counted(number, self.unit, many)}"
        return f"{self.label}: {number:,} of {counted(self.total, self.unit, many)}"


@dataclass(frozen=True)
class _Apart:
    """A function of blocks for another process: it returns its results and notices, or the error in their place."""

    function: Callable[..., Any]
    single: bool
    label: str
    device: str

    def __call__(self, task: tuple) -> tuple[Sequence[Any], list[Notice]] | CtxMetricsError:
        try:
            with collected() as said, memory_for(self.label, self.device):
                forget_texts()  # so that a block's results do not depend on the blocks before it
                found = self.function(*task)
        except CtxMetricsError as error:
            return error
        return [found] if self.single else found, said
