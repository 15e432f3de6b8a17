"""Consistency, ours: train the certificate itself.

For the Unit field, ||h||^2 = E <g(x + eta1), g(x + eta2)> over two independent draws, with g the normalised input
gradient. So 1 - cos of two draws is an unbiased estimate of 1 - kappa^2, the quantity that a certificate lives on.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional

from attribound.noise import Noise
from attribound.training.attributions import angle_loss
from attribound.training.base import Objective


@final
@dataclass(frozen=True)
class Consistency(Objective):
    """Cross-entropy under noise + beta (1 - cos(g(x + eta1), g(x + eta2))), g the gradient of the true logit."""

    noise: Noise
    beta: float = 1.0

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """Both terms from the same two noisy copies: one forward pass each."""
        first, second = (_draw(self.noise, model, inputs, labels, generator) for _ in range(2))
        return (first[0] + second[0]) / 2 + self.beta * angle_loss(first[1], second[1])


@final
@dataclass(frozen=True)
class OneSided(Objective):
    """Consistency at two thirds of the cost: the second gradient is held fixed.

    Both draws have the same law, so the slope of the mean angle is twice the mean slope in the first draw alone: the
    same training on average, from noisier steps. Second derivatives, the expensive part, are needed for one copy only.
    """

    noise: Noise
    beta: float = 1.0

    def loss(self, model: nn.Module, inputs: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        """The value of Consistency for these draws' first entropy, with the slope in the first draw counted twice."""
        entropy, gradient = _draw(self.noise, model, inputs, labels, generator)
        _, other = _draw(self.noise, model, inputs, labels, generator, graph=False)
        angle = angle_loss(gradient, other)
        return entropy + self.beta * (2 * angle - angle.detach())


def _draw(
    noise: Noise,
    model: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    generator: torch.Generator,
    graph: bool = True,
) -> tuple[Tensor, Tensor]:
    """Cross-entropy and input gradient of one noisy copy."""
    points = noise.onto(inputs, generator).requires_grad_(True)
    logits = model(points)
    chosen = logits.gather(1, labels[:, None]).sum()
    gradient = torch.autograd.grad(chosen, points, create_graph=graph)[0]
    return functional.cross_entropy(logits, labels), gradient
