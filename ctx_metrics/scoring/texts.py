"""Conversion of the texts given to a metric, such as arrays and table columns, into lists."""

from collections.abc import Collection, Sequence
from typing import Any

from ..corpus import list_of_strings
from ..errors import InputError
from ..run.context import Stream


def as_list(name: str, stream: Any) -> list:
    """Return a stream as a list; a list is returned as it is, because a subclass may carry its file's name."""
    return stream if isinstance(stream, list) else list_of_strings(name, stream)


def streams(name: str, given: Any) -> list[list]:
    """Return a collection of streams as a list of lists of strings."""
    return [as_list(name, stream) for stream in as_list(name, given)]


def reference_streams(metric: str, references: Any) -> list[list]:
    """Return reference streams as lists; raises InputError if they are not streams of strings or differ in length."""
    given = [references] if isinstance(references, str) or not isinstance(references, Collection) else references
    if any(isinstance(stream, str) or not isinstance(stream, Collection) for stream in given):
        raise InputError(f"{metric}: references must be a list of streams, each a list of strings")
    own = [list(stream) for stream in given]
    if len({len(stream) for stream in own}) > 1:
        raise InputError(f"{metric}: reference streams differ in length: {[len(s) for s in own]} segments")
    return own


def number_of_references(streams: Sequence[Stream]) -> int:
    """Return the number of references per segment, for signatures; -1 if it varies between segments.

    >>> number_of_references([["a", "b"], ["c", "d"]]), number_of_references([["a", None]]), number_of_references([])
    (2, -1, 0)
    """
    counts = {sum(text is not None for text in texts) for texts in zip(*streams, strict=True)}
    return counts.pop() if len(counts) == 1 else -1 if streams else 0


def counted_texts(value: list) -> str:
    """Describe a list of texts, or of lists of texts, by its size.

    >>> counted_texts(["a", "b"]), counted_texts([["a", "b"], ["c", "d"]])
    ('[2 texts]', '[2 lists]')
    """
    return f"[{len(value)} {'text' if not value or isinstance(value[0], str) else 'list'}{'s' * (len(value) != 1)}]"
