"""Truncated likelihood ratios: what the covariance rule asks of a law."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from attribound.checks import FloatArray

ROUNDING = 1e-15
"""Absolute error of normal integrals and differences of probabilities, added where it makes a bound smaller."""


@dataclass(frozen=True)
class Truncation:
    """What a truncated likelihood ratio W (0 <= W <= L) leaves out and how much it varies.

    Attributes:
        missing: 1 - E[W], the shifted noise's mass above the truncation.
        deviation: standard deviation of W under the unshifted noise.
    """

    missing: FloatArray
    deviation: FloatArray


def truncate_normal(shift: FloatArray, level: FloatArray) -> Truncation:
    """The likelihood ratio exp(shift z - shift^2 / 2) of normal noise, capped at its value at z = level."""
    with np.errstate(over="ignore", invalid="ignore"):
        cap, second = np.exp(shift * level - shift**2 / 2), np.exp(shift**2)
        beyond, shifted = special.ndtr(-level), special.ndtr(shift - level)
        missing = shifted - cap * beyond
        # E[(W - 1)^2]: the full second moment of L - 1 less its part above the level, which W replaces by the cap.
        above = second * special.ndtr(2 * shift - level) - 2 * shifted + beyond
        square = np.expm1(shift**2) - above + (cap - 1) ** 2 * beyond
        bounded = np.minimum(np.maximum(missing + ROUNDING, 0.0), 1.0)
        missing = np.where(np.isnan(missing), 1.0, bounded)  # overflow says nothing
        variance = np.maximum(square - (missing - ROUNDING) ** 2, 0.0) + ROUNDING * second
        deviation = np.sqrt(variance)
    return Truncation(missing=missing, deviation=np.where(np.isnan(deviation), np.inf, deviation))
