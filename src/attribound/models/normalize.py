"""Normalisation as part of the model, so that noise and epsilon keep the units of the pixels."""

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor, nn

from attribound.errors import FieldError


@final
class Normalize(nn.Module):
    """(x - mean) / std per channel, after reordering the channels.

    The constants are not part of the state dict: the weights that people have do not contain them.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], order: Sequence[int] | None = None) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1), persistent=False)
        self.order = list(order) if order else None

    def forward(self, images: Tensor) -> Tensor:
        """(B, C, H, W) to the same shape; another number of channels would be broadcast in silence."""
        if images.shape[1] != len(self.get_buffer("mean")):
            raise FieldError(
                f"expected pictures of {len(self.get_buffer('mean'))} channels, got {images.shape[1]}: open them with "
                f"?channels=N, or choose a model for them"
            )
        ordered = images[:, self.order] if self.order else images
        return (ordered - self.get_buffer("mean")) / self.get_buffer("std")
