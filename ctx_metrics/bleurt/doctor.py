"""The section of `ctx-metrics doctor` on BLEURT: the checkpoints in the cache, and whether they are complete."""

from collections.abc import Iterator
from pathlib import Path

from ..cli.doctor import COMPLETE, Finding, checkpoints, incomplete
from .checkpoint import is_complete, is_named

TITLE = "BLEURT"


def findings() -> Iterator[Finding]:
    yield from checkpoints(_state)


def _state(name: str, folder: Path) -> str | None:
    if not is_named(name):
        return None
    return COMPLETE if is_complete(folder) else incomplete(name)
