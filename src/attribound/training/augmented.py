"""Any objective, on images shifted and mirrored at random."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.base import Objective


@final
@dataclass(frozen=True)
class Augmented(Objective):
    """The base objective on images padded with zeros and cropped at random, and mirrored half of the time."""

    base: Objective
    shift: int = 4

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The base objective's loss on moved images (B, C, H, W)."""
        return self.base.loss(model, self.moved(inputs, generator), labels, generator)

    def moved(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Every image with its own shift of at most `shift` pixels and its own mirror."""
        count, _, height, width = inputs.shape
        padded = functional.pad(inputs, (self.shift,) * 4)
        down, right = torch.randint(0, 2 * self.shift + 1, (2, count, 1), generator=generator)
        mirror = torch.rand(count, 1, generator=generator) < 0.5
        rows = down + torch.arange(height)
        columns = right + torch.where(mirror, torch.arange(width - 1, -1, -1), torch.arange(width))
        images = torch.arange(count)[:, None, None, None]
        channels = torch.arange(inputs.shape[1])[None, :, None, None]
        return padded[images, channels, rows[:, None, :, None], columns[:, None, None, :]]
