"""How the C library allocates memory, which largely determines how long training takes."""

import ctypes
import platform
from functools import cache

# glibc's mallopt: the size from which memory is mapped, and how much freed memory stays at the top of the heap
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MAPPED_FROM, _KEPT = 2**30, 2**31 - 1


@cache
def keep_freed_memory() -> bool:
    """Make the process keep up to 2 GiB of the memory that it frees, for the next step; return whether it does.

    By default glibc maps each large tensor anew, and the kernel clears all its pages: two thirds of the time of a training
    step over long sequences. Without glibc, nothing is changed.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return all(library.mallopt(*each) == 1 for each in ((_MMAP_THRESHOLD, _MAPPED_FROM), (_TRIM_THRESHOLD, _KEPT)))
