"""Adversarial training (Madry et al. 2018) in the l2 ball."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.attributions import summed_entropy
from attribound.training.base import Attacking
from attribound.training.modes import evaluating
from attribound.training.perturbation import worst_in_ball


@final
@dataclass(frozen=True)
class Adversarial(Attacking):
    """Cross-entropy of the inputs moved, within epsilon, to where it is largest."""

    epsilon: float = 1.0
    attack_steps: int = 5
    step_size: float = 0.5

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Mean cross-entropy of the attacked inputs."""
        return functional.cross_entropy(model(self.attack(model, inputs, labels, generator)), labels)

    def attack(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The inputs moved to where the cross-entropy is largest."""
        with evaluating(model):
            return worst_in_ball(
                inputs,
                summed_entropy(model, labels),
                epsilon=self.epsilon,
                steps=self.attack_steps,
                step_size=self.step_size,
                generator=generator,
            )
