"""Rules that also use how little the attribution varies under the noise.

Let L be the likelihood ratio of the shifted noise, lambda the largest eigenvalue of the covariance of the draws,
c the norm and M the limit. For *any* truncation W of L (0 <= W <= L, a function of the noise)

    sin(angle) <= (M tau + sqrt(lambda v)) / (c (1 - tau)),   tau = 1 - E[W],  v = Var(W).

Truncating at infinity is plain Cauchy-Schwarz; truncating pays M for the rare draws whose weight explodes and the
spread for the rest. Every truncation is valid, so the best one is searched numerically without risk
(proof, and why the value at epsilon covers all smaller shifts: docs/theory/covariance-rule.md).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from attribound.bounds import arguments as check
from attribound.bounds.arguments import FloatArray, Number
from attribound.bounds.cosine import VACUOUS
from attribound.errors import ArgumentError

_ROUNDING = 1e-15
"""Absolute error of the normal integrals below, added where it makes the bound smaller."""


@dataclass(frozen=True)
class Truncation:
    """What a truncated likelihood ratio W leaves out and how much it varies.

    Attributes:
        missing: tau, the shifted noise's mass above the truncation.
        deviation: standard deviation of W under the unshifted noise.
    """

    missing: FloatArray
    deviation: FloatArray


def truncate_ball(moved_fraction: Number) -> Truncation:
    """The uniform ball: W is 1 where the balls overlap, 0 elsewhere; none is better for the cosine."""
    p = check.fraction("moved_fraction", moved_fraction)
    return Truncation(missing=p, deviation=np.sqrt(p * (1 - p)))


def truncate_gaussian(shift: FloatArray, level: FloatArray) -> Truncation:
    """Gaussian noise: W = min(L, L*), L = exp(shift z - shift^2 / 2), z normal, L* the value of L at z = level."""
    with np.errstate(over="ignore", invalid="ignore"):
        cap = np.exp(shift * level - shift**2 / 2)
        missing = special.ndtr(shift - level) - cap * special.ndtr(-level)
        # E[(W - 1)^2]: the full second moment of L - 1 less its part above the level, which W replaces by the cap.
        above = (
            np.exp(shift**2) * special.ndtr(2 * shift - level) - 2 * special.ndtr(shift - level) + special.ndtr(-level)
        )
        square = np.expm1(shift**2) - above + (cap - 1) ** 2 * special.ndtr(-level)
        missing = np.clip(missing + _ROUNDING, 0.0, 1.0)
        variance = np.maximum(square - (missing - _ROUNDING) ** 2, 0.0) + _ROUNDING * np.exp(shift**2)
        deviation = np.sqrt(variance)
    return Truncation(missing=missing, deviation=np.where(np.isnan(deviation), np.inf, deviation))


def cosine_bound_covariance(
    norm: Number,
    limit: Number,
    eigenvalue: Number,
    *,
    moved_fraction: float | None = None,
    epsilon: float | None = None,
    sigma: float | None = None,
) -> float:
    """Lower bound on the cosine from norm, limit and the largest eigenvalue of the draws' covariance.

    Args:
        norm: (a lower bound on) the norm of the smoothed attribution.
        limit: (an upper bound on) the field's norm.
        eigenvalue: (an upper bound on) the largest eigenvalue of the covariance of the draws.
        moved_fraction: for the uniform ball.
        epsilon: for Gaussian noise, with `sigma`.
        sigma: standard deviation of the Gaussian noise.

    Returns:
        The bound, or -1.0 where nothing can be said.
    """
    kappa = float(check.norm_over_limit(norm, limit))
    spread = float(np.sqrt(check.non_negative("eigenvalue", eigenvalue)) / check.positive("limit", limit))

    def sine(cut: Truncation) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (cut.missing + spread * cut.deviation) / (kappa * (1 - cut.missing))
        return np.where(np.isnan(ratio), np.inf, ratio)

    worst = _best(sine, moved_fraction, epsilon, sigma) * (1 + 1e-12)  # a root follows, which magnifies rounding
    return float(np.sqrt((1 - worst) * (1 + worst))) if worst < 1 else VACUOUS


def displacement_covariance(
    norm: Number,
    limit: Number,
    eigenvalue: Number,
    *,
    moved_fraction: float | None = None,
    epsilon: float | None = None,
    sigma: float | None = None,
) -> float:
    """Upper bound on ||h(x + delta) - h(x)|| from the same numbers; here `norm` is an *upper* bound on ||h(x)||."""
    reach = float(check.positive("limit", limit) + check.non_negative("norm", norm))
    spread = float(np.sqrt(check.non_negative("eigenvalue", eigenvalue)))
    return _best(lambda cut: reach * cut.missing + spread * cut.deviation, moved_fraction, epsilon, sigma)


def _best(
    value: Callable[[Truncation], FloatArray],
    moved_fraction: float | None,
    epsilon: float | None,
    sigma: float | None,
) -> float:
    """The smallest value over truncations: one for the ball, a zooming grid of levels for Gaussian noise."""
    if moved_fraction is not None:
        return float(value(truncate_ball(moved_fraction)))
    if epsilon is None or sigma is None:
        raise ArgumentError("expected `moved_fraction` (ball), or `epsilon` and `sigma` (Gaussian)")
    shift = check.non_negative("epsilon", epsilon) / check.positive("sigma", sigma)
    low, high = shift - 6.0, shift + 9.0
    best = np.inf
    for _ in range(3):
        levels = np.linspace(low, high, 61)
        values = value(truncate_gaussian(shift, levels))
        at = int(np.argmin(values))
        best = min(best, float(values[at]))
        low, high = levels[max(at - 1, 0)], levels[min(at + 1, 60)]
    return best
