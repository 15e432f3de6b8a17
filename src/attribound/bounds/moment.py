"""The moment rule: Gaussian noise, and a loss that saturates in place of the square.

The covariance rule knows second moments only, so it must fear a projection that is almost always 0 and rarely huge.
With f(y) = K (1 - exp(-(g2 y^2 + g4 y^4) / K)), Young's inequality (L - 1) y <= f*(L - 1) + f(y) needs the mean of a
bounded f(y) along one direction, which the draws' second and fourth moments bound from above:

    E f*(L - 1) + S < c sin(theta)   implies   cos(h, h~) >= cos(theta) for every shift up to sigma * mu.

All lengths are in units of the limit M. Statement and proof: docs/theory/moment-rule.md.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize, special

from attribound import checks as check
from attribound.checks import FloatArray
from attribound.errors import ArgumentError

LARGEST = 8.0
"""Shifts beyond this many sigmas are not asked for: no number of draws that can be paid for reaches them."""

_SLACK = 1e-8
"""How far draws may exceed the limit, and angles their values, by rounding: far more than they do."""

_ROUNDING = 1e-11
"""Allowance for rounding in E f*, relative to 1 + the largest loss (derived in docs/theory/moment-rule.md)."""

NODES = 501
"""Nodes in y for what is certified: three times as many gain a hundred-thousandth of epsilon."""


@dataclass(frozen=True)
class Design:
    """The loss f(y) = ceiling (1 - exp(-(quadratic y^2 + quartic y^4) / ceiling)), fixed before the draws.

    Attributes:
        quadratic: g2 >= 0.
        quartic: g4 >= 0.
        ceiling: K > 0, which f never reaches.
    """

    quadratic: float
    quartic: float
    ceiling: float

    def __post_init__(self) -> None:
        check.non_negative("quadratic", self.quadratic)
        check.non_negative("quartic", self.quartic)
        check.positive("ceiling", self.ceiling)


@dataclass(frozen=True)
class Moments:
    """What the draws say for one cosine; with the norm's lower bound, a shift follows (`largest_shift`).

    Attributes:
        cosine: the cosine asked for before the draws.
        centre: length of the pilot's mean a, over the limit.
        tilt: upper bound on the angle between a and h, radians.
        stretch: by how much the draws' part along a was stretched before taking moments.
        second: upper bound on the sampled second moment of the stretched draws along any direction, over limit^2.
        fourth: the same for the fourth moment, over limit^4.
        design: the loss, fixed on the pilot.
        draws: number of draws behind `second` and `fourth`; the pilot is not among them.
    """

    cosine: float
    centre: float
    tilt: float
    stretch: float
    second: float
    fourth: float
    design: Design
    draws: int

    def __post_init__(self) -> None:
        check.fraction("cosine", self.cosine)
        for name in ("centre", "tilt", "second", "fourth"):
            check.non_negative(name, getattr(self, name))
        check.positive("stretch", self.stretch)
        check.count("draws", self.draws)


@dataclass(frozen=True)
class Band:
    """Where the directions e that matter lie: the range of <e, w>, w the direction of the pilot's mean."""

    low: float
    high: float

    @classmethod
    def around(cls, cosine: float, tilt: float) -> "Band":
        """Directions at sine sin(theta) to h, cos(theta) = cosine, when h is within `tilt` <= pi/2 of w."""
        angle = float(np.arccos(cosine))
        return cls(
            low=float(np.sin(max(angle - tilt, -np.pi / 2))) - _SLACK,
            high=float(np.sin(min(angle + tilt, np.pi / 2))) + _SLACK,
        )

    def reach(self, centre: float) -> tuple[float, float]:
        """The range of y = <e, a - g> over the band, for every |g| <= 1."""
        return centre * self.low - 1 - _SLACK, centre * self.high + 1 + _SLACK

    def shrinkage(self, stretch: float) -> float:
        """R^2 with <e, X>^2 <= R^2 <e', X'>^2, |e'| <= 1, where X' is X stretched along w."""
        nearest = max(self.low, 0.0) if stretch > 1 else self.high
        return 1.0 - nearest**2 * (1.0 - stretch**-2) + _SLACK


