"""Where exactly a threshold cuts the numbers that people write down (float64).

Every library rounds a row in its own way before it compares. For each threshold there is one largest float64 that goes
left; with it, "left" is `x <= last` everywhere else in this package.
"""

import numpy as np

from attribound.errors import StoredDataError
from attribound.forests.ensemble import FloatArray

ZERO = float(np.float32(1e-35))
"""LightGBM takes numbers up to this size for 0."""

_LARGEST = float(np.finfo(np.float32).max)


def last_left(library: str, thresholds: FloatArray) -> FloatArray:
    """The largest float64 that goes left at each threshold."""
    if library == "xgboost":
        return _below(thresholds)
    if library == "scikit-learn":
        return _up_to(thresholds)
    if library == "lightgbm":
        return _snapped(thresholds)
    if library == "histogram":
        return thresholds
    raise StoredDataError(f"expected a known library, got {library!r}")


def _below(thresholds: FloatArray) -> FloatArray:
    """float32(x) < t, t in float32."""
    upper = thresholds.astype(np.float32)
    lower = np.nextafter(upper, np.float32(-np.inf))
    return _last_rounding_to(lower, upper)


def _up_to(thresholds: FloatArray) -> FloatArray:
    """float32(x) <= t, t in float64."""
    inside = np.clip(thresholds, -_LARGEST, _LARGEST)
    lower = inside.astype(np.float32)
    lower = np.where(lower.astype(np.float64) > inside, np.nextafter(lower, np.float32(-np.inf)), lower)
    with np.errstate(over="ignore"):
        upper = np.nextafter(lower, np.float32(np.inf))
    last = _last_rounding_to(lower, upper)
    return np.where(np.abs(thresholds) >= _LARGEST, thresholds, last)


def _last_rounding_to(lower: np.ndarray, upper: np.ndarray) -> FloatArray:
    """The largest float64 that float32 rounds to `lower`, whose neighbour is `upper`: their middle or just below it."""
    middle = lower.astype(np.float64) / 2 + upper.astype(np.float64) / 2
    with np.errstate(over="ignore"):
        rounds_down = middle.astype(np.float32) < upper
    last: FloatArray = np.where(rounds_down, middle, np.nextafter(middle, -np.inf))
    return last


def _snapped(thresholds: FloatArray) -> FloatArray:
    """X <= t in float64, after |x| <= ZERO became 0."""
    negative = (thresholds >= -ZERO) & (thresholds < 0)
    positive = (thresholds >= 0) & (thresholds < ZERO)
    last: FloatArray = np.where(negative, np.nextafter(-ZERO, -np.inf), np.where(positive, ZERO, thresholds))
    return last
