"""Attributions of a batch with its own labels, differentiable with respect to the weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Score = Callable[[Tensor], Tensor]


def true_logit(model: nn.Module, labels: Tensor) -> Score:
    """Sum over the batch of each input's true logit."""
    return lambda points: model(points).gather(1, labels[:, None]).sum()


def summed_entropy(model: nn.Module, labels: Tensor) -> Score:
    """Sum over the batch of each input's cross-entropy."""
    return lambda points: nn.functional.cross_entropy(model(points), labels, reduction="sum")


def input_gradient(score: Score, points: Tensor, *, graph: bool = True) -> Tensor:
    """Gradient of a summed score, with graph unless told otherwise."""
    points = points if points.requires_grad else points.detach().requires_grad_(True)
    return torch.autograd.grad(score(points), points, create_graph=graph)[0]


def integrated_gradients(score: Score, start: Tensor, end: Tensor, steps: int, *, graph: bool = True) -> Tensor:
    """(end - start) * mean gradient along the straight path, midpoint rule, with graph unless told otherwise."""
    total = torch.zeros_like(end)
    for step in range(steps):
        total = total + input_gradient(score, start + (step + 0.5) / steps * (end - start), graph=graph)
    return (end - start) * total / steps


def angle_loss(first: Tensor, second: Tensor) -> Tensor:
    """Mean of 1 - cos over the batch."""
    return 1 - nn.functional.cosine_similarity(first.flatten(1), second.flatten(1), dim=1).mean()
