"""From finitely many draws to statements that hold with a stated probability; no normal approximation anywhere.

Proofs: docs/theory/confidence.md.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from attribound import checks as check
from attribound.checks import FloatArray, Number
from attribound.errors import ArgumentError

_BOLDEST = 0.95
"""No bet risks more than this part of the capital."""


def norm_lower_bound(projections: npt.ArrayLike, *, limit: float, alpha: float, horizon: int | None = None) -> float:
    """Lower bound on ||h|| by betting on projections of the draws onto directions fixed beforehand.

    `projections[t] = <g_t, w_t>` in order of drawing, where w_t is a unit (or zero) vector that depends on earlier
    draws only. Then E[projection | past] <= ||h||, and with probability at least 1 - alpha the returned value is
    <= ||h|| at *every* stopping time at once (Ville's inequality; Waudby-Smith & Ramdas 2024).

    Args:
        projections: (n,) values in [-limit, limit].
        limit: bound on the norm of every draw.
        alpha: failure probability.
        horizon: the number of draws the bets are tuned for; fix it before drawing. Default: n.

    Returns:
        The bound, at least 0.0.
    """
    alpha = float(check.alpha(alpha))
    limit = float(check.positive("limit", limit))
    x = np.asarray(projections, np.float64)
    if np.isnan(x).any() or (x.size and np.abs(x).max() > limit * (1 + check.NORM_SLACK)):
        raise ArgumentError(f"expected `projections` in [-limit, limit] with limit {limit:g}")
    if x.size == 0:
        return 0.0
    y = np.clip((x + limit) / (2 * limit), 0.0, 1.0)
    bets = _bets(y, alpha, x.size if horizon is None else int(check.count("horizon", horizon)))
    wanted = np.log(1 / alpha)

    def rejected(mean: float) -> bool:
        gains = np.log1p(np.minimum(bets, _BOLDEST / mean) * (y - mean))
        return bool(np.cumsum(gains).max() >= wanted)

    # Each factor falls in the candidate mean, so the rejected means form an interval from below: bisect.
    low, high = 0.5, 1.0
    if not rejected(low):
        return 0.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return max(limit * (2 * low - 1), 0.0)


def _bets(y: FloatArray, alpha: float, horizon: int) -> FloatArray:
    """Predictable bets: the t-th uses the variance of the draws before t only."""
    index = np.arange(1, y.size + 1)
    means = (0.5 + np.cumsum(y)) / (index + 1)
    variances = (0.25 + np.cumsum((y - means) ** 2)) / (index + 1)
    known = np.concatenate([[0.25], variances[:-1]])
    bets: FloatArray = np.sqrt(2 * np.log(1 / alpha) / (horizon * known))
    return bets


def largest_norm_lower(draws: int, *, limit: float, alpha: float) -> float:
    """No draws of this number prove a larger norm: what the boldest bets on perfectly constant draws reach."""
    growth = np.expm1(np.log(1 / alpha) / max(draws, 1))
    mean = _BOLDEST / (growth + _BOLDEST)
    return max(float(limit * (2 * mean - 1)), 0.0)


def eigenvalue_upper_bound(
    eigenvalue: float, *, reach: float, samples: int, alpha: float, near: float | None = None, far: int = 0
) -> float:
    """Upper bound on the largest eigenvalue of E[y y^T], y = g - a, dimension-free.

    Only the lower tail of one scalar is used: the sampled second moment along the *true* top eigenvector, which the
    sampled largest eigenvalue exceeds. That scalar is bounded, so its tail is Bernoulli's (Chernoff in
    Kullback-Leibler form). With probability at least 1 - alpha the returned value is at least the true eigenvalue.

    Draws rarely come near `reach`. With `near`, draws longer than that are left out of the sampled matrix and pay
    reach^2 times an upper bound on their probability instead; alpha is split over the two statements.

    Args:
        eigenvalue: largest eigenvalue of the sampled mean of y y^T, exact or over-estimated.
        reach: bound on ||y|| for every draw; a (and `near`) are fixed independently of these draws.
        samples: number of draws, fixed beforehand.
        alpha: failure probability.
        near: length beyond which draws were left out; None: none were.
        far: how many were left out.
    """
    reach, alpha = float(check.positive("reach", reach)), float(check.alpha(alpha))
    samples = int(check.count("samples", samples))
    eigenvalue = float(check.non_negative("eigenvalue", eigenvalue))
    far = int(check.non_negative("far", far))
    if far and (near is None or near >= reach):
        raise ArgumentError(
            f"expected `near` < `reach` for the {far} draws left out, got near {near} and reach {reach:g}"
        )
    if near is None or near >= reach:
        return reach**2 * _mean_upper(eigenvalue / reach**2, samples, alpha)
    near = float(check.positive("near", near))
    inner = near**2 * _mean_upper(eigenvalue / near**2, samples, alpha / 2)
    return min(inner + reach**2 * _mean_upper(far / samples, samples, alpha / 2), reach**2)


def smallest_eigenvalue_upper(draws: int, *, limit: float, alpha: float) -> float:
    """No draws of this number prove a smaller eigenvalue: what draws without any spread give."""
    return float(-(limit**2) * np.expm1(np.log(alpha) / max(draws, 1)))


def _mean_upper(seen: float, samples: int, alpha: float) -> float:
    """Upper bound on the mean of a variable in [0, 1] from the mean seen: Chernoff's, by bisection."""
    budget = np.log(1 / alpha) / samples
    seen = min(seen, 1.0)
    low, high = seen, 1.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        divergence = special.rel_entr(seen, middle) + special.rel_entr(1 - seen, 1 - middle)
        low, high = (middle, high) if divergence <= budget else (low, middle)
    return high


def mean_radius(
    *, limit: Number, norm_lower: Number, samples: Number, alpha: Number, eigenvalue_upper: Number | None = None
) -> Any:
    """Radius around the sampled mean that holds the true mean with probability at least 1 - alpha.

    The smaller of McDiarmid's inequality (limit only) and, where an eigenvalue bound is known, Bousquet's (which
    pays the limit only in its last, fast-vanishing term). Which is smaller depends on the draws, so alpha is split
    over the two. Arrays broadcast.

    Args:
        limit: bound on the norm of every draw.
        norm_lower: lower bound on the true mean's norm.
        samples: number of independent draws, fixed beforehand.
        alpha: failure probability.
        eigenvalue_upper: upper bound on the largest eigenvalue of the draws' covariance.
    """
    level = np.log(2) - np.log(check.alpha(alpha))
    limit, n = check.positive("limit", limit), check.count("samples", samples)
    check.non_negative("norm_lower", norm_lower)
    expected = limit * np.sqrt((1 - check.norm_over_limit(norm_lower, limit) ** 2) / n)
    plain = expected + limit * np.sqrt(2 * level / n)
    if eigenvalue_upper is None:
        return check.unwrap(plain)
    reach = 2 * limit
    variance = check.non_negative("eigenvalue_upper", eigenvalue_upper) + 2 * reach * expected
    return check.unwrap(np.minimum(plain, expected + np.sqrt(2 * variance * level / n) + reach * level / (3 * n)))


def spend(alpha: float, look: int) -> float:
    """The share of alpha for the k-th look at the data, k = 1, 2, ...; all shares together make alpha."""
    return alpha / (look * (look + 1))
