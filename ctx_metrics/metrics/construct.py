"""What reaches a metric's constructor: the streams of a run, and the context that the constructor names."""

import inspect
from typing import Optional


class Segments(list):
    """A stream of segments. Where sacrebleu picked some of a test set (--origlang, --subset, --detail), `indices` are their
    places in the whole; `name` is a system's file."""

    indices: Optional[list[int]] = None
    name: str = ""


def constructor_parameters(cls: type) -> set[str]:
    """Names of a class's constructor parameters, also of the bases' when it passes **keywords on to them."""
    names: set[str] = set()
    for base in cls.__mro__:
        if "__init__" not in vars(base) or base is object:
            continue
        parameters = inspect.signature(base.__init__).parameters.values()
        names.update(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return names
