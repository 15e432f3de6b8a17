"""Uniform noise in a ball."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from attribound import checks as check
from attribound.bounds.laws.base import Law
from attribound.bounds.truncation import Truncation
from attribound.checks import FloatArray, Number
from attribound.errors import ArgumentError


@final
@dataclass(frozen=True)
class Ball(Law):
    """Uniform in the l2 *ball* (not on its surface: shifted spheres share no mass)."""

    dim: int
    radius: float
    kind, parameter, radial, levels = "uniform", "radius", True, 1

    @property
    def sigma(self) -> float:  # type: ignore[override]
        """Radius / sqrt(dim + 2)."""
        return self.radius / math.sqrt(self.dim + 2)

    @property
    def words(self) -> str:
        """In words."""
        return f"uniform in a ball of radius {self.radius:g}"

    @classmethod
    def value_of(cls, sigma: float, dim: int) -> float:
        """Sigma sqrt(dim + 2)."""
        return float(check.positive("sigma", sigma)) * math.sqrt(float(check.dimension(dim)) + 2)

    @classmethod
    def moved(cls, ratio: Number, dim: Number | None) -> FloatArray:
        """I_y(1/2, (d + 1)/2), y = (ratio / 2)^2; 1 once the balls no longer meet."""
        # The complementary form 1 - I_{1-y} cancels to 0 for small values.
        half = np.minimum(np.asarray(ratio, np.float64) / 2, 1.0)
        return np.asarray(special.betainc(0.5, (check.dimension(_given("dim", dim)) + 1) / 2, half**2))

    @classmethod
    def ratio_at(cls, moved: Number, dim: Number | None) -> FloatArray:
        """The inverse of `moved`."""
        shape = (check.dimension(_given("dim", dim)) + 1) / 2
        return np.asarray(2 * np.sqrt(special.betaincinv(0.5, shape, check.fraction("moved", moved))))

    def truncate(self, epsilon: FloatArray, level: FloatArray) -> Truncation:
        """W is 1 where the balls overlap and 0 elsewhere; none is better for the cosine, so the level is ignored."""
        moved = np.minimum(self.moved_fraction(epsilon) * (1 + 1e-12), 1.0)
        return Truncation(missing=moved, deviation=np.sqrt(moved * (1 - moved)))

    def level_range(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """There is only one."""
        return np.zeros_like(epsilon), np.zeros_like(epsilon)

    @property
    def reach(self) -> float:
        """The balls no longer meet at twice the radius."""
        return 2 * self.radius

    def stretch(self, lengths: FloatArray, uniform: FloatArray) -> FloatArray:
        """Radius * U^(1/d) / length; in float64, for (length)^d magnifies errors."""
        factors: FloatArray = self.radius * uniform ** (1.0 / self.dim) / lengths
        return factors


def _given(name: str, value: Number | None) -> Number:
    if value is None:
        raise ArgumentError(f"expected `{name}` for this noise, got nothing")
    return value
