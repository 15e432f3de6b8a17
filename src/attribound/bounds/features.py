"""What a ball around the map says about single features: top-k overlap, signs, order.

All take the map that is known and a radius within which every attacked map lies (docs/theory/other-rules.md).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.checks import FloatArray, Number
from attribound.errors import ArgumentError

_SLACK = 1e-12
"""Allowance for rounding in sums of squares, relative to the squares."""


def top_k_overlap(attribution: npt.ArrayLike, k: int, displacement: float) -> int:
    """How many of the k largest features stay among the k largest for every map within `displacement`.

    Args:
        attribution: the map, any shape.
        k: number of features, 1 <= k <= d.
        displacement: l2 radius around the map, >= 0.

    Returns:
        A certified overlap in 0..k.
    """
    values = np.sort(np.ravel(np.asarray(attribution, np.float64)))[::-1]
    radius = float(check.non_negative("displacement", displacement))
    if not np.isfinite(values).all():
        raise ArgumentError("expected a finite `attribution`, got NaN or infinity in it")
    if k != int(k) or not 1 <= k <= values.size:
        raise ArgumentError(f"expected `k` in 1..{values.size}, got {k}")
    k = int(k)
    most = min(k, values.size - k)
    low, high = 0, most + 1  # losing `low` features is possible, losing `high` is not
    while high - low > 1:
        middle = (low + high) // 2
        if _cost_of_swapping(values, k, middle) > radius**2:
            high = middle
        else:
            low = middle
    return k - low


def _cost_of_swapping(values: FloatArray, k: int, j: int) -> float:
    """Squared length needed to bring j of the top k to or below j others.

    That is min over t of sum_A (a - t)_+^2 + sum_B (t - b)_+^2, A the j smallest of the top k and B the j largest
    of the rest. All of A lies above all of B, so between two neighbouring values of A and B together the sum is
    one parabola; its minimum is taken on every piece.
    """
    centred = values - values[k - 1]
    above, below = centred[k - j : k], centred[k : k + j]
    knots = np.unique(np.concatenate([above, below]))
    lows, highs = knots[:-1], knots[1:]
    if lows.size == 0:
        return 0.0
    weight_a, sum_a, square_a = _above(above, lows)
    weight_b, sum_b, square_b = _above(-below, -highs)
    weight, total = weight_a + weight_b, sum_a - sum_b
    t = np.clip(total / weight, lows, highs)
    size = weight * t**2 + square_a + square_b
    return float(np.min(size - 2 * total * t - _SLACK * size))


def _above(values: FloatArray, thresholds: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Count, sum and sum of squares of the values strictly above each threshold."""
    ordered = np.sort(values)[::-1]
    counts = np.searchsorted(-ordered, -thresholds, side="left")
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    squares = np.concatenate([[0.0], np.cumsum(ordered**2)])
    return counts.astype(np.float64), sums[counts], squares[counts]


def sign_kept(attribution: npt.ArrayLike, displacement: float) -> npt.NDArray[np.bool_]:
    """Which features keep their sign for every map within `displacement`."""
    return np.abs(np.asarray(attribution, np.float64)) > float(check.non_negative("displacement", displacement))


def order_kept(larger: Number, smaller: Number, displacement: Number) -> Any:
    """Whether a feature of value `larger` stays above one of value `smaller` within `displacement`."""
    gap = np.asarray(larger, np.float64) - np.asarray(smaller, np.float64)
    kept = gap > np.sqrt(2.0) * check.non_negative("displacement", displacement)
    return bool(kept) if kept.ndim == 0 else kept
