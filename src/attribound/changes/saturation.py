"""Stronger or paler colours."""

from typing import final

import torch
from torch import Tensor

from attribound.changes.base import Factor
from attribound.changes.pictures import check_colours, rows_of

_LUMA = (0.299, 0.587, 0.114)


@final
class Saturation(Factor):
    """Differences of each pixel from its own grey multiplied by a factor."""

    name = "saturation"
    title = "Weaker or stronger colours"
    made = "each pixel's differences from its own grey are multiplied; what is beyond black or white is cut off"
    example = "saturation:2"

    def check(self, x: Tensor) -> None:
        """Pictures with colours only."""
        check_colours(x, self.name)

    def apply(self, x: Tensor, t: Tensor) -> Tensor:
        """Stretch colours about grey."""
        grey = (x * torch.tensor(_LUMA, dtype=x.dtype, device=x.device).view(3, 1, 1)).sum(dim=0, keepdim=True)
        return (grey + rows_of(t, x).exp().to(x.dtype) * (x - grey)).clamp(0, 1)
