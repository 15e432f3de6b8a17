"""What goes to a worker and what comes back; nothing here needs torch."""

from dataclasses import dataclass, field
from typing import final

from attribound.certificates.record import Failure, Record
from attribound.checks import FloatArray


@final
@dataclass(frozen=True)
class Task:
    """One input to certify, and what to keep of it besides its record.

    Attributes:
        item: number of the input.
        picture: keep input, plain and smoothed map, for pages.
        map: keep the smoothed map, for the run's chance level.
    """

    item: int
    picture: bool
    map: bool = False


@final
@dataclass(frozen=True)
class Outcome:
    """What became of one input: its record or failure, and pictures by name."""

    item: int
    record: Record | Failure
    pictures: dict[str, FloatArray] = field(default_factory=dict)
