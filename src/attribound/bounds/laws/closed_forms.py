"""The closed forms by keyword, as a calculator offers them."""

from typing import Any

from attribound import checks as check
from attribound.bounds.laws.base import Law
from attribound.bounds.laws.registry import LAWS
from attribound.checks import FloatArray, Number
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
        p in [0, 1].
    """
    epsilon = check.non_negative("epsilon", epsilon)
    law, value = law_given(radius=radius, sigma=sigma)
    return check.unwrap(law.moved(epsilon / value, dim))


def shift_size(
    moved: Number, *, dim: Number | None = None, radius: Number | None = None, sigma: Number | None = None
) -> Any:
    """The shift epsilon that moves the fraction `moved` of the noise: the inverse of `moved_fraction`."""
    law, value = law_given(radius=radius, sigma=sigma)
    return check.unwrap(value * law.ratio_at(moved, dim))


def law_given(**parameters: Number | None) -> tuple[type[Law], FloatArray]:
    """The law whose parameter was given, and its value; none or several is an error."""
    given = {name: value for name, value in parameters.items() if value is not None}
    if len(given) != 1:
        names = " and ".join(f"`{law.parameter}` ({law.kind})" for law in LAWS.values())
        raise ArgumentError(f"expected exactly one of {names}")
    (name, value), *_ = given.items()
    return next(law for law in LAWS.values() if law.parameter == name), check.positive(name, value)
