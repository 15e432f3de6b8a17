"""Ends what a killed driver leaves behind: Ray's agents outlive it by a minute.

Run as a program of its own, `python warden.py PARENT`: it notes the parent's descendants while the parent lives, and
when the parent is gone it ends those of Ray that are still there. It imports nothing of the package: it must be light.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

_LOOK_SECONDS = 1.0
_GRACE_SECONDS = 3.0


def watch(parent: int) -> None:
    """Wait for the parent's end, which the reaper taking over this process tells; then end its descendants."""
    known: dict[int, str] = {}
    while os.getppid() == parent:
        known |= descendants(parent)
        time.sleep(_LOOK_SECONDS)
    time.sleep(_GRACE_SECONDS)  # most of them end by themselves
    for pid, started in known.items():
        if _started(pid) == started and _is_rays(pid):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def descendants(parent: int) -> dict[int, str]:
    """Processes below a process, each with the time of its start: a number may be given again to another."""
    table = {int(entry.name): _status(int(entry.name)) for entry in Path("/proc").glob("[0-9]*")}
    found: dict[int, str] = {}
    waiting = [parent]
    while waiting:
        above = waiting.pop()
        children = {pid: words[19] for pid, words in table.items() if words and int(words[1]) == above}
        found |= children
        waiting += children
    return found


def _is_rays(pid: int) -> bool:
    """Whether a process belongs to Ray: what else the parent started is not ours to end."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return line.startswith(b"ray::") or b"/ray/" in line


def _started(pid: int) -> str:
    words = _status(pid)
    return words[19] if words and words[0] != "Z" else ""


def _status(pid: int) -> list[str]:
    """The words after the name in /proc/PID/stat: state, parent, ..., start time as the twentieth."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    watch(int(sys.argv[1]))
