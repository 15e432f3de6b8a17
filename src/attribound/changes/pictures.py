"""What changes need of pictures: values in [0, 1], whole grey levels, colours, places."""

import torch
from torch import Tensor

from attribound.errors import ArgumentError, FieldError

_NEAR_LEVEL = 1e-3
"""How far from a whole grey level, in levels, a float32 picture of 8 bits may be."""


def check_picture(x: Tensor, name: str) -> None:
    """Raise unless x is a picture (channels, height, width) with values in [0, 1]."""
    if x.ndim != 3 or len(x) not in (1, 3) or min(x.shape[1:]) < 2:
        raise ArgumentError(f"{name} needs a picture (1 or 3 channels, height, width), got an input {tuple(x.shape)}")
    low, high = float(x.min()), float(x.max())
    if low < 0 or high > 1:
        raise ArgumentError(f"{name} needs a picture with values in [0, 1], got values from {low:g} to {high:g}")


class OfPictures:
    """For changes of pictures: nothing else can be changed so."""

    name: str

    def check(self, x: Tensor) -> None:
        """Pictures only."""
        check_picture(x, self.name)


def check_colours(x: Tensor, name: str) -> None:
    """Raise unless x is a picture with three channels."""
    check_picture(x, name)
    if len(x) != 3:
        raise ArgumentError(f"{name} needs a picture with three colour channels, got {len(x)}")


def check_levels(x: Tensor, name: str) -> None:
    """Raise unless every value of x is a whole grey level k/255."""
    check_picture(x, name)
    levels = x.double() * 255
    if float((levels - levels.round()).abs().max()) > _NEAR_LEVEL:
        raise ArgumentError(f"{name} counts whole grey levels and needs a picture of 8 bits: values k/255, k whole")


def levels_of(x: Tensor) -> Tensor:
    """The grey levels 0..255 of a picture, as floats."""
    return (x.double() * 255).round()


def from_levels(levels: Tensor, like: Tensor) -> Tensor:
    """Grey levels as values in [0, 1]: cut off at black and white, as 8-bit pictures are."""
    return levels.clamp(0, 255).to(like.dtype) / 255


def as_pictures(maps: Tensor, name: str) -> Tensor:
    """(B, C, h, w) maps with places, in float64."""
    if maps.ndim == 3 and min(maps.shape[1:]) >= 2:
        return maps[:, None].double()
    if maps.ndim == 4 and min(maps.shape[2:]) >= 2:
        return maps.double()
    raise FieldError(
        f"{name} moves things, so it needs maps with places (height, width) to bring back, got {tuple(maps.shape[1:])}"
    )


def rows_of(t: Tensor, x: Tensor) -> Tensor:
    """Parameters (B,) as (B, 1, 1, 1) in float64 on the device of x: one per picture."""
    return t.to(x.device, torch.float64).view(-1, 1, 1, 1)
