"""The direct attack: make the cosine itself as small as possible."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.attacks.base import Attack, Problem, require_gradients
from attribound.attacks.view import View

_TURN = 0.3
"""How much of a change's direction is replaced by its slope at every iteration."""


@final
@dataclass(frozen=True)
class Direct(Attack):
    """Maximise 1 - cos(map, reference) by double backpropagation, at full length throughout: no `step_size`."""

    name = "direct"

    def prepare(self, problem: Problem) -> None:
        """The field must be differentiable."""
        require_gradients(problem)

    def climb(self, problem: Problem, view: View, delta: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Along the gradient of the cosine distance."""
        values, slope = view.slope(lambda values: 1 - differentiable_cosine(values, problem.reference), generator)
        return values, self.turn(problem, delta, problem.pulled(slope), _TURN)


def differentiable_cosine(values: Tensor, reference: Tensor) -> Tensor:
    """Cosine with a gradient that stays finite at zero."""
    cosine: Tensor = values @ reference / (values.norm() * reference.norm()).clamp(min=1e-300)
    return cosine
