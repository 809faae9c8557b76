"""A block of Python as one run, whose notices are shown once each and kept."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..environment import environment
from ..notices import begin_run, end_run, shown_notices


@contextmanager
def one_run() -> Iterator[list[str]]:
    """Show each notice of the block once, as a command does; the list that is yielded holds them at its end."""
    said: list[str] = []
    begin_run()
    try:
        with environment():
            yield said
    finally:
        said += map(str, shown_notices())
        end_run()
