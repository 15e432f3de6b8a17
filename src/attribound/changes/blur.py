"""Out of focus."""

from typing import Self, final

import torch
from torch import Tensor

from attribound.changes.base import Continuous, number, positive
from attribound.changes.pictures import OfPictures

_SHARP = 1e-3
"""Pixels of deviation below which a normal curve has all its weight on its own pixel."""


@final
class Blur(OfPictures, Continuous):
    """Blurred by a normal curve, its deviation up to a number of pixels."""

    name = "blur"
    title = "Out of focus"
    unit = "pixels"
    made = "blurred by a normal curve of the stated deviation; weights outside the picture are left out"
    example = "blur:3"
    mirrored = True

    def __init__(self, pixels: float) -> None:
        self.low, self.high = 0.0, positive(type(self), pixels)

    @classmethod
    def parse(cls, amount: str) -> Self:
        """blur:3 or blur:3px."""
        return cls(number(cls, amount, ("", "px")))

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Blur rows and columns."""
        rows, columns = (_weights(t.to(x.device), side).to(x.dtype) for side in x.shape[1:])
        return rows[:, None] @ x @ columns[:, None].mT


def _weights(deviation: Tensor, side: int) -> Tensor:
    """(B, side, side) normal weights of every pixel for every other, rows adding up to 1."""
    places = torch.arange(side, dtype=torch.float64, device=deviation.device)
    distance = (places[:, None] - places) / deviation.double().abs().clamp(min=_SHARP)[:, None, None]
    return torch.softmax(-distance.square() / 2, dim=2)
