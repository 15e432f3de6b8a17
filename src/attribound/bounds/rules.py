"""All certificates that one set of numbers supports, and the best of them.

`Evidence` is everything a certificate rests on. It holds no draws and no model, so a stored certificate is checked
by rebuilding its Evidence and asking again.
"""

from dataclasses import dataclass
from typing import Literal

from attribound.bounds import covariance, curvature, overlap
from attribound.bounds.cosine import VACUOUS, cosine_bound
from attribound.errors import ArgumentError

_ROUNDING = 1e-12
"""Rounded outwards by this, far more than float64 loses: moved fractions and displacements up, cosines down."""

NoiseKind = Literal["uniform", "gaussian"]


@dataclass(frozen=True)
class Evidence:
    """What is known about one smoothed attribution, all of it at once with probability at least 1 - alpha.

    Attributes:
        dim: number of input features.
        noise_kind: "uniform" (ball of radius `scale`) or "gaussian" (standard deviation `scale`).
        scale: radius or sigma.
        limit: upper bound on the field's norm.
        norm_lower: lower bound on the smoothed attribution's norm.
        eigenvalue_upper: upper bound on the largest eigenvalue of the covariance of the field under the noise.
        probability_gradient: the field is the plain, true gradient of a locally Lipschitz output in [0, 1].
    """

    dim: int
    noise_kind: NoiseKind
    scale: float
    limit: float
    norm_lower: float
    eigenvalue_upper: float
    probability_gradient: bool = False

    def __post_init__(self) -> None:
        if self.noise_kind not in ("uniform", "gaussian"):
            raise ArgumentError(f"expected `noise_kind` 'uniform' or 'gaussian', got {self.noise_kind!r}")

    def moved_fraction(self, epsilon: float) -> float:
        """Fraction of the noise moved by a shift of length epsilon, rounded up."""
        law = {"dim": self.dim, "radius": self.scale} if self.noise_kind == "uniform" else {"sigma": self.scale}
        return min(float(overlap.moved_fraction(epsilon, **law)) * (1 + _ROUNDING), 1.0)

    @property
    def eigenvalue(self) -> float:
        """The eigenvalue bound, never above limit^2 - norm^2 (rounded up), which bounds the whole trace.

        Nor so small that it would rest on the last digits of the norm: a field is never taken for exactly constant.
        """
        trace = self.limit**2 * (1 + _ROUNDING) - self.norm_lower**2 * (1 - _ROUNDING)
        return max(min(self.eigenvalue_upper, trace), _ROUNDING * self.limit**2)

    def cosines(self, epsilon: float) -> dict[str, float]:
        """The cosine certified by each applicable rule, by its name."""
        bounds = {
            "tight": cosine_bound(self.norm_lower, self.limit, self.moved_fraction(epsilon)),
            "covariance": covariance.cosine_bound_covariance(
                self.norm_lower, self.limit, self.eigenvalue, **self._shift(epsilon)
            ),
        }
        if self.probability_gradient and self.noise_kind == "gaussian":
            bounds["curvature"] = curvature.cosine_bound_curvature(
                self.norm_lower, epsilon=epsilon * (1 + _ROUNDING), sigma=self.scale
            )
        return bounds

    def best(self, epsilon: float) -> tuple[float, str | None]:
        """The largest certified cosine and the rule that gives it; (-1.0, None) if no rule says anything."""
        bounds = self.cosines(epsilon)
        rule = max(bounds, key=lambda name: bounds[name])
        return (max(bounds[rule] - _ROUNDING, 0.0), rule) if bounds[rule] > VACUOUS else (VACUOUS, None)

    def displacement(self, epsilon: float, norm_upper: float) -> float:
        """How far the map itself can move: ||h(x + delta) - h(x)|| for every ||delta|| <= epsilon."""
        radii = [
            2 * self.moved_fraction(epsilon) * self.limit,
            covariance.displacement_covariance(
                min(norm_upper, self.limit), self.limit, self.eigenvalue, **self._shift(epsilon)
            ),
        ]
        if self.probability_gradient and self.noise_kind == "gaussian":
            radii.append(curvature.displacement_curvature(epsilon, self.scale))
        return min(radii) * (1 + _ROUNDING)

    def max_epsilon(self, cosine: float) -> float:
        """The largest epsilon whose certified cosine is at least `cosine`; 0.0 if there is none.

        Found by bisection on `best`, so `best(max_epsilon(T))[0] >= T` wherever the answer is above 0.
        """
        if not 0.0 <= cosine <= 1.0:
            raise ArgumentError(f"expected `cosine` in [0, 1], got {cosine:g}")
        high = self.scale * (2.0 if self.noise_kind == "uniform" else 10.0)
        low = 0.0
        if self.norm_lower <= 0:
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.best(middle)[0] >= cosine else (low, middle)
            if high - low <= 1e-12 * self.scale:
                break
        return low

    def _shift(self, epsilon: float) -> dict[str, float]:
        if self.noise_kind == "uniform":
            return {"moved_fraction": self.moved_fraction(epsilon)}
        return {"epsilon": epsilon, "sigma": self.scale}
