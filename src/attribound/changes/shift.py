"""Shifted by whole pixels: a crop that is a little off."""

from collections.abc import Sequence
from typing import Literal, Self, final

import torch
from torch import Tensor

from attribound.changes.base import Continuous, Finite, both_ways, number, whole
from attribound.changes.pictures import OfPictures, as_pictures, check_picture
from attribound.changes.warp import shifted
from attribound.errors import ArgumentError

Axis = Literal["x", "y", "both"]
_WAYS = {"x": "left or right", "y": "up or down", "both": "in any direction"}


@final
class Shift(Finite):
    """Shifted right or down by whole pixels, up to a number of them; "both": in every combination."""

    name = "shift"
    unit = "pixels"
    made = "shifted by whole pixels; what comes from outside is black"
    example = "shift:10"
    moves = True

    def __init__(self, pixels: int, axis: Axis = "both") -> None:
        """Allow shifts of up to `pixels` along an axis, "x" (right) or "y" (down), or along both at once."""
        if axis not in ("x", "y", "both"):
            raise ArgumentError(f"expected `axis` 'x', 'y' or 'both' for shift, got {axis!r}")
        self.pixels, self.axis, self.sizes = whole(type(self), pixels), axis, axis == "both"
        self.name = "shift" if axis == "both" else f"shift-{axis}"
        self.title = f"Moved {_WAYS[axis]}"
        self._axes: tuple[str, ...] = ("x", "y") if axis == "both" else (axis,)
        self.dimensions = len(self._axes)

    @classmethod
    def parse(cls, amount: str) -> Self:
        """shift:10 or shift:10px, both axes."""
        return cls(whole(cls, number(cls, amount, ("", "px"))))

    @property
    def spec(self) -> str:
        """As people type it."""
        return f"{self.name}:{self.pixels}"

    def check(self, x: Tensor) -> None:
        """Pictures that are larger than the shift."""
        check_picture(x, self.name)
        sides = {"x": x.shape[2], "y": x.shape[1]}
        smallest = min(sides[axis] for axis in self._axes)
        if self.pixels >= smallest:
            raise ArgumentError(
                f"expected a shift of fewer pixels than the picture has ({smallest}), got {self.name}:{self.pixels}"
            )

    def alternatives(self, x: Tensor) -> Tensor:
        """Every whole shift but none at all: (N,), or (N, 2) along both axes."""
        if self.axis != "both":
            return both_ways(self.pixels)
        steps = torch.arange(-self.pixels, self.pixels + 1).double()
        pairs = torch.cartesian_prod(steps, steps)
        return pairs[(pairs != 0).any(dim=1)]

    def places(self, t: Tensor) -> Tensor:
        """The larger of the two shifts, or the one with its sign."""
        return t if t.ndim == 1 else t.abs().amax(dim=1)

    def label(self, t: Tensor) -> str:
        """Right and down."""
        right, down = self._both(t[None])[0].tolist()
        return f"{right:g} pixels right, {down:g} down"

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Copy pixels to their new places: nothing is interpolated."""
        result = x.new_zeros(len(t), *x.shape)
        height, width = x.shape[1:]
        for row, (right, down) in zip(result, self._both(t).long().tolist(), strict=True):
            part = x[:, max(-down, 0) : height - max(down, 0), max(-right, 0) : width - max(right, 0)]
            row[:, max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = part
        return result

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Shift maps back by the same part of their sides."""
        sides = torch.tensor([shape[-1], shape[-2]], dtype=torch.float64)
        return shifted(as_pictures(maps, self.name), -self._both(t) / sides).view(maps.shape)

    def sliding(self) -> Continuous:
        """By any part of a pixel along one axis."""
        if self.axis == "both":
            raise ArgumentError("to combine shifts with other changes name their axes: shift-x:10 and shift-y:10")
        return _Sliding(self.axis, self.pixels)

    def _both(self, t: Tensor) -> Tensor:
        """(N, 2) shifts right and down."""
        if t.ndim == 2:
            return t
        zeros = torch.zeros_like(t)
        return torch.stack([t, zeros] if self.axis == "x" else [zeros, t], dim=1)


@final
class _Sliding(OfPictures, Continuous):
    """Shifted along one axis by pixels and parts of them."""

    unit = "pixels"
    made = "shifted with bilinear interpolation; what comes from outside is black"
    moves = True

    def __init__(self, axis: Axis, pixels: int) -> None:
        self.name, self.low, self.high, self._axis = f"shift-{axis}", -float(pixels), float(pixels), axis

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Shift the picture."""
        return shifted(x.expand(len(t), *x.shape), self._parts(t, x.shape))

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Shift maps back by the same part of their sides."""
        return shifted(as_pictures(maps, self.name), -self._parts(t, shape)).view(maps.shape)

    def _parts(self, t: Tensor, shape: Sequence[int]) -> Tensor:
        """(B, 2) parts of width and height."""
        part, none = t.double() / shape[-1 if self._axis == "x" else -2], torch.zeros_like(t, dtype=torch.float64)
        return torch.stack([part, none] if self._axis == "x" else [none, part], dim=1)
