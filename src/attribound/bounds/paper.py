"""The formulas of the paper this project starts from. They are NOT guarantees.

Wang & Kong, "Certified l2 attribution robustness via uniformly smoothed attributions". The paper takes a point
that is not stationary for the minimum of the cosine, so real attributions fall below its bound; and its interval
for the Monte-Carlo norm is centred on a biased value. Both are kept, under names that say so, for comparison.
"""

from typing import Any

import numpy as np

from attribound import checks as check
from attribound.bounds import laws
from attribound.checks import Number


def cosine_bound_paper(norm: Number, limit: Number, moved_fraction: Number) -> Any:
    """The paper's T = c / sqrt(c^2 + (2 p M)^2): not a valid bound, for comparison only."""
    kappa = check.norm_over_limit(norm, limit)
    displaced = 2 * check.fraction("moved_fraction", moved_fraction)
    with np.errstate(invalid="ignore"):
        return check.unwrap(np.where(kappa == 0, 0.0, kappa / np.hypot(kappa, displaced)))


def largest_moved_fraction_paper(norm: Number, limit: Number, cosine: Number) -> Any:
    """The paper's inverse of T, with its appendix's square root and p capped at 1: for comparison only."""
    kappa = check.norm_over_limit(norm, limit)
    cosine = check.fraction("cosine", cosine)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = kappa / 2 * np.sqrt((1 - cosine) * (1 + cosine)) / cosine
    return check.unwrap(np.where(kappa == 0, 0.0, np.minimum(moved, 1.0)))


def max_epsilon_paper(
    cosine: Number,
    *,
    norm: Number,
    limit: Number,
    dim: Number | None = None,
    radius: Number | None = None,
    sigma: Number | None = None,
) -> Any:
    """The paper's largest epsilon for `cosine`: not a valid bound, for comparison only."""
    moved = largest_moved_fraction_paper(norm, limit, cosine)
    return laws.shift_size(moved, dim=dim, radius=radius, sigma=sigma)


def norm_interval_paper(mean: Number, variances: Number, *, samples: int, alpha: float) -> tuple[float, float]:
    """The paper's interval for the norm by the generalised chi-square: not a guarantee, for comparison only.

    It treats the sampled mean as the true one, so it is centred on a norm that is too large by about
    trace(Cov) / samples, and its lower end misses the truth far more often than alpha.

    Args:
        mean: the sampled attribution, any shape.
        variances: the draws' variance per coordinate, same shape.
        samples: number of draws behind the mean.
        alpha: nominal failure probability, split evenly over both ends.

    Returns:
        Lower and upper end for the norm.
    """
    import gx2

    check.alpha(alpha)
    mean, variance = (
        np.ravel(np.asarray(mean, np.float64)),
        np.ravel(check.non_negative("variances", variances)) / check.count("samples", samples),
    )
    random = variance > 0
    weights, fixed = variance[random], float((mean[~random] ** 2).sum())
    if not random.any():
        return float(np.sqrt(fixed)), float(np.sqrt(fixed))
    freedom, shifts = np.ones_like(weights), mean[random] ** 2 / weights
    ends = gx2.inv([alpha / 2, 1 - alpha / 2], weights, freedom, shifts, 0.0, 0.0, method="imhof")
    low, high = (float(np.sqrt(max(float(end), 0.0) + fixed)) for end in np.ravel(ends))
    return low, high
