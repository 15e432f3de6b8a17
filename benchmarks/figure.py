"""One benchmarked figure, and how two programs are timed against each other."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from msgspec.structs import replace

from attribound.certificates import Record


@dataclass(frozen=True)
class Figure:
    """A figure as printed: ratio > 1 means ours is better, unless the name says otherwise."""

    name: str
    ours: float
    peer: float
    ratio: float
    unit: str

    def line(self) -> str:
        return json.dumps(asdict(self))


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def race(ours: Callable[[], object], peer: Callable[[], object], rounds: int = 9) -> tuple[float, float, float]:
    """Median seconds of ours and of the peer, and the median of the rounds' ratios peer / ours.

    They take turns, so that a busy moment of the machine hits both; one round beforehand warms up.
    """
    pairs = [(seconds(ours), seconds(peer)) for _ in range(rounds + 1)][1:]
    ours_seconds, peer_seconds = (statistics.median(column) for column in zip(*pairs, strict=True))
    return ours_seconds, peer_seconds, statistics.median(p / o for o, p in pairs)


def renumbered(record: Record, item: int) -> Record:
    """The same record as that of another input: runs of any size from a few real records."""
    return replace(record, item=item, subject=replace(record.subject, item=item))
