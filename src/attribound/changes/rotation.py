"""Turned a little: a camera that is not held straight."""

from collections.abc import Sequence
from typing import Self, final

from torch import Tensor

from attribound.changes.base import Continuous, number, positive
from attribound.changes.pictures import OfPictures, as_pictures
from attribound.changes.warp import turned


@final
class Rotation(OfPictures, Continuous):
    """Turned about its middle by up to a number of degrees either way; counter-clockwise is positive."""

    name = "rotation"
    title = "Turned right or left"
    unit = "degrees"
    made = "turned about its middle with bilinear interpolation; what comes from outside is black"
    example = "rotation:30"
    moves = True

    def __init__(self, degrees: float) -> None:
        self.high = positive(type(self), degrees)
        self.low = -self.high

    @classmethod
    def parse(cls, amount: str) -> Self:
        """rotation:30, rotation:30deg or rotation:30°."""
        return cls(number(cls, amount, ("", "deg", "°")))

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Turn the picture."""
        return turned(x.expand(len(t), *x.shape), t, x.shape)

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Turn maps back; what they do not show of the first frame is zero."""
        return turned(as_pictures(maps, self.name), -t, shape).view(maps.shape)
