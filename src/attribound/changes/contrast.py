"""More or less contrast."""

from typing import final

from torch import Tensor

from attribound.changes.base import Factor
from attribound.changes.pictures import OfPictures, rows_of


@final
class Contrast(OfPictures, Factor):
    """Differences from middle grey multiplied by a factor."""

    name = "contrast"
    title = "Less or more contrast"
    made = "differences from middle grey (0.5) are multiplied; what is beyond black or white is cut off"
    example = "contrast:2"

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Stretch values about 0.5."""
        return (0.5 + rows_of(t, x).exp().to(x.dtype) * (x - 0.5)).clamp(0, 1)
