"""Disks that fill, folders that cannot be written, limits of memory and descriptors, copies and readers meanwhile."""

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from attribound.errors import AttriboundError
from attribound.files import write_whole
from attribound.runs import Store, summarise
from attribound.runs.copies import copy_run
from attribound.runs.export import export, public_records
from tests.runs.conftest import records
from tests.torture.fault import Fault
from tests.torture.processes import ONE, TWO, at_random, begin, completed, count, damage


@cache
def can_mount() -> bool:
    """Whether this user may mount; otherwise limits of the process stand in for full and read-only media."""
    with TemporaryDirectory() as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True)
        return done.returncode == 0 and subprocess.run(["umount", folder]).returncode == 0


@contextlib.contextmanager
def mounted(place: Path, *options: str) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", *options, str(place)], check=True, capture_output=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@dataclass
class Full(Fault):
    """The disk fills at a random moment: one line that names the run; with room again the same command finishes it."""

    name: str = "disk full (a small tmpfs, or RLIMIT_FSIZE where nothing can be mounted)"
    times: int = 20

    def once(self, rng: random.Random, folder: Path) -> str:
        room = rng.randrange(40_000, 400_000)
        if not can_mount():
            return self._squeezed(folder / "run", lambda: _at_most_bytes(room), folder / "run")
        with mounted(folder / "disk", "-t", "tmpfs", "-o", f"size={room}", "tmpfs") as disk:
            problem = self._squeezed(disk / "run", None, disk / "run")
            if problem or not (disk / "run").exists():
                return problem
            with contextlib.suppress(AttriboundError):  # refused, or it fits: either way nothing may be left over
                write_whole(disk / "x.bin", bytes(room))
            if left := [path.name for path in disk.iterdir() if path.name.endswith(".partial")]:
                return f"left over: {left}"
            (disk / "x.bin").unlink(missing_ok=True)
            subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
            return completed(disk / "run")

    def _squeezed(self, out: Path, prepare: object, named: Path) -> str:
        started = begin(out.parent / "run", ONE, prepare)  # type: ignore[arg-type]
        code, said = started.end(), started.words()
        if code not in (0, 2) or "Traceback" in said:
            return f"ended with {code}: {said}"
        if code == 2 and f"cannot write {named}" not in said.splitlines()[-1] and said:
            return f"the last line does not name the run: {said}"
        problem = damage(out)
        if not can_mount() and not problem:
            problem = completed(out)
            shutil.rmtree(out)
        return problem


def _at_most_bytes(most: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@dataclass
class ReadOnly(Fault):
    """A run killed in the middle of work, on a medium that cannot be written: all its records are seen, or refused."""

    name: str = "read-only medium with a log left over"
    times: int = 10

    def once(self, rng: random.Random, folder: Path) -> str:
        out = folder / "run"
        started = begin(out, ONE)
        at_random(started, rng)
        started.process.kill()
        started.end()
        if damage(out) or not (out / "run.sqlite").exists():
            return damage(out)
        twin = folder / "twin"
        shutil.copytree(out, twin)
        if rng.random() < 0.5:
            (out / "run.sqlite-shm").unlink(missing_ok=True)
        with _unwritable(out, folder / "medium") as medium:
            try:
                seen = count(medium)
            except AttriboundError as error:
                seen = None
                refused = "holds records that are not in" in str(error) or count_or_none(twin) is None
            problem = "" if (seen is None and refused) or seen == count_or_none(twin) else f"{seen} records are seen"
        shutil.rmtree(twin)
        shutil.rmtree(out)
        return problem


@contextlib.contextmanager
def _unwritable(out: Path, place: Path) -> Iterator[Path]:
    if can_mount():
        with mounted(place, "--bind", str(out)):
            subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
            yield place
        return
    out.chmod(0o555)
    try:
        yield out
    finally:
        out.chmod(0o755)


def count_or_none(out: Path) -> int | None:
    try:
        return count(out)
    except AttriboundError:
        return None


@dataclass
class Limited(Fault):
    """Too little of something: however it ends, nothing is damaged and the same command finishes the run."""

    name: str
    what: int
    least: int
    most: int
    times: int = 20

    def once(self, rng: random.Random, folder: Path) -> str:
        limit = rng.randrange(self.least, self.most)
        started = begin(folder / "run", ONE, lambda: resource.setrlimit(self.what, (limit, limit)))
        started.end()
        return damage(folder / "run")

    def finish(self, folder: Path) -> str:
        return completed(folder / "run")


@dataclass
class Copied(Fault):
    """Copies of a run while two workers write it: every copy is whole in itself."""

    name: str = "copied while it is written"
    times: int = 50

    def once(self, rng: random.Random, folder: Path) -> str:
        out = folder / "run"
        if not getattr(self, "_started", None) or self._started.process.poll() is not None:
            shutil.rmtree(out, ignore_errors=True)
            self._started = begin(out, TWO)
            self._started.working()
        time.sleep(rng.uniform(0, 1))
        try:
            copied = copy_run(out, folder / "copy")
        except AttriboundError as error:
            return "" if not (folder / "copy").exists() and "no such table" in str(error) else str(error)
        problem = damage(folder / "copy") or ("" if len(records(folder / "copy")) == copied else "it miscounts")
        shutil.rmtree(folder / "copy")
        return problem

    def finish(self, folder: Path) -> str:
        self._started.end()
        return damage(folder / "run", whole=True)


@dataclass
class Crowded(Fault):
    """Readers that count, summarise and export while one process writes and another wants to."""

    name: str = "one writer, a rival and readers at once"
    times: int = 5

    def once(self, rng: random.Random, folder: Path) -> str:
        out = folder / "run"
        started = begin(out, TWO)
        if not started.working():
            return started.words()
        rival = begin(out, ONE)
        problem, before = "", len(os.listdir("/proc/self/fd"))
        while started.process.poll() is None or rival.process.poll() is None:
            with contextlib.suppress(AttriboundError), Store.read(out) as store:
                summarise(store)
                "".join(export(store, rng.choice(["csv", "json", "latex"]), None, public_records))
            problem = problem or damage(out)
            time.sleep(0.05)
        if len(os.listdir("/proc/self/fd")) > before:
            problem = problem or "descriptors leak"
        if {started.process.returncode, rival.process.returncode} - {0, 2}:
            problem = problem or f"{started.words()} {rival.words()}"
        problem = problem or damage(out, whole=True)
        shutil.rmtree(out)
        return problem


FAULTS: tuple[Fault, ...] = (
    Full(),
    ReadOnly(),
    Limited("little memory (RLIMIT_AS)", resource.RLIMIT_AS, 200_000_000, 4_000_000_000),
    Limited("few descriptors (RLIMIT_NOFILE)", resource.RLIMIT_NOFILE, 5, 64),
    Copied(),
    Crowded(),
)
