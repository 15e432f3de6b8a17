"""What `progress=True` shows to callers in Python: one line on the error stream, in terminals and notebooks."""

import sys
import time
from collections.abc import Callable
from typing import final

from attribound.errors import ArgumentError

Advance = Callable[[int, int], None]
"""Called with (done, planned)."""

Stages = Callable[[str, int, int], None]
"""Called with (what, done, planned)."""

Wanted = bool | Advance | None
"""True for a bar, False or None for nothing, or a function of one's own."""

_WIDTH = 30
_SECONDS_BETWEEN = 0.1


def meter(progress: Wanted, what: str) -> Advance | None:
    """What to call with (done, planned): a bar, the caller's own function, or None."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar(what)
    if not callable(progress):
        raise ArgumentError(f"expected `progress` True, False or a function of (done, planned), got {progress!r}")
    return progress


def part(whole: Advance | None, number: int, count: int) -> Advance | None:
    """Progress within the number-th of `count` equal pieces of work, told to the bar of all of them."""
    if not isinstance(whole, Bar):
        return whole  # a function of the caller's own hears of every piece by itself
    return lambda done, planned: whole(number * planned + done, count * planned)


@final
class Bar:
    """A bar that draws over itself; the time left is counted from the first sign of progress, without start-up."""

    def __init__(self, what: str) -> None:
        self._what, self._begun, self._shown, self._closed = what, (0.0, 0), -_SECONDS_BETWEEN, False

    def __call__(self, done: int, planned: int) -> None:
        """Draw, unless it has just been drawn."""
        now = time.monotonic()
        if self._begun[0] == 0.0:
            self._begun = (now, done)
        finished = done >= planned
        if self._closed or (not finished and now - self._shown < _SECONDS_BETWEEN):
            return
        self._shown, self._closed = now, finished
        full = _WIDTH * done // max(planned, 1)
        line = f"\r{self._what} [{'#' * full}{'.' * (_WIDTH - full)}] {100 * done // max(planned, 1):3d} %"
        print(line + self._left(now, done, planned), end="\n" if finished else "", file=sys.stderr, flush=True)

    def _left(self, now: float, done: int, planned: int) -> str:
        begun, before = self._begun
        if done <= before or done >= planned:
            return " " * 12
        return f" {(now - begun) * (planned - done) / (done - before):5.0f} s left"
