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
        entropies, gradients = [], []
        for _ in range(2):
            points = self.noise.onto(inputs, generator).requires_grad_(True)
            logits = model(points)
            entropies.append(functional.cross_entropy(logits, labels))
            chosen = logits.gather(1, labels[:, None]).sum()
            gradients.append(torch.autograd.grad(chosen, points, create_graph=True)[0])
        return (entropies[0] + entropies[1]) / 2 + self.beta * angle_loss(*gradients)
