"""Darker or brighter, warmer or colder, in whole grey levels."""

from typing import ClassVar, Self, final

import torch
from torch import Tensor

from attribound.changes.base import Continuous, Finite, both_ways, number, whole
from attribound.changes.pictures import check_colours, check_levels, check_picture, from_levels, levels_of, rows_of


class _Levels(Finite):
    """Brighter or darker by whole grey levels."""

    unit = "grey levels"
    sides: ClassVar[tuple[float, ...]] = (1.0,)
    """How much of it each channel gets."""

    def __init__(self, levels: int) -> None:
        """Allow up to `levels` of the 255 grey levels either way."""
        self.levels = min(whole(type(self), levels), 255)

    @classmethod
    def parse(cls, amount: str) -> Self:
        """NAME:100."""
        return cls(whole(cls, number(cls, amount, ("",))))

    @property
    def spec(self) -> str:
        """As people type it."""
        return f"{self.name}:{self.levels}"

    def alternatives(self, x: Tensor) -> Tensor:
        """Every whole number of grey levels but 0."""
        return both_ways(self.levels)

    def sliding(self) -> Continuous:
        """By any part of a grey level."""
        return _Sliding(self)

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Add grey levels."""
        return from_levels(levels_of(x) + rows_of(t, x) * _column(self.sides, x), x)


@final
class _Sliding(Continuous):
    """Grey levels and parts of them, added to any picture."""

    unit = "grey levels"
    made = "the same amount is added everywhere; what is beyond black or white is cut off"

    def __init__(self, whole: _Levels) -> None:
        self.name, self.low, self.high = whole.name, -float(whole.levels), float(whole.levels)
        self._sides = whole.sides

    def check(self, x: Tensor) -> None:
        """Pictures, with colours where channels differ."""
        (check_picture if len(self._sides) == 1 else check_colours)(x, self.name)

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Add, and cut off."""
        return (x + (rows_of(t, x) * _column(self._sides, x) / 255).to(x.dtype)).clamp(0, 1)


def _column(sides: tuple[float, ...], x: Tensor) -> Tensor:
    return torch.tensor(sides, dtype=torch.float64, device=x.device).view(-1, 1, 1)


@final
class Brightness(_Levels):
    """Darker or brighter by whole grey levels of an 8-bit picture."""

    name = "brightness"
    title = "Darker or brighter"
    made = "the same number of whole grey levels is added everywhere; what is beyond black or white is cut off"
    example = "brightness:100"

    def check(self, x: Tensor) -> None:
        """Pictures of 8 bits only."""
        check_levels(x, self.name)


@final
class Warmth(_Levels):
    """Warmer or colder: as many grey levels more red as less blue."""

    name = "warmth"
    title = "Colder or warmer"
    made = "whole grey levels are added to red and taken from blue; what is beyond black or white is cut off"
    example = "warmth:30"
    sides = (1.0, 0.0, -1.0)

    def check(self, x: Tensor) -> None:
        """Pictures of 8 bits with colours only."""
        check_colours(x, self.name)
        check_levels(x, self.name)
