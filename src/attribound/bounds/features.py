"""What is known about single features of every attacked map: top-k overlap, signs, order.

They take the map that is known, a radius within which every attacked map lies, and, where known, how far off each
feature of the known map is at most (docs/theory/other-rules.md, docs/theory/cells.md).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.bounds.cells import ErrorBars
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness
from attribound.checks import FloatArray, Number
from attribound.errors import ArgumentError

_SLACK = 1e-12
"""Allowance for rounding in sums of squares, relative to the squares."""


def top_k_kept(evidence: Evidence, sampled: npt.ArrayLike, k: int, epsilon: float) -> int:
    """How many of the sampled map's k largest features stay among the k largest after any change up to epsilon.

    The better of the ball around the sampled map and, where there are error bars, the box around it.
    """
    moved, radius = float(evidence.displacement(epsilon)), float(evidence.fact(Closeness).radius)
    ball = top_k_overlap(sampled, k, moved + radius)
    if ErrorBars not in evidence.facts:
        return ball
    return max(ball, top_k_overlap(sampled, k, moved, evidence.fact(ErrorBars).half))


def error_bars(evidence: Evidence) -> FloatArray:
    """How far each feature of the sampled map is from the exact one: one number for all, or one for each."""
    radius = np.asarray(evidence.fact(Closeness).radius, np.float64)
    return np.minimum(evidence.fact(ErrorBars).half, radius) if ErrorBars in evidence.facts else radius


def top_k_overlap(attribution: npt.ArrayLike, k: int, displacement: float, error: Number = 0.0) -> int:
    """How many of the k largest features stay among the k largest for every map within `displacement`.

    Args:
        attribution: the map, any shape.
        k: number of features, 1 <= k <= d.
        displacement: l2 radius, >= 0: around the map if it is exact, else around the exact one.
        error: how far each feature of the map is from the exact one at most; one number or one per feature.

    Returns:
        A certified overlap in 0..k.
    """
    values = np.ravel(np.asarray(attribution, np.float64))
    radius = float(check.non_negative("displacement", displacement))
    error = np.broadcast_to(np.ravel(check.non_negative("error", error)), values.shape)
    if not np.isfinite(values).all():
        raise ArgumentError("expected a finite `attribution`, got NaN or infinity in it")
    if k != int(k) or not 1 <= k <= values.size:
        raise ArgumentError(f"expected `k` in 1..{values.size}, got {k}")
    k = int(k)
    order = np.argsort(-values, kind="stable")
    # The least that a feature inside can be and the most that one outside can, those that swap first in front.
    inside = np.sort((values - error)[order[:k]])
    outside = np.sort((values + error)[order[k:]])[::-1]
    low, high = 0, min(k, values.size - k) + 1  # losing `low` features is possible, losing `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        if _cost_of_swapping(inside[:middle], outside[:middle]) > radius**2:
            high = middle
        else:
            low = middle
    return k - low


def _cost_of_swapping(inside: FloatArray, outside: FloatArray) -> float:
    """Squared length needed to bring features of these values to or below those of the others.

    That is min over t of sum (inside - t)_+^2 + sum (t - outside)_+^2. Between two neighbouring values of both
    together the sum is one parabola, or 0 where nothing is on its wrong side; its minimum is taken on every piece.
    """
    above, below = inside - inside[0], outside - inside[0]
    knots = np.unique(np.concatenate([above, below]))
    lows, highs = knots[:-1], knots[1:]
    if lows.size == 0 or above.max() <= below.min():
        return 0.0
    weight_a, sum_a, square_a = _above(above, lows)
    weight_b, sum_b, square_b = _above(-below, -highs)
    weight, total = weight_a + weight_b, sum_a - sum_b
    t = np.clip(total / np.maximum(weight, 1.0), lows, highs)
    size = weight * t**2 + square_a + square_b
    return float(np.min(size - 2 * total * t - _SLACK * size))


def _above(values: FloatArray, thresholds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Count, sum and sum of squares of the values strictly above each threshold."""
    ordered = np.sort(values)[::-1]
    counts = np.searchsorted(-ordered, -thresholds, side="left")
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    squares = np.concatenate([[0.0], np.cumsum(ordered**2)])
    return counts.astype(np.float64), sums[counts], squares[counts]


def sign_kept(attribution: npt.ArrayLike, displacement: Number) -> npt.NDArray[np.bool_]:
    """Which features keep their sign for every map within `displacement`, one number for all or one for each."""
    kept: npt.NDArray[np.bool_] = np.abs(np.asarray(attribution, np.float64)) > check.non_negative(
        "displacement", displacement
    )
    return kept


def order_kept(larger: Number, smaller: Number, displacement: Number) -> Any:
    """Whether a feature of value `larger` stays above one of value `smaller` within `displacement`."""
    gap = np.asarray(larger, np.float64) - np.asarray(smaller, np.float64)
    kept = gap > np.sqrt(2.0) * check.non_negative("displacement", displacement)
    return bool(kept) if kept.ndim == 0 else kept
