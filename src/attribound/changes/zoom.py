"""Nearer or further away."""

import math
from collections.abc import Sequence
from typing import Self, final

from torch import Tensor

from attribound.changes.base import Continuous, number, positive
from attribound.changes.pictures import OfPictures, as_pictures
from attribound.changes.warp import enlarged
from attribound.rounding import exact_text


@final
class Zoom(OfPictures, Continuous):
    """Enlarged by up to a percentage, or made smaller by the same factor."""

    name = "zoom"
    title = "Smaller or larger"
    unit = "%"
    made = "enlarged about its middle with bilinear interpolation; what comes from outside is black"
    example = "zoom:20%"
    moves = True

    def __init__(self, percent: float) -> None:
        self.percent = positive(type(self), percent)
        self.high = math.log1p(self.percent / 100)
        self.low = -self.high

    @classmethod
    def parse(cls, amount: str) -> Self:
        """zoom:20%: without its unit, 20 could be a factor."""
        return cls(number(cls, amount, ("%",)))

    @property
    def spec(self) -> str:
        """As people type it."""
        return f"{self.name}:{exact_text(self.percent)}%"

    def shown(self, t: float) -> float:
        """Per cent larger; negative: smaller."""
        return self.percent if t == self.high else 100 * math.expm1(t)

    def inner(self, shown: float) -> float:
        """The logarithm of the factor."""
        return math.log1p(shown / 100) if shown > -100 else -math.inf

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Enlarge the picture."""
        return enlarged(x.expand(len(t), *x.shape), t, x.shape)

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Make maps smaller again; what they do not show of the first frame is zero."""
        return enlarged(as_pictures(maps, self.name), -t, shape).view(maps.shape)
