"""A worker whose parent died has nobody to work for: it ends too, however and whenever the parent ended."""

import ctypes
import os
import signal
import sys
import threading
import time

_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG."""


def die_with(parent: int) -> None:
    """End this process with its parent, also if that is gone already.

    Args:
        parent: the parent's process number, told by the parent itself: asking here may already give the reaper's.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    """Where the kernel tells nobody: look now and then."""
    while os.getppid() == parent:
        time.sleep(2)
    os._exit(1)
