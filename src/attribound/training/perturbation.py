"""The inner maximisation of adversarial objectives: projected gradient ascent in the l2 ball, per image."""

from collections.abc import Callable

import torch
from torch import Tensor


def worst_in_ball(
    inputs: Tensor,
    damage: Callable[[Tensor], Tensor],
    *,
    epsilon: float,
    steps: int,
    step_size: float,
    generator: torch.Generator,
) -> Tensor:
    """Inputs moved within l2 distance epsilon so as to raise `damage`, a sum over rows that ignore each other.

    Starts at a random point of the ball; every step has length `step_size` per image. The result carries no graph.
    """
    start = torch.randn(inputs.shape, generator=generator, dtype=inputs.dtype, device=inputs.device)
    delta = _scaled(start, epsilon * 0.5)
    for _ in range(steps):
        delta.requires_grad_(True)
        slope = torch.autograd.grad(damage(inputs + delta), delta)[0]
        delta = _projected(delta.detach() + _scaled(slope, step_size), epsilon)
    return (inputs + delta).detach()


def _norms(values: Tensor) -> Tensor:
    norms: Tensor = values.flatten(1).norm(dim=1).clamp(min=1e-12).view(-1, *[1] * (values.ndim - 1))
    return norms


def _scaled(values: Tensor, length: float) -> Tensor:
    return values * (length / _norms(values))


def _projected(values: Tensor, epsilon: float) -> Tensor:
    return values * (epsilon / _norms(values)).clamp(max=1.0)
