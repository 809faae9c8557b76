"""A notice where sacrebleu's own metrics take an empty reference for a text without words."""

from collections.abc import Sequence

from ..corpus import without_empty
from ..notices import Notice, notice


def say_empty(references: Sequence[Sequence[str | None]], stock: Sequence[str]) -> None:
    """Give notice of empty references among several, which sacrebleu's own metrics (`stock`) score as any other."""
    if stock and (segments := without_empty(references)[1]):
        counts = f"which counts as a reference without words for {', '.join(stock)}"
        empty = "an empty reference among several"
        notice(Notice.at(segments, f"segment has {empty}, {counts}", f"segments have {empty}, {counts}"))
