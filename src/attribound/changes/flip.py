"""Mirrored left and right."""

from collections.abc import Sequence
from typing import Self, final

import torch
from torch import Tensor

from attribound.changes.base import Finite, Parameter
from attribound.changes.pictures import as_pictures, check_picture
from attribound.errors import ArgumentError


@final
class Flip(Finite):
    """Mirrored: left becomes right."""

    name = "flip"
    unit = "flips"
    made = "mirrored, left to right"
    example = "flip"
    moves = True

    @classmethod
    def parse(cls, amount: str) -> Self:
        """Nothing but its name."""
        if amount:
            raise ArgumentError(f"expected flip without a range, got {amount!r}")
        return cls()

    @property
    def spec(self) -> str:
        """As people type it."""
        return self.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Flipped or not."""
        return (Parameter(self.name, 0, 1),)

    def check(self, x: Tensor) -> None:
        """Pictures only."""
        check_picture(x, self.name)

    def alternatives(self, x: Tensor) -> Tensor:
        """The one."""
        return torch.ones(1, dtype=torch.float64)

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Mirror where t is not 0."""
        return torch.where((t.to(x.device) != 0).view(-1, 1, 1, 1), x.flip(2), x)

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Mirror again."""
        pictures = as_pictures(maps, self.name)
        mirrored = (t.to(maps.device) != 0).view(-1, 1, 1, 1)
        return torch.where(mirrored, pictures.flip(3), pictures).view(maps.shape)
