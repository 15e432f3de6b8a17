"""Attributions of a batch with its own labels, differentiable with respect to the weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Score = Callable[[Tensor], Tensor]


def true_logit(model: nn.Module, labels: Tensor) -> Score:
    """Sum over the batch of each input's true logit."""
    return lambda points: model(points).gather(1, labels[:, None]).sum()


def input_gradient(score: Score, points: Tensor) -> Tensor:
    """Gradient of a summed score, with graph."""
    points = points if points.requires_grad else points.detach().requires_grad_(True)
    return torch.autograd.grad(score(points), points, create_graph=True)[0]


def integrated_gradients(score: Score, start: Tensor, end: Tensor, steps: int) -> Tensor:
    """(end - start) * mean gradient along the straight path, midpoint rule, with graph."""
    total = torch.zeros_like(end)
    for step in range(steps):
        total = total + input_gradient(score, start + (step + 0.5) / steps * (end - start))
    return (end - start) * total / steps


def angle_loss(first: Tensor, second: Tensor) -> Tensor:
    """Mean of 1 - cos over the batch."""
    return 1 - nn.functional.cosine_similarity(first.flatten(1), second.flatten(1), dim=1).mean()
