"""How two smoothed maps lie to each other, from what is known about each of them (docs/theory/drift.md)."""

import math

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.errors import ArgumentError

_ANGLE = 1e-9
"""Radians allowed for rounding in lengths and angles."""
_COSINE = 1e-12
"""Allowed for rounding in the cosine of an angle."""


def tilt_most(sampled: float, radius: float, lower: float = 0.0) -> float:
    """The largest angle between a sampled map and the exact one; pi if nothing is known.

    Args:
        sampled: norm of the sampled map.
        radius: the exact map lies within this distance of it.
        lower: lower bound on the exact map's norm.
    """
    length, reach = float(check.non_negative("sampled", sampled)), float(check.non_negative("radius", radius))
    # The angle is largest where a line touches the ball, or at the shortest maps if those points are too short.
    touching = math.sqrt((length - reach) * (length + reach)) if length > reach else 0.0
    shortest = max(float(check.non_negative("lower", lower)), touching)
    sides = (shortest + length - reach) * (shortest + length + reach)
    across = (reach - (shortest - length)) * (reach + (shortest - length))
    if shortest == 0 or length == 0 or sides <= 0 or across < 0:
        return math.pi
    return min(2 * math.atan(math.sqrt(across / sides)), math.pi)


def cosine_interval(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    radii: tuple[float, float],
    lowers: tuple[float, float] = (0.0, 0.0),
) -> tuple[float, float]:
    """Bounds on the cosine of two exact maps, from their sampled ones; (-1.0, 1.0) if nothing is known.

    If the statements about the first map hold with probability at least 1 - alpha and those about the second with
    1 - beta, the interval holds with probability at least 1 - alpha - beta; the draws may be shared.

    Args:
        first: a sampled map, any shape.
        second: another of the same shape.
        radii: each exact map lies within this distance of its sampled one.
        lowers: lower bounds on the norms of the exact maps.
    """
    a, b = (np.ravel(np.asarray(one, np.float64)) for one in (first, second))
    if np.shape(first) != np.shape(second):
        raise ArgumentError(f"expected maps of one shape, got {np.shape(first)} and {np.shape(second)}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ArgumentError("expected finite maps, got NaN or infinity in them")
    lengths = [float(np.linalg.norm(one)) for one in (a, b)]
    tilts = [tilt_most(*known) for known in zip(lengths, radii, lowers, strict=True)]
    if max(tilts) >= math.pi:
        return -1.0, 1.0
    between, wide = _angle(a / lengths[0], b / lengths[1]), sum(tilts) + _ANGLE
    least = math.cos(min(between + wide, math.pi)) - _COSINE
    most = math.cos(max(between - wide, 0.0)) + _COSINE
    return max(least, -1.0), min(most, 1.0)


def _angle(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    """Between unit vectors, exact to the last digits also near 0 and pi (Kahan)."""
    return 2 * math.atan2(float(np.linalg.norm(first - second)), float(np.linalg.norm(first + second)))
