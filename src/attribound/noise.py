"""The noise laws: draw from an explicit generator, in the units of the input."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from attribound.bounds import arguments as check
from attribound.bounds.rules import NoiseKind
from attribound.errors import ArgumentError


class Noise(ABC):
    """A law of noise that is added to the input."""

    kind: NoiseKind

    @property
    @abstractmethod
    def scale(self) -> float:
        """The one parameter of the law: the ball's radius or the Gaussian's sigma."""

    @abstractmethod
    def sigma_per_feature(self, dim: int) -> float:
        """Standard deviation of one feature: what makes two laws comparable."""

    @abstractmethod
    def radius_of(self, dim: int) -> float:
        """Radius of the uniform ball with the same energy."""

    @abstractmethod
    def draw(self, count: int, like: Tensor, generator: torch.Generator) -> Tensor:
        """`count` independent draws.

        Args:
            count: number of draws.
            like: one input; its shape and device are used. Half precision draws in float32.
            generator: the only source of randomness, on the device of `like`.

        Returns:
            (count, *like.shape), float64 if the input is float64, else float32.
        """


@final
@dataclass(frozen=True)
class UniformBall(Noise):
    """Uniform in the l2 *ball* of the given radius (not on its surface: shifted spheres share no mass)."""

    radius: float
    kind = "uniform"

    def __post_init__(self) -> None:
        check.positive("radius", self.radius)

    @classmethod
    def from_sigma(cls, sigma: float, dim: int) -> "UniformBall":
        """The ball whose features have standard deviation sigma: radius = sigma sqrt(dim + 2)."""
        return cls(float(check.positive("sigma", sigma)) * math.sqrt(float(check.dimension(dim)) + 2))

    @property
    def scale(self) -> float:
        """The radius."""
        return self.radius

    def sigma_per_feature(self, dim: int) -> float:
        """Radius / sqrt(dim + 2)."""
        return self.radius / math.sqrt(dim + 2)

    def radius_of(self, dim: int) -> float:
        """The radius itself."""
        return self.radius

    def draw(self, count: int, like: Tensor, generator: torch.Generator) -> Tensor:
        """A normal direction times radius * U^(1/d); lengths in float64, for (length)^d magnifies their error."""
        direction = _normal(count, like, generator)
        flat = direction.view(count, -1)
        uniform = torch.rand(count, generator=generator, dtype=torch.float64, device=like.device)
        length = torch.linalg.vector_norm(flat, dim=1, dtype=torch.float64)
        factor = self.radius * uniform ** (1.0 / flat.shape[1]) / length
        flat.mul_(factor.to(flat.dtype)[:, None])
        return direction


@final
@dataclass(frozen=True)
class Gaussian(Noise):
    """Independent normal noise of standard deviation sigma on every feature."""

    sigma: float
    kind = "gaussian"

    def __post_init__(self) -> None:
        check.positive("sigma", self.sigma)

    @property
    def scale(self) -> float:
        """Sigma."""
        return self.sigma

    def sigma_per_feature(self, dim: int) -> float:
        """Sigma itself."""
        return self.sigma

    def radius_of(self, dim: int) -> float:
        """Sigma sqrt(dim + 2)."""
        return self.sigma * math.sqrt(dim + 2)

    def draw(self, count: int, like: Tensor, generator: torch.Generator) -> Tensor:
        """Normal draws times sigma."""
        return _normal(count, like, generator).mul_(self.sigma)


def make_noise(kind: str, scale: float) -> Noise:
    """The noise law of that kind ("uniform" or "gaussian") with that radius or sigma."""
    if kind == "uniform":
        return UniformBall(scale)
    if kind == "gaussian":
        return Gaussian(scale)
    raise ArgumentError(f"expected noise 'uniform' or 'gaussian', got {kind!r}")


def parse_noise(spec: str) -> Noise:
    """The law of "uniform:R" or "gaussian:S"."""
    kind, _, number = spec.partition(":")
    try:
        return make_noise(kind, float(number))
    except ValueError:
        raise ArgumentError(f"expected a noise, uniform:R or gaussian:S with a positive number, got {spec!r}") from None


def working_dtype(dtype: torch.dtype) -> torch.dtype:
    """The precision in which noise is drawn and added: float64 inputs keep theirs, all others use float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _normal(count: int, like: Tensor, generator: torch.Generator) -> Tensor:
    dtype = working_dtype(like.dtype)
    return torch.randn(count, *like.shape, generator=generator, dtype=dtype, device=like.device)
