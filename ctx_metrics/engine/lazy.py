"""Mappings whose values are computed on access."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", covariant=True)


class LazyMapping(Mapping[Key, Value]):
    """A mapping with the keys of `parts`; a subclass computes the values from it."""

    def __init__(self, parts: Mapping[Key, Any]):
        self._parts = parts

    def __iter__(self) -> Iterator[Key]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)
