"""IG-NORM (Chen et al. 2019): the integrated gradients between an input and its neighbours stay small."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.attributions import integrated_gradients, summed_entropy
from attribound.training.base import Attacking
from attribound.training.modes import evaluating
from attribound.training.perturbation import worst_in_ball


@final
@dataclass(frozen=True)
class IgNorm(Attacking):
    """CE(f(x), y) + weight * max over the ball of ||IG(x, x~)||_1, IG of the loss along the way from x to x~.

    Attributes:
        weight: lambda of the paper.
        epsilon: l2 radius of the ball.
        attack_steps: iterations of the maximisation.
        step_size: their length.
        path_steps: points on the path of the integrated gradients.
        entropy_attack: take the x~ where the cross-entropy is largest, without second derivatives. The integrated
            gradients sum to the rise of the loss, so this maximises a lower bound of their l1 norm.
    """

    weight: float = 0.5
    epsilon: float = 1.0
    attack_steps: int = 3
    step_size: float = 0.5
    path_steps: int = 4
    entropy_attack: bool = False

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Cross-entropy plus the size of the worst integrated gradients."""
        return self.terms(model, inputs, self.attack(model, inputs, labels, generator), labels)

    def attack(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The inputs moved to where the integrated gradients, or the cross-entropy, are largest."""
        entropy = summed_entropy(model, labels)

        def size(points: Tensor) -> Tensor:
            return self.size(model, inputs, points, labels) * len(points)

        with evaluating(model):
            return worst_in_ball(
                inputs,
                entropy if self.entropy_attack else size,
                epsilon=self.epsilon,
                steps=self.attack_steps,
                step_size=self.step_size,
                generator=generator,
            )

    def size(self, model: nn.Module, inputs: Tensor, points: Tensor, labels: Tensor) -> Tensor:
        """Mean l1 norm of the integrated gradients from inputs to points."""
        with evaluating(model):
            maps = integrated_gradients(summed_entropy(model, labels), inputs, points, self.path_steps)
        return maps.flatten(1).abs().sum(dim=1).mean()

    def terms(self, model: nn.Module, inputs: Tensor, attacked: Tensor, labels: Tensor) -> Tensor:
        """The loss for given attacked inputs."""
        entropy = functional.cross_entropy(model(inputs), labels)
        return entropy + self.weight * self.size(model, inputs, attacked, labels)
