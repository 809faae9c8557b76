"""Claims on results that several processes would otherwise make twice: byte-range locks, which end with a process."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from ..notices import notice

NAME = "claims"
_HELD = {errno.EAGAIN, errno.EACCES}  # of a lock that another process has


class Claims:
    """The claims in a folder. There is one for each folder and process, since closing a file gives up all its locks."""

    def __init__(self, folder: str):
        self._path = os.path.join(folder, NAME)
        self._file: int | None = None
        self._held: set[tuple[int, int]] = set()  # process and place; threads of a process share its locks
        self._lock = threading.Lock()
        self._fails = False

    @contextmanager
    def claimed(self, place: int, wait: Callable[[], None]) -> Iterator[None]:
        """Hold the claim on a place, from 0 to 2**62; calls `wait` as long as another process or thread has it."""
        while not self._take(place):
            wait()
        try:
            yield
        finally:
            self._give_up(place)

    def _take(self, place: int) -> bool:
        own = os.getpid(), place
        with self._lock:
            if own in self._held or not self._locks(place):
                return False
            self._held.add(own)
        return True

    def _give_up(self, place: int) -> None:
        with self._lock:
            self._held.discard((os.getpid(), place))
            if self._file is not None:
                import fcntl

                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def _locks(self, place: int) -> bool:
        """Whether no other process has the place; also if there are no file locks here, which is said once."""
        if self._fails:
            return True
        try:
            import fcntl

            if self._file is None:
                os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (OSError, ImportError) as error:
            if isinstance(error, OSError) and error.errno in _HELD and self._file is not None:
                return False
            self._fails, self._file = True, None
            why = error.strerror if isinstance(error, OSError) else "this system has no file locks"
            notice(f"{self._path}: {why}; simultaneous runs may send the same requests")
        return True


@cache
def claims_in(folder: str) -> Claims:
    """The claims in a folder, which is named by its real path."""
    return Claims(folder)
