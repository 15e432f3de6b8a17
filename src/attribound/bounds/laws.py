"""The laws of noise, as values, and the only place that knows which they are."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy import special

from attribound import checks as check
from attribound.bounds.law import INVERTED
from attribound.bounds.law import Law as Law
from attribound.bounds.truncation import Truncation as Truncation
from attribound.bounds.truncation import truncate_normal as truncate_normal
from attribound.checks import FloatArray, Number
from attribound.errors import ArgumentError
from attribound.suggest import closest, closest_noise, did_you_mean


@final
@dataclass(frozen=True)
class Ball(Law):
    """Uniform in the l2 *ball* (not on its surface: shifted spheres share no mass)."""

    kind, parameter, radial, levels = "uniform", "radius", True, 1

    @property
    def sigma(self) -> float:
        """Radius / sqrt(dim + 2)."""
        return self.scale / math.sqrt(self.dim + 2)

    @property
    def words(self) -> str:
        """In words."""
        return f"uniform in a ball of radius {self.scale:g}"

    @classmethod
    def scale_of(cls, sigma: float, dim: int) -> float:
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
        return 2 * self.scale

    def stretch(self, lengths: FloatArray, uniform: FloatArray) -> FloatArray:
        """Radius * U^(1/d) / length; in float64, for (length)^d magnifies errors."""
        factors: FloatArray = self.scale * uniform ** (1.0 / self.dim) / lengths
        return factors


@final
@dataclass(frozen=True)
class Normal(Law):
    """Independent normal noise on every feature."""

    kind, parameter, radial, levels = "gaussian", "sigma", False, 61

    @property
    def sigma(self) -> float:
        """Sigma itself."""
        return self.scale

    @property
    def words(self) -> str:
        """In words."""
        each = "of its unit per feature" if self.units else "per feature"
        return f"Gaussian, standard deviation {self.scale:g} {each}"

    @classmethod
    def scale_of(cls, sigma: float, dim: int) -> float:
        """Sigma itself."""
        return float(check.positive("sigma", sigma))

    @classmethod
    def moved(cls, ratio: Number, dim: Number | None) -> FloatArray:
        """erf(ratio / (2 sqrt 2))."""
        return np.asarray(special.erf(np.asarray(ratio, np.float64) / (2 * np.sqrt(2.0))))

    @classmethod
    def ratio_at(cls, moved: Number, dim: Number | None) -> FloatArray:
        """The inverse of `moved`."""
        return np.asarray(2 * np.sqrt(2.0) * special.erfinv(check.fraction("moved", moved)))

    def truncate(self, epsilon: FloatArray, level: FloatArray) -> Truncation:
        """W = min(L, L*), L = exp(shift z - shift^2 / 2), z normal, L* the value of L at z = level."""
        return truncate_normal(np.asarray(epsilon) / self.scale, level)

    def level_range(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Around the shift, on the side where the ratio explodes."""
        shift = np.asarray(epsilon) / self.scale
        return shift - 6.0, shift + 9.0

    @property
    def reach(self) -> float:
        """No number of draws that anybody takes certifies ten sigma."""
        return 10 * self.scale

    @property
    def curvature(self) -> float:
        """2 phi(1) / sigma^2: E[f (z^2 - 1)] <= E[(z^2 - 1)_+] = 2 phi(1), phi the normal density."""
        return math.sqrt(2.0 / (math.pi * math.e)) / self.scale / self.scale

    def normal_shift(self, epsilon: Number) -> FloatArray:
        """Epsilon / sigma."""
        return np.asarray(check.non_negative("epsilon", epsilon) / self.scale)

    def majority_radius(self, lower: Number, needed: Number = 0.5) -> FloatArray:
        """Sigma (Phi^-1(lower) - Phi^-1(needed)) (Cohen et al. 2019)."""
        has, wants = special.ndtri(check.fraction("lower", lower)), special.ndtri(check.fraction("needed", needed))
        with np.errstate(invalid="ignore"):
            spare = has - wants - INVERTED * (np.abs(has) + np.abs(wants))
        return np.asarray(self.scale * np.where(spare > 0, spare, 0.0))

    def kept_probability(self, lower: Number, epsilon: Number) -> FloatArray:
        """Phi(Phi^-1(lower) - epsilon / sigma)."""
        has = special.ndtri(check.fraction("lower", lower))
        shift = check.non_negative("epsilon", epsilon) / self.scale
        return np.asarray(special.ndtr(has - INVERTED * np.abs(has) - shift) * (1 - 1e-12))


_ALL: tuple[type[Law], ...] = (
    Ball,
    Normal,
)
"""Every law; a new one adds a file and a line here (docs/extend.md)."""

LAWS = {law.kind: law for law in _ALL}
"""Every law by the name that people type."""


def parse_law(spec: str, dim: int, units: tuple[float, ...] | None = None) -> Law:
    """The law of `kind:scale` on inputs of `dim` features."""
    kind, scale = split_spec(spec)
    return kind(dim, scale, units)


def split_spec(spec: str) -> tuple[type[Law], float]:
    """The law's class and parameter in `kind:scale`."""
    kind, _, number = spec.partition(":")
    try:
        return LAWS[kind], float(check.positive("noise", float(number)))
    except (KeyError, ValueError):
        forms = " or ".join(f"{law.kind}:{law.parameter.upper()}" for law in LAWS.values())
        name = "" if kind in LAWS else closest(kind, LAWS)
        meant = did_you_mean(closest_noise(spec) or (f"{name}:{number}" if name and number else name))
        raise ArgumentError(f"expected a noise, {forms} with a positive number, got {spec!r}{meant}") from None


# --- the closed forms by keyword, as a calculator offers them ------------------------------------------------


def moved_fraction(
    epsilon: Number, *, dim: Number | None = None, radius: Number | None = None, sigma: Number | None = None
) -> Any:
    """Fraction of the noise's mass that a shift of l2 length epsilon moves.

    Args:
        epsilon: l2 size of the shift, >= 0; arrays broadcast.
        dim: number of input features; needed for the ball.
        radius: radius of the uniform ball. Give either this or `sigma`.
        sigma: standard deviation of the Gaussian noise.

    Returns:
        p in [0, 1].
    """
    epsilon = check.non_negative("epsilon", epsilon)
    law, scale = law_given(radius=radius, sigma=sigma)
    return check.unwrap(law.moved(epsilon / scale, dim))


def shift_size(
    moved: Number, *, dim: Number | None = None, radius: Number | None = None, sigma: Number | None = None
) -> Any:
    """The shift epsilon that moves the fraction `moved` of the noise: the inverse of `moved_fraction`."""
    law, scale = law_given(radius=radius, sigma=sigma)
    return check.unwrap(scale * law.ratio_at(moved, dim))


def law_given(**parameters: Number | None) -> tuple[type[Law], FloatArray]:
    """The law whose parameter was given, and its value; none or several is an error."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if len(given) != 1:
        names = " and ".join(f"`{law.parameter}` ({law.kind})" for law in LAWS.values())
        raise ArgumentError(f"expected exactly one of {names}")
    (name, value), *_ = given.items()
    return next(law for law in LAWS.values() if law.parameter == name), check.positive(name, value)


def _given(name: str, value: Number | None) -> Number:
    if value is None:
        raise ArgumentError(f"expected `{name}` for this noise, got nothing")
    return value
