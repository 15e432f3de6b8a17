"""Laws of noise that can draw: what people pass to `certify`. The mathematics is in `bounds.laws`.

A noise has no dimension of its own: `noise.law(dim)` is the law on inputs of that size.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import torch
from torch import Tensor

from attribound import checks as check
from attribound.bounds.laws import Ball, Law, Normal, split_spec
from attribound.checks import Number
from attribound.errors import ArgumentError


class Noise(ABC):
    """Noise that is added to the input, in the units of the input."""

    @abstractmethod
    def law(self, dim: int) -> Law:
        """The law on inputs of `dim` features."""

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
        law = self.law(like.numel())
        dtype = working_dtype(like.dtype)
        draws = torch.randn(count, *like.shape, generator=generator, dtype=dtype, device=like.device)
        # Units may lie beyond float32 where noise in those units does not.
        flat = draws.view(count, -1) if law.units is None else draws.view(count, -1).double()
        if law.radial:
            uniform = torch.rand(count, generator=generator, dtype=torch.float64, device=like.device)
            lengths = torch.linalg.vector_norm(flat, dim=1, dtype=torch.float64)
            factors = torch.from_numpy(law.stretch(lengths.cpu().numpy(), uniform.cpu().numpy()))
            flat.mul_(factors.to(flat)[:, None])
        else:
            flat.mul_(law.scale)
        if law.units is not None:
            flat.mul_(torch.tensor(law.units, dtype=torch.float64, device=like.device))
        return flat.to(dtype).view_as(draws)

    @final
    def copies(self, x: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """(count, *x.shape) noisy copies of one input, in its own precision; differentiable in x."""
        _check_precision(self.law(x.numel()), x)
        return (x.to(working_dtype(x.dtype)) + self.draw(count, x, generator)).to(x.dtype)

    @final
    def onto(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """(B, ...) every row of a batch with noise of its own."""
        _check_precision(self.law(inputs[0].numel()), inputs.abs().amax(dim=0))
        return (inputs.to(working_dtype(inputs.dtype)) + self.draw(len(inputs), inputs[0], generator)).to(inputs.dtype)


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
        return cls(Ball.scale_of(sigma, dim))

    def law(self, dim: int) -> Law:
        """The ball in that dimension."""
        return Ball(dim, float(self.radius))


@final
@dataclass(frozen=True)
class Gaussian(Noise):
    """Independent normal noise of standard deviation `sigma` on every feature.

    Attributes:
        sigma: standard deviation.
        scale: units per feature, one number for each: feature i gets deviation sigma * scale[i], and epsilon counts
            these units over all features together. None: the same unit for all.
    """

    sigma: float
    scale: Number | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if check.positive("sigma", self.sigma).ndim:
            raise ArgumentError("expected one `sigma`; units per feature are Gaussian(sigma=1.0, scale=[...])")
        if self.scale is not None:
            check.positive("scale", self.scale)

    def law(self, dim: int) -> Law:
        """The normal law in that dimension."""
        units = None if self.scale is None else tuple(check.positive("scale", self.scale).ravel().tolist())
        return Normal(dim, float(self.sigma), units)


@final
@dataclass(frozen=True)
class NoiseOf(Noise):
    """The noise of any registered law, with or without units per feature."""

    kind: type[Law]
    scale: float
    units: tuple[float, ...] | None = None

    def law(self, dim: int) -> Law:
        """That law in that dimension."""
        return self.kind(dim, self.scale, self.units)


_NAMED: dict[type[Law], Callable[[float, tuple[float, ...] | None], Noise]] = {
    Ball: lambda scale, units: UniformBall(scale) if units is None else NoiseOf(Ball, scale, units),
    Normal: Gaussian,
}
"""Laws whose noise has a name of its own in Python."""


def parse_noise(spec: str, units: tuple[float, ...] | None = None) -> Noise:
    """The noise of `uniform:R`, `gaussian:S` or any other law's `kind:scale`."""
    kind, scale = split_spec(spec)
    return _NAMED[kind](scale, units) if kind in _NAMED else NoiseOf(kind, scale, units)


def units_of(scale: Tensor | None) -> tuple[float, ...] | None:
    """Units per feature as laws keep them, from those that data have learnt."""
    return None if scale is None else tuple(scale.double().flatten().tolist())


def noise_of(law: Law) -> Noise:
    """The noise of a law."""
    return NoiseOf(type(law), law.scale, law.units)


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """The precision in which noise is drawn and added: float64 inputs keep theirs, all others use float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


_FARTHEST = 40.0
"""Deviations that no draw exceeds: beyond, the normal density is below the smallest float64."""


def _check_precision(law: Law, x: Tensor) -> None:
    """Raise where the precision of x cannot hold the noise: it would not be the law's (docs/theory/README.md)."""
    kind, name = torch.finfo(x.dtype), str(x.dtype).removeprefix("torch.")
    sizes = x.detach().flatten().abs().double()
    units = torch.ones(1, dtype=torch.float64) if law.units is None else torch.tensor(law.units, dtype=torch.float64)
    deviations = (units * law.sigma).to(x.device).expand_as(sizes)
    spacing = (sizes * kind.eps).clamp(min=kind.tiny)
    lost, beyond = deviations < spacing, sizes + _FARTHEST * deviations > kind.max
    if not bool((lost | beyond).any()):
        return
    worst = int((lost | beyond).nonzero()[0])
    what = f"a deviation of {float(deviations[worst]):.3g} at the value {float(x.detach().flatten()[worst]):.6g}"
    why = f"is less than {name} resolves ({float(spacing[worst]):.3g})" if lost[worst] else f"leaves {name}"
    raise ArgumentError(f"expected noise that {name} can hold: {what} {why}; use float64 inputs or other units")
