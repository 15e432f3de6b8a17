"""p, the moved fraction: how much of the noise's mass a shift of the input moves.

p is the total variation distance between the noise around x and around x + delta, ||delta|| = epsilon.
It grows with epsilon, so its value at epsilon covers every smaller shift.
"""

from typing import Any

import numpy as np
from scipy import special

from attribound.bounds import arguments as check
from attribound.bounds.arguments import Number
from attribound.errors import ArgumentError


def moved_fraction(
    epsilon: Number, *, dim: Number | None = None, radius: Number | None = None, sigma: Number | None = None
) -> Any:
    """Fraction of the noise's mass that a shift of l2 length epsilon moves.

    Args:
        epsilon: l2 size of the shift, >= 0; arrays broadcast.
        dim: number of input features; needed for the ball.
        radius: radius of the uniform ball. Give either this or `sigma`.
        sigma: standard deviation of the Gaussian noise.

    Returns:
        p in [0, 1]; 1 once the two balls no longer meet (epsilon >= 2 radius).
    """
    epsilon = check.non_negative("epsilon", epsilon)
    if one_law(radius, sigma) == "uniform":
        ratio = epsilon / (2.0 * check.positive("radius", _given("radius", radius)))
        shape = (check.dimension(_given("dim", dim)) + 1.0) / 2.0
        # I_y(1/2, (d+1)/2): the complementary form 1 - I_{1-y} cancels to 0 for small p.
        return check.unwrap(special.betainc(0.5, shape, np.minimum(ratio, 1.0) ** 2))
    scaled = epsilon / check.positive("sigma", _given("sigma", sigma))
    return check.unwrap(special.erf(scaled / (2.0 * np.sqrt(2.0))))


def shift_size(
    moved: Number, *, dim: Number | None = None, radius: Number | None = None, sigma: Number | None = None
) -> Any:
    """The shift epsilon that moves the fraction `moved` of the noise: the inverse of `moved_fraction`."""
    moved = check.fraction("moved", moved)
    if one_law(radius, sigma) == "uniform":
        scale, shape = (
            check.positive("radius", _given("radius", radius)),
            (check.dimension(_given("dim", dim)) + 1) / 2,
        )
        return check.unwrap(2.0 * scale * np.sqrt(special.betaincinv(0.5, shape, moved)))
    scale = check.positive("sigma", _given("sigma", sigma))
    return check.unwrap(2.0 * np.sqrt(2.0) * scale * special.erfinv(moved))


def one_law(radius: Number | None, sigma: Number | None) -> str:
    """'uniform' or 'gaussian', whichever of radius and sigma was given; both or neither is an error."""
    if (radius is None) == (sigma is None):
        raise ArgumentError("expected exactly one of `radius` (uniform ball) and `sigma` (Gaussian)")
    return "gaussian" if radius is None else "uniform"


def _given(name: str, value: Number | None) -> Number:
    if value is None:
        raise ArgumentError(f"expected `{name}` for this noise, got nothing")
    return value
