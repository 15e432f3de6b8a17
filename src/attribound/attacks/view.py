"""What an attacker sees: the map of a field at a point, plain or smoothed, and the slope of any loss of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.fields.base import Field
from attribound.noise import Noise

Loss = Callable[[Tensor], Tensor]

_GRAPH_NUMBERS = 2**21
"""Input numbers whose second-order graph is kept at once; more draws are split and cost one pass more."""


@final
@dataclass(frozen=True)
class View:
    """The map of `field` for `target`: at a point itself (noise None), or averaged over `samples` draws."""

    field: Field
    target: int
    noise: Noise | None
    samples: int

    def map(self, point: Tensor, generator: torch.Generator) -> Tensor:
        """(m,) the flat map at a point, float64."""
        return self._mean(point, generator, create_graph=False).detach()

    def draws(self, point: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(n, m) maps and (n, d) the noise behind each, every noise with both signs."""
        maps: list[Tensor] = []
        shifts: list[Tensor] = []
        for part in self._parts(point.detach(), generator):
            shift = part - point.detach()
            for signed in (shift, -shift):
                values = self.field.attribute(point.detach() + signed, self.target, generator=generator)
                maps.append(values.detach().flatten(1).double())
                shifts.append(signed.flatten(1))
        return torch.cat(maps), torch.cat(shifts)

    def slope(self, point: Tensor, loss: Loss, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The map at a point and the gradient of loss(map) with respect to the point, by double backpropagation."""
        if self.rows * point.numel() * self.field.cost <= _GRAPH_NUMBERS:
            variable = point.detach().requires_grad_(True)
            values = self._mean(variable, generator, create_graph=True)
            return values.detach(), torch.autograd.grad(loss(values), variable)[0]
        return self._slope_in_parts(point, loss, generator)

    def _slope_in_parts(self, point: Tensor, loss: Loss, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Bounded memory: first the map, then the same draws again, part by part, against the loss's own gradient."""
        state = generator.get_state()
        values = self.map(point, generator).requires_grad_(True)
        weight = torch.autograd.grad(loss(values), values)[0]
        generator.set_state(state)
        total = torch.zeros_like(point)
        for part in self._parts(point.detach(), generator):
            points = part.detach().requires_grad_(True)
            maps = self.field.attribute(points, self.target, generator=generator, create_graph=True)
            score = (maps.flatten(1).double() @ weight).sum() / self.rows
            total += torch.autograd.grad(score, points)[0].sum(dim=0)
        return values.detach(), total

    def _mean(self, point: Tensor, generator: torch.Generator, *, create_graph: bool) -> Tensor:
        total: Tensor | float = 0.0
        for part in self._parts(point, generator):
            maps = self.field.attribute(part, self.target, generator=generator, create_graph=create_graph)
            total = total + maps.flatten(1).double().sum(dim=0)
        assert isinstance(total, Tensor)
        return total / self.rows

    @property
    def rows(self) -> int:
        """Points averaged for one map: whole blocks of a field with a random path."""
        block = self.field.block
        return block * max((1 if self.noise is None else self.samples) // block, 1)

    def _parts(self, point: Tensor, generator: torch.Generator) -> Iterator[Tensor]:
        """The noisy copies of the point, in batches whose second-order graph fits in memory."""
        block = self.field.block
        size = max(_GRAPH_NUMBERS // (point.numel() * self.field.cost) // block, 1) * block
        for start in range(0, self.rows, size):
            count = min(size, self.rows - start)
            if self.noise is None:
                yield point.expand(count, *point.shape)
            else:
                yield self.noise.copies(point, count, generator)
