"""What goes to a worker and what comes back; nothing here needs torch."""

from dataclasses import dataclass, field
from typing import Any, final

from attribound.checks import FloatArray


@final
@dataclass(frozen=True)
class Task:
    """One input to certify, and whether to keep its pictures."""

    item: int
    picture: bool


@final
@dataclass(frozen=True)
class Outcome:
    """What became of one input: its record, and pictures by name."""

    item: int
    record: dict[str, Any]
    pictures: dict[str, FloatArray] = field(default_factory=dict)
