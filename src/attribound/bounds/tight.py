"""The tight theorem: the smallest cosine that norm, limit and moved fraction leave possible, and its inverses.

h is the smoothed attribution at x with ||h|| = norm, the field never exceeds `limit`, and a shift moves the
fraction p of the noise. Then cos(h(x), h(x + delta)) >= T(kappa, p), kappa = norm / limit, and nothing larger
follows from these three numbers (proof: docs/theory/tight-bound.md).

T falls in p and limit and rises in norm, so a lower confidence bound on the norm keeps it valid.
"""

from typing import Any

import numpy as np

from attribound import checks as check
from attribound.bounds import laws
from attribound.checks import FloatArray, Number

VACUOUS = -1.0


def cosine_bound(norm: Number, limit: Number, moved_fraction: Number) -> Any:
    """Lower bound on the cosine between the smoothed attributions before and after a shift.

    Args:
        norm: (a lower bound on) the l2 norm of the smoothed attribution.
        limit: (an upper bound on) the l2 norm of the field anywhere.
        moved_fraction: (an upper bound on) the fraction of noise moved; see `moved_fraction`.

    Returns:
        The bound, or -1.0 where nothing can be said. Arrays broadcast.
    """
    kappa, p = np.broadcast_arrays(check.norm_over_limit(norm, limit), check.fraction("moved_fraction", moved_fraction))
    with np.errstate(divide="ignore", invalid="ignore"):
        common = np.sqrt((kappa - 2 * p) * (kappa + 2 * p)) / kappa
        root = np.maximum((1 - kappa) * (1 + kappa) * (1 + kappa - 2 * p) * (kappa + 2 * p - 1), 0.0)
        near_one = ((1 - 2 * p + kappa**2) * np.sqrt(1 - 2 * p) - p * np.sqrt(root)) / (2 * kappa * (1 - p) ** 2)
    bound = np.where(_is_common(kappa, p), common, near_one)
    return check.unwrap(np.where(kappa <= 2 * p, VACUOUS, np.minimum(bound, 1.0)))


def largest_moved_fraction(norm: Number, limit: Number, cosine: Number) -> Any:
    """The largest moved fraction at which the tight theorem still gives `cosine`: its inverse in p.

    At cosine 0 this is a supremum: there the attacked map can vanish.
    """
    kappa, cosine = np.broadcast_arrays(check.norm_over_limit(norm, limit), check.fraction("cosine", cosine))
    sine = np.sqrt((1 - cosine) * (1 + cosine))
    turn = kappa * sine
    common = turn / 2
    spread = (1 - kappa) * (1 + kappa)
    top = spread + 2 * turn**2 + turn * (1 + kappa**2) - 2 * kappa * cosine * np.sqrt(turn * spread)
    near_one = top / (2 * (1 + turn) ** 2)
    p = np.where(_is_common(kappa, common), common, near_one)
    return check.unwrap(np.where(turn == 0, 0.0, p))


def max_epsilon(
    cosine: Number,
    *,
    norm: Number,
    limit: Number,
    dim: Number | None = None,
    radius: Number | None = None,
    sigma: Number | None = None,
) -> Any:
    """The largest shift for which the tight theorem gives `cosine`; 0.0 if there is none."""
    return laws.shift_size(largest_moved_fraction(norm, limit, cosine), dim=dim, radius=radius, sigma=sigma)


def min_radius(cosine: Number, epsilon: Number, *, norm: Number, limit: Number, dim: Number) -> Any:
    """The smallest ball radius for `cosine` at `epsilon`, *if the norm did not change with the radius*.

    It does change, so this is a calculator; `attribound.min_radius` searches and measures. Returns inf where no
    radius is large enough.
    """
    moved = largest_moved_fraction(norm, limit, cosine)
    return check.unwrap(_scale(epsilon, laws.shift_size(moved, dim=dim, radius=1.0)))


def min_sigma(cosine: Number, epsilon: Number, *, norm: Number, limit: Number) -> Any:
    """The Gaussian counterpart of `min_radius`, with the same caveat."""
    moved = largest_moved_fraction(norm, limit, cosine)
    return check.unwrap(_scale(epsilon, laws.shift_size(moved, sigma=1.0)))


def _is_common(kappa: FloatArray, p: FloatArray) -> Any:
    """Whether the unconstrained worst case is reachable: kappa^2 <= 1 - 2p + 4p^2."""
    return kappa**2 <= 1 - 2 * p + 4 * p**2


def _scale(epsilon: Number, shift: Any) -> FloatArray:
    epsilon = check.non_negative("epsilon", epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(epsilon == 0, 0.0, epsilon / shift)
