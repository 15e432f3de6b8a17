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
    """The base objective on inputs with one fresh draw of noise each."""

    base: Objective
    noise: Noise

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The base objective's loss on noisy inputs."""
        noisy = inputs + self.noise.draw(len(inputs), inputs[0], generator)
        return self.base.loss(model, noisy, labels, generator)
