"""The floor: random directions, full length. An attack that does not beat this finds nothing."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.attacks.base import Attack, Problem
from attribound.attacks.view import View


@final
@dataclass(frozen=True)
class RandomDirections(Attack):
    """A fresh random direction at every iteration."""

    name = "random"
    smooth = False

    def prepare(self, problem: Problem) -> None:
        """Anything can be attacked this way."""

    def climb(self, problem: Problem, view: View, delta: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Look at this change and go on to an unrelated one on the sphere."""
        direction = problem.start(generator)
        return view.map(generator), direction * problem.epsilon
