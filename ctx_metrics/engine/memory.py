"""How the C library hands out memory, where that decides how long a training takes."""

import ctypes
import platform
from functools import cache

# glibc's mallopt: from which size on memory is mapped, and how much freed memory at the top of the heap stays
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MAPPED_FROM, _KEPT = 2**30, 2**31 - 1


@cache
def keep_freed_memory() -> bool:
    """Have the process keep the memory that it frees, up to 2 GiB of it, for the next step; returns whether it does.

    By its default glibc maps each large tensor anew, and the kernel clears every page of it: of a training step over long
    sequences that is two thirds of the time. Elsewhere than on glibc nothing is changed.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    library = ctypes.CDLL(None)
    return all(library.mallopt(*each) == 1 for each in ((_MMAP_THRESHOLD, _MAPPED_FROM), (_TRIM_THRESHOLD, _KEPT)))
