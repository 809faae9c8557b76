"""Mappings whose values are made when they are asked for."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", covariant=True)


class LazyMapping(Mapping[Key, Value]):
    """A mapping with the keys of `parts`, of which a subclass makes the values."""

    def __init__(self, parts: Mapping[Key, Any]):
        self._parts = parts

    def __iter__(self) -> Iterator[Key]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)
