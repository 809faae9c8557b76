"""The section of `ctx-metrics doctor` on MetricX: the checkpoints in the cache, and the tokenizer that they lack."""

from collections.abc import Iterator
from pathlib import Path

from ..cli.doctor import COMPLETE, Finding, checkpoints, incomplete
from ..models.hub import cached
from .checkpoint import METRICX, MT5_TOKENIZER, TOKENIZER, has_tokenizer, named_version

TITLE = "MetricX"


def findings() -> Iterator[Finding]:
    yield from checkpoints(_state)


def _state(name: str, folder: Path) -> str | None:
    if not named_version(name):
        return None
    if not METRICX.whole(folder):
        return incomplete(name)
    if has_tokenizer(folder) or cached(TOKENIZER, MT5_TOKENIZER):
        return COMPLETE
    return (
        f"needs the tokenizer of {TOKENIZER}, which is not in the cache; score once with a network connection, or give "
        "--metricx-tokenizer"
    )
