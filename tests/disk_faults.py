"""What a disk may do to a file: refuse it, or be full."""

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


def refused(*given, **named):
    """In place of a function that opens a file, also for root."""
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Inside, no file grows beyond so many bytes: the system refuses to write, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
