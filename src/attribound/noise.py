"""Laws of noise that can draw: what people pass to `certify`. The mathematics is in `bounds.laws`.

A noise has no dimension of its own: `noise.law(size)` is the law on inputs of that size, in unit coordinates, and
`noise.budget` holds the units.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import final

import torch
from torch import Tensor

from attribound import checks as check
from attribound.bounds.budgets import PLAIN, Budget
from attribound.bounds.laws import Ball, Law, Normal, split_spec
from attribound.checks import Number
from attribound.errors import ArgumentError

_FARTHEST = 40.0
"""Deviations that no draw exceeds: beyond, the normal density is below the smallest float64."""


class Noise(ABC):
    """Noise on the parameters of a change, in their units."""

    @property
    @abstractmethod
    def budget(self) -> Budget:
        """The units, and so what epsilon counts."""

    @abstractmethod
    def law(self, size: int) -> Law:
        """The law on `size` parameters, in the dimension of those that move."""

    @final
    def draw(self, count: int, like: Tensor, generator: torch.Generator) -> Tensor:
        """`count` independent draws.

        Args:
            count: number of draws.
            like: one input; its shape and device are used. Half precision draws in float32.
            generator: the only source of randomness, on the device of `like`.

        Returns:
            (count, *like.shape), float64 if the input is float64, else float32.
        """
        law, units = self.law(like.numel()), self._units(like.device)
        draws = torch.randn(
            count, *like.shape, generator=generator, dtype=working_dtype(like.dtype), device=like.device
        )
        # Units may lie beyond float32 where noise in those units does not.
        flat = draws.view(count, -1) if units is None else draws.view(count, -1).double() * (units > 0)
        if law.radial:
            uniform = torch.rand(count, generator=generator, dtype=torch.float64, device=like.device)
            lengths = torch.linalg.vector_norm(flat, dim=1, dtype=torch.float64)
            factors = torch.from_numpy(law.stretch(lengths.cpu().numpy(), uniform.cpu().numpy()))
            flat.mul_(factors.to(flat)[:, None])
        else:
            flat.mul_(law.value)
        return draws if units is None else flat.mul_(units).to(draws.dtype).view_as(draws)

    def _units(self, device: torch.device) -> Tensor | None:
        return None if self.budget.units is None else torch.from_numpy(self.budget.factors).to(device)

    @final
    def onto(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """(B, ...) every row of a batch with noise of its own."""
        self.check_precision(inputs.abs().amax(dim=0))
        return (inputs.to(working_dtype(inputs.dtype)) + self.draw(len(inputs), inputs[0], generator)).to(inputs.dtype)

    @final
    def check_precision(self, x: Tensor) -> None:
        """Raise where the precision of x cannot hold the noise: it would not be the law's (docs/theory/README.md)."""
        kind, name = torch.finfo(x.dtype), str(x.dtype).removeprefix("torch.")
        sizes, units = x.detach().flatten().abs().double(), self._units(x.device)
        sigma = self.law(x.numel()).sigma  # first, for it knows how many units there must be
        counted = (sizes.new_ones(1) if units is None else units).expand_as(sizes)
        deviations = counted * sigma
        spacing = (sizes * kind.eps).clamp(min=kind.tiny)
        lost = (deviations < spacing) & (counted > 0)
        beyond = sizes + _FARTHEST * deviations > kind.max
        if not bool((lost | beyond).any()):
            return
        worst = int((lost | beyond).nonzero()[0])
        what = f"a deviation of {float(deviations[worst]):.3g} at the value {float(x.detach().flatten()[worst]):.6g}"
        why = f"is less than {name} resolves ({float(spacing[worst]):.3g})" if lost[worst] else f"leaves {name}"
        raise ArgumentError(f"expected noise that {name} can hold: {what} {why}; use float64 inputs or other units")


@final
@dataclass(frozen=True)
class UniformBall(Noise):
    """Uniform in the l2 *ball* of the given radius (not on its surface: shifted spheres share no mass)."""

    radius: float

    def __post_init__(self) -> None:
        check.positive("radius", self.radius)

    @classmethod
    def from_sigma(cls, sigma: float, dim: int) -> "UniformBall":
        """The ball whose features have standard deviation sigma: radius = sigma sqrt(dim + 2)."""
        return cls(Ball.value_of(sigma, dim))

    @property
    def budget(self) -> Budget:
        """The same unit for all."""
        return PLAIN

    def law(self, size: int) -> Law:
        """The ball in that dimension."""
        return _law(Ball, size, float(self.radius))


@final
@dataclass(frozen=True)
class Gaussian(Noise):
    """Independent normal noise of standard deviation `sigma` on every feature.

    Attributes:
        sigma: standard deviation.
        scale: units per feature, one number for each: feature i gets deviation sigma * scale[i], and epsilon counts
            these units over all features together; a feature with unit 0 does not move. None: the same unit for all.
    """

    sigma: float
    scale: Number | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if check.positive("sigma", self.sigma).ndim:
            raise ArgumentError("expected one `sigma`; units per feature are Gaussian(sigma=1.0, scale=[...])")
        if self.scale is not None:
            check.non_negative("scale", self.scale)

    @property
    def budget(self) -> Budget:
        """With the units."""
        return Budget(None if self.scale is None else tuple(check.non_negative("scale", self.scale).ravel().tolist()))

    def law(self, size: int) -> Law:
        """The normal law in the dimension of what moves."""
        return _law(Normal, self.budget.dim(size), float(self.sigma))


@final
@dataclass(frozen=True)
class NoiseOf(Noise):
    """The noise of any registered law, with or without units per feature."""

    kind: type[Law]
    value: float
    units: Budget = PLAIN

    @property
    def budget(self) -> Budget:
        """The units."""
        return self.units

    def law(self, size: int) -> Law:
        """That law in the dimension of what moves."""
        return _law(self.kind, self.units.dim(size), self.value)


@lru_cache(maxsize=64, typed=True)
def _law(kind: type[Law], dim: int, value: float) -> Law:
    """Made and checked once: every chunk of draws asks for it."""
    return kind(dim, value)


_NAMED: dict[type[Law], Callable[[float], Noise]] = {type(make(1.0).law(2)): make for make in (UniformBall, Gaussian)}
"""Laws whose noise has a name of its own in Python."""


def parse_noise(spec: str, units: tuple[float, ...] | None = None) -> Noise:
    """The noise of `uniform:R`, `gaussian:S` or any other law's `kind:value`."""
    kind, value = split_spec(spec)
    named = _NAMED.get(kind) if units is None else None
    return NoiseOf(kind, value, Budget(units)) if named is None else named(value)


def units_of(scale: Tensor | None) -> tuple[float, ...] | None:
    """Units per feature as budgets keep them, from those that data have learnt."""
    return None if scale is None else tuple(scale.double().flatten().tolist())


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """The precision in which noise is drawn and added: float64 inputs keep theirs, all others use float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32
