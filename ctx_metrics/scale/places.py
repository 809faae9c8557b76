"""Where blocks are scored: in this process, or at another place that has the same `map`."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Place(Protocol):
    """Calls a function on items, in any processes, and returns the results in the items' order."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The function's results. Items are read as they are needed. Raises what the function raises."""
        ...


class Here:
    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        return map(function, items)


HERE = Here()


@contextmanager
def opened(name: str | None, workers: int | None = None) -> Iterator[Place]:
    """The place of a name, open within the block: None is this process; ray, ray:ADDRESS and ray://ADDRESS are OnRay."""
    if name is None:
        yield HERE
        return
    from .on_ray import OnRay

    place = OnRay(None if name == "ray" else name if name.startswith("ray://") else name.removeprefix("ray:"), workers)
    try:
        yield place
    finally:
        place.close()
