"""Copies of Python's modules for sacrebleu's command."""

from types import ModuleType
from typing import Any


def view(module: ModuleType, **names: Any) -> ModuleType:
    """Return a copy of a module in which some names are replaced, so that only sacrebleu sees the change."""
    seen = ModuleType(module.__name__)
    vars(seen).update(vars(module), **names)
    return seen
