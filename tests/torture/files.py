"""Damaged certificates, runs, weights and data: each is read or refused, and nothing else comes out."""

import contextlib
import io
import os
import random
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from attribound.certificates import Certificate, verify
from attribound.errors import AttriboundError
from attribound.runs import Store, summarise
from attribound.runs.export import export, public_records
from tests.data.test_mutations import KINDS, mutated
from tests.torture.fault import Fault
from tests.torture.processes import certified

_LONGEST_SECONDS = 20
_MOST_BYTES = 2 * 2**30
Read = Callable[[Path], object]


@dataclass
class Mutated(Fault):
    """A file with bytes changed, left out, put in or cut off."""

    name: str
    file: str
    make: Callable[[Path], bytes]
    read: Read
    times: int = 10_000
    scaled = False
    content: bytes = field(default=b"", init=False)

    def once(self, rng: random.Random, folder: Path) -> str:
        if not self.content:
            self.content = self.make(folder)
        path = folder / self.file
        path.write_bytes(mutated(self.content, rng))
        problem = _tried(self.read, path)
        if problem:
            path.rename(folder / f"kept-{rng.randrange(10**9)}-{path.name}")
        return problem


def _tried(read: Read, path: Path) -> str:
    """Read or refused in one line, in time, and without gigabytes; else what happened."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with _in_time(), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            read(path)
    except AttriboundError as error:
        if "\n" in str(error) or len(str(error)) > 2000:
            return f"a refusal of {len(str(error))} letters"
    except TimeoutError:
        return "it takes for ever"
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return f"it takes {grown:,} bytes" if grown > _MOST_BYTES else ""


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _certificate(folder: Path) -> bytes:
    with Store.read(_run_of(folder)) as store:
        record = next(iter(store.records()))
    Certificate(record).save(folder / "whole.json")  # type: ignore[arg-type]
    return (folder / "whole.json").read_bytes()


def _verified(path: Path) -> None:
    """A damaged certificate that is found in order must say what the whole one says."""
    outcome, whole = verify(path), Certificate.load(path.with_name("whole.json"))
    if not outcome.problems and outcome.certificate.record != whole.record:
        raise RuntimeError("another record than the stored one is found in order")


def _run_of(folder: Path) -> Path:
    return folder / "made" if (folder / "made").exists() else certified(folder / "made")


def _run(folder: Path) -> bytes:
    (folder / "mutated").mkdir(exist_ok=True)
    return (_run_of(folder) / "run.sqlite").read_bytes()


def _shown(path: Path) -> None:
    """Read a run in every way in which reading does not need its model."""
    with Store.read(path.parent) as store:
        summarise(store)
        for item in store.pictured():
            store.pictures(item)
        for piece in export(store, "csv", None, public_records):
            if any(not letter.isprintable() and letter != "\n" for letter in piece):
                raise RuntimeError("control characters are exported")


def _of_kind(name: str) -> Mutated:
    file, make, read = KINDS[name]
    return Mutated(f"mutated {name}", file, lambda folder: make(), read)


def faults(files: int) -> Iterator[Fault]:
    """So many mutated files of each of four sorts: certificates, runs, weights, data; sorts share among their kinds."""
    yield Mutated("mutated certificates", "mutated.json", _certificate, _verified, files)
    yield Mutated("mutated runs", os.path.join("mutated", "run.sqlite"), _run, _shown, files)
    weights = ("safetensors", "torch")
    for sort in (weights, tuple(kind for kind in KINDS if kind not in weights)):
        for kind in sort:
            fault = _of_kind(kind)
            fault.times = -(-files // len(sort))
            yield fault
