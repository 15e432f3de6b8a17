"""Workers and their parent: they end with it, however and whenever it ends, and its interrupts are not theirs."""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker

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


@contextmanager
def deaf() -> Iterator[None]:
    """Processes started within never hear an interrupt, not even while they load; this one hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it unblocks the signal when it starts by itself
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(parent: int) -> None:
    """Where the kernel tells nobody: look now and then."""
    while os.getppid() == parent:
        time.sleep(2)
    os._exit(1)
