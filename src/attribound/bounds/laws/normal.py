"""Normal noise."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import special

from attribound import checks as check
from attribound.bounds.laws.base import INVERTED, Law
from attribound.bounds.truncation import Truncation, truncate_normal
from attribound.checks import FloatArray, Number


@final
@dataclass(frozen=True)
class Normal(Law):
    """Independent normal noise on every feature."""

    dim: int
    sigma: float
    kind, parameter, radial, levels = "gaussian", "sigma", False, 61

    @property
    def radius(self) -> float:  # type: ignore[override]
        """Sigma sqrt(dim + 2)."""
        return self.sigma * math.sqrt(self.dim + 2)

    @property
    def words(self) -> str:
        """In words."""
        return f"Gaussian, standard deviation {self.sigma:g} per feature"

    @classmethod
    def value_of(cls, sigma: float, dim: int) -> float:
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
        return truncate_normal(np.asarray(epsilon) / self.sigma, level)

    def level_range(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Around the shift, on the side where the ratio explodes."""
        shift = np.asarray(epsilon) / self.sigma
        return shift - 6.0, shift + 9.0

    def better_level(self, epsilon: FloatArray, level: FloatArray, cut: Truncation, ratio: FloatArray) -> FloatArray:
        """Newton's step in L* towards the best one, which is E[W] + ratio * deviation: the derivatives there vanish."""
        shift, kept = np.asarray(epsilon) / self.sigma, 1 - cut.missing
        with np.errstate(all="ignore"):  # where nothing better is known, the level stays
            cap = np.exp(shift * level - shift**2 / 2)
            slope = special.ndtr(-level) * (1 + ratio * (cap - kept) / cut.deviation)
            cap -= (cap - kept - ratio * cut.deviation) / (1 - slope)
            better = np.log(cap) / shift + shift / 2
        return np.where(np.isfinite(better), better, level)

    @property
    def reach(self) -> float:
        """No number of draws that anybody takes certifies ten sigma."""
        return 10 * self.sigma

    @property
    def curvature(self) -> float:
        """2 phi(1) / sigma^2: E[f (z^2 - 1)] <= E[(z^2 - 1)_+] = 2 phi(1), phi the normal density."""
        return math.sqrt(2.0 / (math.pi * math.e)) / self.sigma / self.sigma

    def normal_shift(self, epsilon: Number) -> FloatArray:
        """Epsilon / sigma."""
        return np.asarray(check.non_negative("epsilon", epsilon) / self.sigma)

    def majority_radius(self, lower: Number, needed: Number = 0.5) -> FloatArray:
        """Sigma (Phi^-1(lower) - Phi^-1(needed)) (Cohen et al. 2019)."""
        has, wants = special.ndtri(check.fraction("lower", lower)), special.ndtri(check.fraction("needed", needed))
        with np.errstate(invalid="ignore"):
            spare = has - wants - INVERTED * (np.abs(has) + np.abs(wants))
        return np.asarray(self.sigma * np.where(spare > 0, spare, 0.0))

    def kept_probability(self, lower: Number, epsilon: Number) -> FloatArray:
        """Phi(Phi^-1(lower) - epsilon / sigma)."""
        has = special.ndtri(check.fraction("lower", lower))
        shift = check.non_negative("epsilon", epsilon) / self.sigma
        return np.asarray(special.ndtr(has - INVERTED * np.abs(has) - shift) * (1 - 1e-12))
