"""Many certificates at the same epsilons at once: for pages and plots, hundreds of times faster than one by one.

The same rules as `Evidence.best` with one economy: truncations of the Gaussian likelihood ratio are taken from a fixed
grid of levels that all records share. Every truncation is valid, so what this says is proved too, if a little less.
"""

from collections.abc import Sequence

import numpy as np

from attribound.bounds import covariance, curvature
from attribound.bounds.arguments import FloatArray
from attribound.bounds.cosine import VACUOUS, cosine_bound
from attribound.bounds.rules import Evidence

_ROUNDING = 2e-12
"""Twice what `Evidence` allows for rounding: never above it, not even by the last digit."""


def cosines_of_many(evidences: Sequence[Evidence], epsilons: FloatArray) -> FloatArray:
    """Certified cosines of many explanations.

    Args:
        evidences: N of them, with the same noise, dimension and kind of field.
        epsilons: (E,) sizes of the change.

    Returns:
        (N, E) certified cosines, -1.0 where nothing can be said; never above `Evidence.best`.
    """
    first = evidences[0]
    norm = np.array([one.norm_lower for one in evidences])
    limit = np.array([one.limit for one in evidences])
    spread = np.sqrt([one.eigenvalue for one in evidences]) / limit
    kappa = np.minimum(norm / limit, 1.0)
    moved = np.array([first.moved_fraction(float(epsilon)) for epsilon in epsilons])
    found: FloatArray = cosine_bound(norm[:, None], limit[:, None], moved[None, :])
    for column, epsilon in enumerate(epsilons):
        cut = _truncation(first, float(epsilon), float(moved[column]))
        found[:, column] = np.maximum(found[:, column], _from_spread(kappa, spread, cut))
    if first.probability_gradient and first.noise_kind == "gaussian":
        shifts = epsilons[None, :] * (1 + _ROUNDING)
        found = np.maximum(found, curvature.cosine_bound_curvature(norm[:, None], epsilon=shifts, sigma=first.scale))
    return np.where(found > VACUOUS, np.maximum(found - _ROUNDING, 0.0), VACUOUS)


def family(evidence: Evidence) -> tuple[str, float, int, bool]:
    """What evidences must share to be asked together."""
    return evidence.noise_kind, evidence.scale, evidence.dim, evidence.probability_gradient


def _truncation(evidence: Evidence, epsilon: float, moved: float) -> covariance.Truncation:
    """(L,) truncations to choose from: one for the ball, a grid of levels for Gaussian noise."""
    if evidence.noise_kind == "uniform":
        cut = covariance.truncate_ball(moved)
        return covariance.Truncation(np.atleast_1d(cut.missing), np.atleast_1d(cut.deviation))
    shift = np.asarray(epsilon / evidence.scale)
    return covariance.truncate_gaussian(shift, np.linspace(shift - 6.0, shift + 9.0, 61))


def _from_spread(kappa: FloatArray, spread: FloatArray, cut: covariance.Truncation) -> FloatArray:
    """(N,) the covariance rule with the best of the given truncations."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (cut.missing + spread[:, None] * cut.deviation) / (kappa[:, None] * (1 - cut.missing))
    sine = np.where(np.isnan(ratios), np.inf, ratios).min(axis=1) * (1 + 1e-12)
    return np.where(sine < 1, np.sqrt(np.maximum((1 - sine) * (1 + sine), 0.0)), VACUOUS)
