"""Mirrored left and right."""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from attribound.changes.base import Switch
from attribound.changes.pictures import OfPictures, as_pictures


@final
class Flip(OfPictures, Switch):
    """Mirrored: left becomes right."""

    name = "flip"
    title = "Mirrored"
    unit = "flips"
    made = "mirrored, left to right"
    example = "flip"
    moves = True

    def alternatives(self, x: Tensor) -> Tensor:
        """The one."""
        return torch.ones(1, dtype=torch.float64)

    def label(self, t: Tensor) -> str:
        """In a word: there is only one."""
        return "mirrored"

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Mirror where t is not 0."""
        return torch.where((t.to(x.device) != 0).view(-1, 1, 1, 1), x.flip(2), x)

    def back(self, maps: Tensor, t: Tensor, shape: Sequence[int]) -> Tensor:
        """Mirror again."""
        pictures = as_pictures(maps, self.name)
        mirrored = (t.to(maps.device) != 0).view(-1, 1, 1, 1)
        return torch.where(mirrored, pictures.flip(3), pictures).view(maps.shape)
