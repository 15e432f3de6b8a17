"""Families: the maps of one input as a function of a change's parameters.

Everything that draws or attacks sees a family and parameters t, never an input: t = 0 is the input as it is. Only a
family knows how a change is made.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Literal, Self, final

import torch
from torch import Tensor

from attribound.bounds.budgets import Budget
from attribound.bounds.facts import Fact
from attribound.fields.base import Explanation, Field, forward
from attribound.noise import Noise, working_dtype

_FAR = 3.0

Side = Literal["reversed", "above", "below"]
SIDES: tuple[Side, ...] = ("reversed", "above", "below")
"""Where rows go that are moved away: see `moved`."""


class Family(ABC):
    """Maps of changed inputs.

    Attributes:
        field: the attribution.
        target: the class that is explained.
        x: the input at the origin.
    """

    field: Field
    target: int
    x: Tensor

    @property
    @abstractmethod
    def origin(self) -> Tensor:
        """The parameters of no further change, all zero: their shape, precision and device."""

    @property
    @abstractmethod
    def shift(self) -> Tensor:
        """How far the origin is from where the family began, in parameters, float64."""

    @abstractmethod
    def inputs(self, t: Tensor) -> Tensor:
        """(n, ...) the inputs after n changes; differentiable in t."""

    @abstractmethod
    def at(self, t: Tensor) -> Self:
        """The same family, seen from the input after the change t."""

    @abstractmethod
    def over(self, field: Field) -> Self:
        """The same changes with another field."""

    def explain(
        self, t: Tensor, *, generator: torch.Generator | None = None, create_graph: bool = False, outputs: bool = False
    ) -> Explanation:
        """Maps after n changes, and with `outputs` the model's outputs there, whether or not the method gives them."""
        points = self.inputs(t)
        # A field has a copy, for it may write to its inputs, of which the model is asked after it.
        given = self.field.explain(points.clone(), self.target, generator=generator, create_graph=create_graph)
        return Explanation(given.maps, self.outputs(points, given) if outputs else given.logits)

    @property
    def stated(self) -> tuple[Fact, ...]:
        """What is stated about the field and holds for this family."""
        return self.field.stated

    @property
    def versions(self) -> dict[str, str]:
        """Libraries besides torch that decide what changed inputs are, with their versions."""
        return {}

    def budget(self, noise: Noise) -> Budget:
        """How large a change of the parameters is."""
        return noise.budget

    @final
    def outputs(self, points: Tensor, given: Explanation) -> Tensor:
        """The model's outputs at changed inputs: the method's, or asked for."""
        if given.logits is not None:
            return given.logits
        with torch.no_grad():
            return forward(self.field.model, points)

    def noise(self, noise: Noise, count: int, generator: torch.Generator) -> Tensor:
        """(count, ...) independent noise on the parameters; an error where their precision cannot hold it."""
        return noise.draw(count, self.origin, generator)

    def exchanged(self, shifts: Tensor, kept: Tensor, side: "Side") -> Tensor:
        """The changes of a batch, with all rows but `kept` exchanged for others that are allowed and far away."""
        return moved(shifts, kept, side)

    @final
    def prediction(self) -> int:
        """The model's class at the origin."""
        with torch.no_grad():
            return int(forward(self.field.model, self.inputs(self.origin[None])).argmax(dim=1))


@final
@dataclass(frozen=True)
class Around(Family):
    """Any change of the input's own numbers: x + t.

    Attributes:
        start: the input where the family began; None: x itself.
    """

    field: Field
    target: int
    x: Tensor
    start: Tensor | None = None

    @property
    def origin(self) -> Tensor:
        """Zeros like the input."""
        return torch.zeros_like(self.x)

    @property
    def shift(self) -> Tensor:
        """What was added, as far as the input's precision kept it."""
        moved = self.x.double() - (self.x if self.start is None else self.start).double()
        return moved.nan_to_num(nan=0.0)  # a missing cell stays missing

    def inputs(self, t: Tensor) -> Tensor:
        """X + t, in the input's own precision."""
        return plus(self.x, t)

    def at(self, t: Tensor) -> "Around":
        """Around x + t."""
        return Around(
            self.field, self.target, self.x + t.to(self.x.dtype), self.x if self.start is None else self.start
        )

    def noise(self, noise: Noise, count: int, generator: torch.Generator) -> Tensor:
        """Checked against the precision of x, to which it is added."""
        noise.check_precision(self.x)
        return super().noise(noise, count, generator)

    def over(self, field: Field) -> "Around":
        """The same input."""
        return replace(self, field=field)


def noisy(x: Tensor, noise: Noise, count: int, generator: torch.Generator) -> Tensor:
    """(count, *x.shape) noisy copies of one input, in its own precision."""
    noise.check_precision(x)
    return plus(x, noise.draw(count, x, generator))


def plus(x: Tensor, t: Tensor) -> Tensor:
    """X + t in the precision of x, added in at least float32; differentiable in both."""
    return (x.to(working_dtype(x.dtype)) + t).to(x.dtype)


def moved(shifts: Tensor, kept: Tensor, side: Side) -> Tensor:
    """The changes, with all rows but `kept` moved far away: to three times their size or so.

    "above" and "below" move every number up or down. "reversed" turns the mean of the batch over: it then
    points the other way and is longer by the square root of the rows, about as long as one row's noise. Whatever hangs
    on the side on which the batch's mean lies, in any direction, comes out the other way.
    """
    away = shifts.double()
    if side == "reversed":
        far, rows = -_FAR * away, len(shifts)
        far[kept] = away[kept]
        lacking = -math.sqrt(rows) * away.sum(dim=0) - far.sum(dim=0)
        far += lacking / max(rows - len(kept), 1)
    else:
        far = away.abs() * (_FAR if side == "above" else -_FAR)
    others = far.to(shifts.dtype)
    others[kept] = shifts[kept]
    return others
