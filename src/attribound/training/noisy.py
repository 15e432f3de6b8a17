"""Any objective, with noise added to its inputs first."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from attribound.noise import Noise
from attribound.training.base import Objective


@final
@dataclass(frozen=True)
class WithNoise(Objective):
    """The base objective on inputs with one fresh draw of noise each.

    Attributes:
        base: the objective.
        noise: the law.
        share: part of the inputs, chosen at random, that get noise; the others stay as they are.
    """

    base: Objective
    noise: Noise
    share: float = 1.0

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The base objective's loss on noisy inputs."""
        noisy = self.noise.onto(inputs, generator)
        if self.share < 1:
            chosen = torch.rand(len(inputs), generator=generator) < self.share
            noisy = torch.where(chosen.view(-1, *[1] * (inputs.ndim - 1)), noisy, inputs)
        return self.base.loss(model, noisy, labels, generator)
