"""Ctrl-C between two steps of a loop in place of in the middle of one."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C is only noted: what is given tells whether it came. A second one ends the step as usual.

    Outside the main thread, which alone gets signals, nothing is changed.
    """
    came = False

    def note(number, frame):
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, before)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGINT, before)
