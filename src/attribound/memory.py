"""Memory that is freed is kept for the next model call instead of being given back to the system.

glibc takes buffers of 32 MB and more from the system and gives them back as soon as they are free, for smaller ones it
shrinks its heap. A model call frees and takes hundreds of them, and each time the system fills their pages with zeros:
a third of the time of a draw on a real network. A process of ours does the same work again and again, so it keeps them.
The command line and the workers of runs say so when they start; a process that only imports the library is left alone.
"""

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""glibc's numbers of these options."""

_LARGEST = (2**31 - 1, 2**25)
"""Bytes up to which buffers come from the heap: as many as can be said, or as many as older versions allow."""


def keep_freed() -> bool:
    """Let this process keep what it frees, from now on; False, and nothing happens, where the C library is another."""
    with suppress(OSError, AttributeError, TypeError):  # no such library, or none with this function
        mallopt = ctypes.CDLL(None).mallopt
        ctypes.CDLL(None).gnu_get_libc_version  # noqa: B018  # others have a `mallopt` with other numbers
        heaped = any(mallopt(_MMAP_THRESHOLD, most) for most in _LARGEST)
        return heaped and bool(mallopt(_TRIM_THRESHOLD, -1))
    return False
