"""Argument checks of the public edge: one clear line that names the value and what was expected."""

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from attribound.errors import ArgumentError

FloatArray = npt.NDArray[np.float64]
Number = float | npt.ArrayLike

LEAST_LIMIT, MOST_LIMIT = 1e-100, 1e100
"""Between these the squares of maps, of which spreads are made, neither vanish nor overflow."""

NORM_SLACK = 1e-9
"""A norm may exceed its limit by this relative amount: float32 gradients are normalised only so well."""


def _array(name: str, value: Number) -> FloatArray:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"expected `{name}` to be a number, got {value!r}") from None
    if np.isnan(array).any():
        raise ArgumentError(f"expected `{name}` to be a number, got nan")
    return array


def _require(ok: npt.NDArray[np.bool_], array: FloatArray, name: str, expected: str) -> FloatArray:
    if not ok.all():
        worst = float(array[~ok].flat[0]) if array.ndim else float(array)
        raise ArgumentError(f"expected `{name}` {expected}, got {worst:g}")
    return array


def positive(name: str, value: Number) -> FloatArray:
    """Finite and > 0."""
    array = _array(name, value)
    return _require((array > 0) & np.isfinite(array), array, name, "> 0")


def non_negative(name: str, value: Number) -> FloatArray:
    """Finite and >= 0."""
    array = _array(name, value)
    return _require((array >= 0) & np.isfinite(array), array, name, ">= 0")


def fraction(name: str, value: Number) -> FloatArray:
    """In [0, 1]."""
    array = _array(name, value)
    return _require((array >= 0) & (array <= 1), array, name, "in [0, 1]")


def alpha(value: Number, name: str = "alpha") -> FloatArray:
    """A failure probability: strictly between 0 and 1."""
    array = _array(name, value)
    return _require((array > 0) & (array < 1), array, name, "in (0, 1)")


def limit(value: Number) -> FloatArray:
    """A bound on maps whose squares are numbers too."""
    array = positive("limit", value)
    expected = f"from {LEAST_LIMIT:g} to {MOST_LIMIT:g}"
    return _require((array >= LEAST_LIMIT) & (array <= MOST_LIMIT), array, "limit", expected)


def dimension(value: Number, name: str = "dim") -> FloatArray:
    """A whole number of features, at least 2 (in one dimension there are no angles)."""
    array = _array(name, value)
    return _require((array >= 2) & _whole(array), array, name, "to be a whole number >= 2")


def count(name: str, value: Number) -> FloatArray:
    """A whole number >= 1."""
    array = _array(name, value)
    return _require((array >= 1) & _whole(array), array, name, "to be a whole number >= 1")


def whole(name: str, value: Any) -> int:
    """A whole number >= 0 of any kind and size, such as a seed."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ArgumentError(f"expected `{name}` to be a whole number >= 0, got {value!r}")
    return number


def _whole(array: FloatArray) -> npt.NDArray[np.bool_]:
    whole: npt.NDArray[np.bool_] = np.isfinite(array) & (array == np.floor(array))
    return whole


def norm_over_limit(norm: Number, limit: Number) -> FloatArray:
    """Kappa = norm / limit in [0, 1]; a norm beyond its limit (beyond rounding) is an error."""
    norm, limit = non_negative("norm", norm), positive("limit", limit)
    norm, limit = np.broadcast_arrays(norm, limit)
    with np.errstate(over="ignore"):  # a tiny limit is exceeded, however far
        kappa = norm / limit
    if (kappa > 1 + NORM_SLACK).any():
        worst = np.unravel_index(np.argmax(kappa), kappa.shape)
        raise ArgumentError(
            f"expected `norm` <= `limit`, got norm {float(norm[worst]):g} and limit {float(limit[worst]):g}"
        )
    bounded: FloatArray = np.minimum(kappa, 1.0)
    return bounded


def unwrap(array: Any) -> Any:
    """A plain float for scalar arguments, the array otherwise."""
    return float(array) if np.ndim(array) == 0 else array
