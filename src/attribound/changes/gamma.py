"""Another gamma curve: a screen or camera with other settings."""

from typing import final

from torch import Tensor

from attribound.changes.base import Factor
from attribound.changes.pictures import OfPictures, rows_of


@final
class Gamma(OfPictures, Factor):
    """Values raised to a power: black and white stay, what lies between gets darker or brighter."""

    name = "gamma"
    title = "Brighter or darker midtones"
    made = "every value is raised to the power that is stated"
    example = "gamma:2"
    adds_up = True

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Raise values to the power exp(t)."""
        return x.expand(len(t), *x.shape).pow(rows_of(t, x).exp().to(x.dtype))
