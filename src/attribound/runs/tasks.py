"""What goes to a worker and what comes back; nothing here needs torch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from attribound.checks import FloatArray
from attribound.runs.records import Stored

if TYPE_CHECKING:
    from torch import Tensor

COMPARED = 24
"""The maps of this number of inputs are always kept: the cosines between them are the run's chance level."""
FILMED = 24
"""Film strips of tolerances are kept of at most this number of inputs: a page holds no more."""


@final
@dataclass(frozen=True)
class Given:
    """An input that travels with its task, its label and its name; or why it could not be read."""

    x: "Tensor | None"
    label: int | None
    name: str = ""
    trouble: str = ""


@final
@dataclass(frozen=True)
class Task:
    """One input, or one part of what is asked about it, and what to keep besides its record.

    Attributes:
        item: number of the input.
        picture: keep input, plain and smoothed map, for pages.
        map: keep the smoothed map, for the run's chance level.
        part: which part, e.g. the name of a change; empty if a record says everything about an input.
        film: keep a film strip of a change, for pages.
        given: the input itself, for workers that may not see the data; None: read it there.
    """

    item: int
    picture: bool
    map: bool = False
    part: str = ""
    film: bool = False
    given: Given | None = field(default=None, compare=False)


def make_tasks(keys: Iterable[tuple[int, str]], items: Sequence[int], pictures: int) -> list[Task]:
    """What is left to do.

    Args:
        keys: inputs and parts without a record.
        items: all inputs, in their order.
        pictures: of how many of them pictures are kept.
    """
    pictured, filmed, compared = (set(items[:most]) for most in (pictures, min(pictures, FILMED), COMPARED))
    return [Task(item, item in pictured, item in compared, part, item in filmed) for item, part in keys]


@final
@dataclass(frozen=True)
class Outcome:
    """What became of a task: its record or failure, and pictures by name."""

    item: int
    record: Stored
    pictures: dict[str, FloatArray] = field(default_factory=dict)
