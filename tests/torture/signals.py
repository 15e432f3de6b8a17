"""Processes that are killed, told to end, interrupted or stopped."""

import os
import random
import re
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tests.torture.fault import Fault
from tests.torture.processes import ONE, RAY, TWO, at_random, begin, completed, damage, survivors


@dataclass
class Killed(Fault):
    """Kill -9 at a random moment; the run is resumed by the next time, until it is whole and a new one begins."""

    name: str
    flags: tuple[str, ...]
    times: int = 100
    number: int = signal.SIGKILL

    def once(self, rng: random.Random, folder: Path) -> str:
        out = folder / "run"
        started = begin(out, self.flags)
        at_random(started, rng)
        family = started.family()
        if started.process.poll() is None:
            os.kill(started.process.pid, self.number)
        started.end()
        if alive := survivors(family):
            return f"processes {alive} outlive their parent"
        if problem := damage(out):
            return problem
        if started.process.returncode == 0:
            problem = damage(out, whole=True)
            shutil.rmtree(out)
            return problem
        return "" if "Traceback" not in started.words() else f"it said {started.words()}"

    def finish(self, folder: Path) -> str:
        return completed(folder / "run", self.flags)


@dataclass
class Interrupted(Fault):
    """Ctrl-C once or twice, at a random moment, to all processes of the terminal: 130, no traceback, and it goes on."""

    name: str
    flags: tuple[str, ...]
    presses: int
    times: int = 20

    def once(self, rng: random.Random, folder: Path) -> str:
        out = folder / "run"
        started = begin(out, self.flags)
        time.sleep(0.5)  # Python itself, before our first line runs, prints a traceback
        at_random(started, rng)
        family = started.family()
        for _ in range(self.presses):
            if started.process.poll() is None:
                os.killpg(started.process.pid, signal.SIGINT)
                time.sleep(rng.uniform(0, 0.5))
        code = started.end()
        if alive := survivors(family):
            return f"processes {alive} outlive their parent"
        if code == 0:
            shutil.rmtree(out)
            return ""
        if code != 130 or "Traceback" in started.words() or not started.words().endswith("interrupted\n"):
            return f"ended with {code} and said {started.words()}"
        return damage(out)

    def finish(self, folder: Path) -> str:
        return completed(folder / "run", self.flags)


@dataclass
class Stopped(Fault):
    """Stopped in the middle of work: a second writer is kept out, a reader is not; continued, it finishes."""

    name: str = "STOP, a second writer, CONT"
    times: int = 5

    def once(self, rng: random.Random, folder: Path) -> str:
        out = folder / "run"
        started = begin(out, ONE)
        at_random(started, rng)
        if not started.working():
            return "" if started.process.returncode == 0 else started.words()
        os.kill(started.process.pid, signal.SIGSTOP)
        try:
            second = begin(out)
            second.end()
            kept_out = re.search(r"error: .* is being written by another process", second.words())
            problem = "" if kept_out or second.process.returncode == 0 else f"a second writer: {second.words()}"
            problem = problem or damage(out)
        finally:
            os.kill(started.process.pid, signal.SIGCONT)
        started.end()
        problem = problem or damage(out, whole=True)
        shutil.rmtree(out)
        return problem


FAULTS: tuple[Fault, ...] = (
    Killed("kill -9, one worker", ONE),
    Killed("kill -9, two workers", TWO),
    Killed("kill -9, Ray", RAY),
    Killed("TERM, two workers", TWO, 10, signal.SIGTERM),
    Killed("HUP, two workers", TWO, 10, signal.SIGHUP),
    Interrupted("Ctrl-C, one worker", ONE, 1),
    Interrupted("Ctrl-C twice, two workers", TWO, 2),
    Interrupted("Ctrl-C twice, Ray", RAY, 2, 5),
    Stopped(),
)