@dataclass(frozen=True)
class Conjugate:
    """E f*(L - 1) from above as a function of the shift, f* the conjugate of a design's loss on [low, high].

    On nodes in y the loss is lowered by what its curvature can hide between them, so the conjugate is at most the
    largest of finitely many lines in L, and its mean is a sum of E(L - level)_+, in closed form.
    """

    design: Design
    low: float
    high: float
    nodes: int = NODES

    @cached_property
    def _lowered(self) -> FloatArray:
        """The loss at the nodes, less h^2/8 times the largest f'' in the neighbouring cells."""
        y, step = np.linspace(self.low, self.high, self.nodes, retstep=True)
        k2, k4, top = self.design.quadratic, self.design.quartic, self.design.ceiling
        square = y**2
        growth = (k2 + k4 * square) * square
        ends = np.maximum(square[1:], square[:-1])
        inner = np.where(y[1:] * y[:-1] > 0, np.minimum(growth[1:], growth[:-1]), 0.0)
        with np.errstate(over="ignore"):  # an absurd loss gives an infinite bound or none
            bend = step**2 / 8 * (2 * k2 + 12 * k4 * ends) * np.exp(-inner / top)
            allowance = np.maximum(np.append(bend, 0.0), np.append(0.0, bend))
            lowered: FloatArray = -top * np.expm1(-growth / top) - allowance
        return lowered

    @cached_property
    def _levels(self) -> tuple[FloatArray, FloatArray]:
        """Where the steepest line changes (levels of L, rising) and by how much its slope grows there.

        The lines that are ever largest are the corners of the greatest convex function below the nodes; its slopes
        are the isotonic regression of the slopes between nodes.
        """
        step = (self.high - self.low) / (self.nodes - 1)
        slopes = optimize.isotonic_regression(np.diff(self._lowered) / step).x
        first = np.flatnonzero(np.append(True, np.diff(slopes) > 0))
        return 1.0 + slopes[first], step * np.diff(np.append(first, slopes.size))

    @cached_property
    def _start(self) -> float:
        return float(-self._lowered[0] + _ROUNDING * (1 + np.abs(self._lowered).max()))

    def mean(self, shift: float) -> float:
        """Upper bound on E f*(L - 1), L = exp(shift z - shift^2/2), z standard normal; rises with the shift."""
        levels, widths = self._levels
        return self._start + float(widths @ excess(levels, shift))


def excess(level: FloatArray, shift: float) -> FloatArray:
    """E(L - level)_+ for L = exp(shift z - shift^2/2): convex in L, so it rises with the shift."""
    if shift <= 0:
        return np.maximum(1.0 - level, 0.0)
    positive = np.maximum(level, 1e-300)
    outer = shift / 2 - np.log(positive) / shift
    value = special.ndtr(outer) - positive * special.ndtr(outer - shift)
    return np.where(level > 0, np.maximum(value, 0.0), 1.0 - level)


def conjugate_mean(shift: float, design: Design, low: float, high: float) -> float:
    """Upper bound on E f*(L - 1), f*(s) = max over y in [low, high] of s y - f(y), for a shift in sigmas."""
    if not low < high:
        raise ArgumentError(f"expected `low` < `high`, got {low:g} and {high:g}")
    return Conjugate(design, low, high).mean(float(check.non_negative("shift", shift)))


def loss_mean(design: Design, second: float, fourth: float, *, draws: int, alpha: float) -> float:
    """S: with probability at least 1 - alpha above E f(y) along the worst direction, at every number of draws."""
    seen = design.quadratic * second + design.quartic * fourth
    pay = np.log(1 / alpha) / draws
    return float(-design.ceiling * np.expm1(-seen / design.ceiling - pay)) * (1 + 1e-12)


def largest_shift(moments: Moments, *, norm_lower: float, limit: float, alpha: float) -> float:
    """The largest shift, in sigmas, up to which the cosine is certified; 0.0 where nothing follows.

    With probability at least 1 - alpha (and while `norm_lower` and `moments.tilt` hold) every change of the input
    of length at most sigma times the result keeps cos(h, h~) >= moments.cosine.

    Args:
        moments: what the draws say.
        norm_lower: lower bound on ||h||.
        limit: upper bound on the field's norm.
        alpha: failure probability of this cosine's own event.
    """
    kappa = float(check.norm_over_limit(norm_lower, limit))
    alpha = float(check.alpha(alpha))
    return reach(moments, kappa, alpha, NODES)


def supports(moments: Moments, shift: float, *, norm_lower: float, limit: float, alpha: float) -> bool:
    """Whether the rule certifies the cosine up to this shift: one evaluation, to check a stored shift."""
    kappa = float(check.norm_over_limit(norm_lower, limit))
    if moments.tilt > np.pi / 2:
        return False
    band = Band.around(moments.cosine, moments.tilt)
    return Conjugate(moments.design, *band.reach(moments.centre)).mean(shift) < _room(moments, kappa, alpha)


def reach(moments: Moments, kappa: float, alpha: float, nodes: int) -> float:
    """Bisect on the rule itself, norm over limit given: the result was evaluated and found certified."""
    if moments.tilt > np.pi / 2:
        return 0.0
    room = _room(moments, kappa, alpha)
    if room <= 0:
        return 0.0
    band = Band.around(moments.cosine, moments.tilt)
    conjugate = Conjugate(moments.design, *band.reach(moments.centre), nodes)
    low, high = 0.0, LARGEST
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if conjugate.mean(middle) < room else (low, middle)
    return low * (1 - 1e-12)


def _room(moments: Moments, kappa: float, alpha: float) -> float:
    """What is left of c sin(theta) for E f*(L - 1)."""
    sine = np.sqrt((1 - moments.cosine) * (1 + moments.cosine))
    return float(kappa * sine * (1 - 1e-12)) - loss_mean(
        moments.design, *moments_along(moments), draws=moments.draws, alpha=alpha
    )


def moments_along(moments: Moments) -> tuple[float, float]:
    """Bounds on the sampled second and fourth moments along every direction that matters."""
    shrinkage = Band.around(moments.cosine, moments.tilt).shrinkage(moments.stretch)
    return shrinkage * moments.second, shrinkage**2 * moments.fourth
