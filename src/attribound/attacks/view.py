"""What an attacker sees: the map of a family at its origin, plain or smoothed, and the slope of any loss of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.fields.families import Family
from attribound.noise import Noise

Loss = Callable[[Tensor], Tensor]

_GRAPH_NUMBERS = 2**21
"""Input numbers whose second-order graph is kept at once; more draws are split and cost one pass more."""


@final
@dataclass(frozen=True)
class View:
    """The map at a family's origin: plain (noise None), or averaged over `samples` draws."""

    family: Family
    noise: Noise | None
    samples: int

    def map(self, generator: torch.Generator) -> Tensor:
        """(m,) the flat map, float64."""
        return self._mean(self.family.origin, generator, create_graph=False).detach()

    def draws(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(n, m) maps and (n, d) the noise behind each, every noise with both signs."""
        maps: list[Tensor] = []
        shifts: list[Tensor] = []
        for part in self._parts(self.family.origin, generator):
            for signed in (part, -part):
                values = self.family.explain(signed, generator=generator).maps
                maps.append(values.detach().flatten(1).double())
                shifts.append(signed.flatten(1))
        return torch.cat(maps), torch.cat(shifts)

    def slope(self, loss: Loss, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The map and the gradient of loss(map) with respect to the change, by double backpropagation."""
        if self.rows * self._numbers <= _GRAPH_NUMBERS:
            variable = self.family.origin.requires_grad_(True)
            values = self._mean(variable, generator, create_graph=True)
            return values.detach(), torch.autograd.grad(loss(values), variable)[0]
        return self._slope_in_parts(loss, generator)

    def _slope_in_parts(self, loss: Loss, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Bounded memory: first the map, then the same draws again, part by part, against the loss's own gradient."""
        state = generator.get_state()
        values = self.map(generator).requires_grad_(True)
        weight = torch.autograd.grad(loss(values), values)[0]
        generator.set_state(state)
        total = self.family.origin
        for part in self._parts(self.family.origin, generator):
            shifts = part.detach().requires_grad_(True)
            maps = self.family.explain(shifts, generator=generator, create_graph=True).maps
            score = (maps.flatten(1).double() @ weight).sum() / self.rows
            total += torch.autograd.grad(score, shifts)[0].sum(dim=0)
        return values.detach(), total

    def _mean(self, t: Tensor, generator: torch.Generator, *, create_graph: bool) -> Tensor:
        total: Tensor | float = 0.0
        for part in self._parts(t, generator):
            maps = self.family.explain(part, generator=generator, create_graph=create_graph).maps
            total = total + maps.flatten(1).double().sum(dim=0)
        assert isinstance(total, Tensor)
        return total / self.rows

    @property
    def rows(self) -> int:
        """Changes averaged for one map: whole blocks of a field with a random path."""
        block = self.family.field.block
        return block * max((1 if self.noise is None else self.samples) // block, 1)

    @property
    def _numbers(self) -> int:
        return self.family.x.numel() * self.family.field.cost

    def _parts(self, t: Tensor, generator: torch.Generator) -> Iterator[Tensor]:
        """The change with noise on it, in batches whose second-order graph fits in memory."""
        block = self.family.field.block
        size = max(_GRAPH_NUMBERS // self._numbers // block, 1) * block
        for start in range(0, self.rows, size):
            count = min(size, self.rows - start)
            if self.noise is None:
                yield t.expand(count, *t.shape)
            else:
                yield t + self.family.noise(self.noise, count, generator)
