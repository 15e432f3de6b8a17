"""An attack without second derivatives: the smoothed map's slope comes from the noise itself.

For Gaussian noise the derivative of h(x) = E[g(x + eta)] is E[g eta^T] / sigma^2, so the slope of <v, h> is
E[<v, g> eta] / sigma^2: draws of the map, weighted by their noise. It works where second derivatives vanish (ReLU) or
do not exist (Captum methods). For the ball, whose shell holds almost all of its mass, the same product points the
right way.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.attacks.base import Attack, Problem
from attribound.attacks.direct import differentiable_cosine
from attribound.attacks.view import View
from attribound.errors import UnfitError

_TURN = 0.1
"""Slopes read off the noise are noisy: the change remembers about ten of them."""


@final
@dataclass(frozen=True)
class Likelihood(Attack):
    """Maximise 1 - cos(map, reference) along the likelihood-ratio estimate of its slope; no `step_size`."""

    name = "likelihood"
    smooth = False

    def prepare(self, problem: Problem) -> None:
        """Only smoothed maps have noise to learn from."""
        if problem.noise is None:
            raise UnfitError("expected `noise` for the likelihood attack: it reads the slope off the noise")

    def climb(self, problem: Problem, view: View, delta: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Along draws of the map, projected on the loss's gradient and weighted by their noise."""
        maps, shifts = view.draws(generator)
        mean = maps.mean(dim=0).requires_grad_(True)
        weight = torch.autograd.grad(1 - differentiable_cosine(mean, problem.reference), mean)[0]
        # Centred, because subtracting a constant changes nothing in expectation and much in variance.
        gains = (maps - mean.detach()) @ weight
        direction = problem.in_units((gains[:, None] * shifts.double()).mean(dim=0).view(delta.shape))
        return mean.detach(), self.turn(problem, delta, direction.to(delta), _TURN)
