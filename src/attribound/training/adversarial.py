"""Adversarial training (Madry et al. 2018) in the l2 ball."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.base import Objective
from attribound.training.perturbation import worst_in_ball


@final
@dataclass(frozen=True)
class Adversarial(Objective):
    """Cross-entropy of the inputs moved, within epsilon, to where it is largest."""

    epsilon: float = 1.0
    steps: int = 5
    step_size: float = 0.5

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Mean cross-entropy of the attacked inputs."""

        def damage(points: Tensor) -> Tensor:
            return functional.cross_entropy(model(points), labels, reduction="sum")

        attacked = worst_in_ball(
            inputs, damage, epsilon=self.epsilon, steps=self.steps, step_size=self.step_size, generator=generator
        )
        return functional.cross_entropy(model(attacked), labels)
