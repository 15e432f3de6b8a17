"""Runs in processes that something happens to, and what must be true of them afterwards."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from attribound.errors import AttriboundError
from attribound.runs import Store
from attribound.runs.engines.warden import descendants
from tests.runs.conftest import records

ROOT = Path(__file__).parent.parent.parent
ITEMS = 24
CERTIFY = ["certify", "--model", "mnist-cnn-noise", "--data", "mnist-sample", "--samples", "64", "--items", str(ITEMS)]
ONE, TWO, RAY = ("--workers", "1"), ("--workers", "2"), ("--workers", "2", "--engine", "ray")
_PATIENCE_SECONDS = 3600
"""On a machine with other work, everything takes its time; only what never ends is a failure."""


@dataclass
class Started:
    """A process of ours, the folder it writes and what it says."""

    process: subprocess.Popen[bytes]
    out: Path
    said: Path

    def words(self) -> str:
        return self.said.read_text(errors="replace")

    def end(self) -> int:
        return self.process.wait(timeout=_PATIENCE_SECONDS)

    def working(self) -> bool:
        """Wait until it works; False if it ended before."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if (self.out / "run.sqlite").exists():
                return True
            time.sleep(0.05)
        return False

    def family(self) -> dict[int, str]:
        """Its process and those below, with their times of start."""
        return descendants(self.process.pid)


def begin(out: Path, flags: tuple[str, ...] = ONE, prepare: Callable[[], None] | None = None) -> Started:
    """Certify in a process of its own, in a session of its own."""
    said = out.with_name(out.name + ".said")
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "PYTHONWARNINGS": "ignore",
    }
    with said.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "attribound", *CERTIFY, *flags, "--out", str(out)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            env=environment,
            start_new_session=True,
            preexec_fn=prepare,
        )
    return Started(process, out, said)


def at_random(started: Started, rng: random.Random) -> None:
    """Wait for a moment: one in five while it loads, the others while it works."""
    if rng.random() < 0.2 or started.working():
        time.sleep(rng.uniform(0, 4))


def survivors(family: dict[int, str], seconds: float = 20) -> list[int]:
    """Which of these processes are still there after so long."""
    deadline = time.monotonic() + seconds
    while alive := [pid for pid, started in family.items() if _runs(pid, started)]:
        if time.monotonic() > deadline:
            return alive
        time.sleep(0.1)
    return []


def _runs(pid: int, started: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return words[0] != "Z" and words[19] == started


@cache
def reference() -> dict[int, dict]:
    """The records of a run to which nothing happened, by item."""
    with TemporaryDirectory() as folder:
        started = begin(Path(folder) / "run")
        if started.end():
            raise RuntimeError(started.words())
        return {one["item"]: one for one in records(started.out)}


def damage(out: Path, *, whole: bool = False) -> str:
    """What is wrong with a run's records, "" if nothing is: each as it should be, and all of them if it is whole."""
    if not (out / "run.sqlite").is_file() and not whole:
        return ""
    try:
        found = {one["item"]: one for one in records(out)}
    except AttriboundError as error:
        # Killed in its first moment, a run holds nothing yet, not even its tables.
        return "" if not whole and _unborn(out) else f"cannot be read: {error}"
    for item, record in found.items():
        if record != reference()[item]:
            return f"item {item} differs"
    return f"{len(found)} records of {ITEMS}" if whole and len(found) != ITEMS else ""


def _unborn(out: Path) -> bool:
    log = out / "run.sqlite-wal"
    return (out / "run.sqlite").stat().st_size <= 4096 and (not log.exists() or log.stat().st_size <= 65536)


def completed(out: Path, flags: tuple[str, ...] = ONE) -> str:
    """The same command again must finish the run: what failed."""
    started = begin(out, flags)
    code = started.end()
    return f"the same command ended with {code}: {started.words()}" if code else damage(out, whole=True)


def count(out: Path) -> int:
    """Records so far."""
    with Store.read(out) as store:
        return len(store.done())
