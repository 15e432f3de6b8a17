"""Horizontal bars in people's units: what is proved, what is open, what breaks it, over the range that was tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from attribound.rounding import with_commas
from attribound.tolerances.evidence import Interval

_APART = 12.0
"""Per cent of the bar that two numbers below it need at least between them."""
_LETTER = 4
"""Per cent of the narrowest bar, on paper, that one letter of a tick takes, with some room."""


@final
@dataclass(frozen=True)
class Part:
    """A stretch of a bar, in per cent of its width; its kind is "proved", "assumed" or "breaks"."""

    kind: str
    left: str
    width: str


@final
@dataclass(frozen=True)
class Tick:
    """A number below a bar, and where."""

    text: str
    place: str
    side: str


@final
@dataclass(frozen=True)
class Bar:
    """How far one thing may change, drawn by the macro `reach` of `shared/templates/bars.html`.

    Attributes:
        title: what changes, as people call it.
        text: what is proved, in a sentence.
        unit: what follows the numbers.
        stops: two values or more at evenly spaced places of the bar, from left to right and never falling: the first
            and the last are the range that was tried.
        zero: no change.
        proved: the proved interval; ends may lie outside the range or be infinite; None if nothing is proved.
        broken: the nearest value on the left and on the right that was found to break it; None where none was.
        assumed: what is drawn as proved rests on an assumed limit and is no certificate.
    """

    title: str
    text: str
    unit: str
    stops: Sequence[float]
    zero: float
    proved: Interval
    broken: tuple[float | None, float | None] = (None, None)
    assumed: bool = False

    def place(self, value: float) -> float:
        """Where a value stands, in per cent; values beyond the range stand at its ends."""
        return float(np.interp(value, self.stops, np.linspace(0, 100, len(self.stops))))

    @property
    def parts(self) -> list[Part]:
        """What is drawn upon the range tried; the rest is open."""
        left, right = self.broken
        stretches = list[tuple[str, float, float]]()
        if self.proved is not None:
            kind = "assumed" if self.assumed else "proved"
            stretches.append((kind, self.place(self.proved[0]), self.place(self.proved[1])))
        stretches += [] if left is None else [("breaks", 0.0, self.place(left))]
        stretches += [] if right is None else [("breaks", self.place(right), 100.0)]
        return [Part(kind, f"{first:.2f}", f"{last - first:.2f}") for kind, first, last in stretches if last >= first]

    @property
    def mark(self) -> str:
        """Where no change stands."""
        return f"{self.place(self.zero):.2f}"

    @property
    def ticks(self) -> list[Tick]:
        """The ends of the range tried, and no change where there is room for it."""
        first, last, middle = self.stops[0], self.stops[-1], self.place(self.zero)
        text = _short(self.zero)
        left, right = (max(_APART, _LETTER * (len(_short(end)) + len(text) / 2)) for end in (first, last))
        shown = [Tick(text, f"{middle:.2f}", "middle")] if left <= middle <= 100 - right else []
        return [Tick(_short(first), "0", "first"), *shown, Tick(_short(last), "100", "last")]

    @property
    def spoken(self) -> str:
        """All of it in words, for those who do not see."""
        found = [f"{value:.4g}" for value in self.broken if value is not None]
        breaks = f" Found to break at {' and '.join(found)} {self.unit}." if found else ""
        tried = f"Tried from {self.stops[0]:.4g} to {self.stops[-1]:.4g} {self.unit}."
        return f"{self.title}: {self.text}{breaks} {tried}"


def _short(value: float) -> str:
    """Four digits: 13,760 and 0.25."""
    return with_commas(float(f"{value:.4g}"))
