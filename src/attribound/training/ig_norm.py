"""IG-NORM (Chen et al. 2019): the integrated gradients between an input and its neighbours stay small."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.training.attributions import Score, integrated_gradients
from attribound.training.base import Objective
from attribound.training.perturbation import worst_in_ball


@final
@dataclass(frozen=True)
class IgNorm(Objective):
    """CE(f(x), y) + weight * max over the ball of ||IG(x, x~)||_1, IG of the loss along the way from x to x~.

    Attributes:
        weight: lambda of the paper.
        epsilon: l2 radius of the ball.
        attack_steps: iterations of the maximisation.
        step_size: their length.
        path_steps: points on the path of the integrated gradients.
    """

    weight: float = 0.5
    epsilon: float = 1.0
    attack_steps: int = 3
    step_size: float = 0.5
    path_steps: int = 4

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Cross-entropy plus the size of the worst integrated gradients."""
        score = _summed_loss(model, labels)
        attacked = worst_in_ball(
            inputs,
            lambda points: self.size(score, inputs, points) * len(points),
            epsilon=self.epsilon,
            steps=self.attack_steps,
            step_size=self.step_size,
            generator=generator,
        )
        return self.terms(model, inputs, attacked, labels)

    def size(self, score: Score, inputs: Tensor, points: Tensor) -> Tensor:
        """Mean l1 norm of the integrated gradients from inputs to points."""
        return integrated_gradients(score, inputs, points, self.path_steps).flatten(1).abs().sum(dim=1).mean()

    def terms(self, model: nn.Module, inputs: Tensor, attacked: Tensor, labels: Tensor) -> Tensor:
        """The loss for given attacked inputs."""
        penalty = self.size(_summed_loss(model, labels), inputs, attacked)
        return functional.cross_entropy(model(inputs), labels) + self.weight * penalty


def _summed_loss(model: nn.Module, labels: Tensor) -> Score:
    return lambda points: functional.cross_entropy(model(points), labels, reduction="sum")
