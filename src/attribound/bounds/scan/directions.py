"""The directions at a given angle from the reference: all that can prove a map to have turned too far."""

from dataclasses import dataclass
from typing import final

import numpy as np

from attribound.checks import FloatArray

_STEPS = 20
ROUNDING = 1e-7
"""More than float64 loses anywhere in the rule, and more than a draw may exceed its limit."""


def unit(vectors: FloatArray) -> FloatArray:
    """Vectors (..., m) at length 1, zeros where they are zero; squares of small entries do not vanish."""
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    scaled = vectors / np.where(largest == 0, 1.0, largest)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    result: FloatArray = scaled / np.where(lengths == 0, 1.0, lengths)
    return result


@final
@dataclass(frozen=True)
class Cone:
    """E = {sine w - cosine v : v across w, |v| = 1}; a map has turned too far if some e in E has <e, map> <= 0.

    Attributes:
        cosine: T = cos(theta).
    """

    cosine: float

    @property
    def sine(self) -> float:
        """The sine of the angle."""
        return float(np.sqrt((1 - self.cosine) * (1 + self.cosine)))

    def largest(self, along: FloatArray, across: FloatArray) -> FloatArray:
        """The largest <e, a> over E of vectors with these parts along and across w."""
        return self.sine * along + self.cosine * across

    def smallest(self, along: FloatArray, across: FloatArray) -> FloatArray:
        """The smallest <e, a> over E."""
        return self.sine * along - self.cosine * across


def sphere_maximum(values: FloatArray, linear: FloatArray) -> FloatArray:
    """Upper bounds on 2 <v, b> + v^T A v over |v| = 1, A diagonal, one per row.

    For every mu above the largest value, mu + sum of b^2 / (mu - A) is a bound; bisection finds nearly the best mu. Any
    mu is valid, so no convergence is needed.

    Args:
        values: (J, m) the diagonals of A.
        linear: (J, m) b.
    """
    top = values.max(axis=1)
    length = np.sqrt((linear**2).sum(axis=1))
    low, high = np.zeros_like(length), length + ROUNDING
    gaps = top[:, None] - values
    for _ in range(_STEPS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            steep = np.nan_to_num((linear / (middle[:, None] + gaps)) ** 2, nan=0.0).sum(axis=1) > 1
        low, high = np.where(steep, middle, low), np.where(steep, high, middle)
    above = high + 1e-12
    bound: FloatArray = top + above + (linear**2 / (above[:, None] + gaps)).sum(axis=1)
    return bound
