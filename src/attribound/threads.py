"""How many threads torch uses while something is certified; the user's own setting is back afterwards.

One thread by default, as in every worker of a run: the same draws then give the same bits, and nothing waits for the
slowest of many threads, which on a busy machine is most of the time.
"""

import contextlib
import threading
from collections.abc import Iterator

import torch

_lock = threading.Lock()
_inside = threading.local()
_setting, _users = 1, 0


@contextlib.contextmanager
def limited(threads: int | None) -> Iterator[None]:
    """Let torch use this many threads for the duration; None: leave it alone.

    Torch keeps the number per thread of Python, and gives new threads the one that was set last. So a thread that
    begins while another one is limited would take that limit for its own setting, and leave it behind.
    """
    global _setting, _users
    if threads is None:
        yield
        return
    with _lock:
        nested = getattr(_inside, "depth", 0) > 0
        before = torch.get_num_threads() if nested or _users == 0 else _setting
        if not nested:
            _setting, _users = before, _users + 1
        _inside.depth = getattr(_inside, "depth", 0) + 1
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        with _lock:
            torch.set_num_threads(before)
            _inside.depth -= 1
            _users -= not nested
