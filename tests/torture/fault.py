"""What can go wrong, again and again: one interface, one row of the table each."""

import random
import shutil
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


class Fault(ABC):
    """One kind of fault.

    Attributes:
        name: the row's title.
        times: how often in the full table.
        scaled: whether `--share` makes it fewer; files have their own option.
    """

    name: str
    times: int
    scaled = True

    @abstractmethod
    def once(self, rng: random.Random, folder: Path) -> str:
        """Do it once; returns what failed, "" if nothing did. The folder stays the same for all times."""

    def finish(self, folder: Path) -> str:
        """What must hold after the last time."""
        return ""


@dataclass
class Row:
    """A row of the table."""

    name: str
    times: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        return f"| {self.name} | {self.times:,} | {len(self.problems)} | {self.seconds:.0f} |"


def repeat(fault: Fault, times: int, folder: Path, seed: int, say: Callable[[str], None]) -> Row:
    """Do a fault so often; whatever is raised is a failure too."""
    row, rng, begun = Row(fault.name), random.Random(f"{seed} {fault.name}"), time.monotonic()
    place = folder / "".join(letter if letter.isalnum() else "-" for letter in fault.name)
    place.mkdir(parents=True)
    for number in range(times + 1):
        try:
            problem = fault.once(rng, place) if number < times else fault.finish(place)
        except Exception:  # the table counts it
            problem = traceback.format_exc()
        row.times += number < times
        if problem:
            row.problems.append(problem)
            say(f"{fault.name}, time {number + 1}: {problem}")
    row.seconds = time.monotonic() - begun
    if not row.problems:
        shutil.rmtree(place, ignore_errors=True)
    say(row.line())
    return row
