"""The moment rule: Gaussian noise, and a loss that saturates in place of the square.

The covariance rule knows second moments only, so it must fear a projection that is almost always 0 and rarely huge.
With f(y) = K (1 - exp(-(g2 y^2 + g4 y^4) / K)), Young's inequality (L - 1) y <= f*(L - 1) + f(y) needs the mean of a
bounded f(y) along one direction, which the draws' second and fourth moments bound from above:

    E f*(L - 1) + S < c sin(theta)   implies   cos(h, h~) >= cos(theta) for every shift up to sigma * mu.

All lengths are in units of the limit M. Statement and proof: docs/theory/moment-rule.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from attribound import checks as check
from attribound.bounds.lines import Lines
from attribound.checks import FloatArray
from attribound.errors import ArgumentError

BoolArray = npt.NDArray[np.bool_]

LARGEST = 8.0
"""Shifts beyond this many sigmas are not asked for: no number of draws that can be paid for reaches them."""

_SLACK = 1e-8
"""How far draws may exceed the limit, and angles their values, by rounding: far more than they do."""

_ROUNDING = 1e-11
"""Allowance for rounding in E f*, relative to 1 + the largest loss (derived in docs/theory/moment-rule.md)."""

NODES = 501
"""Nodes in y for what is certified: three times as many gain a hundred-thousandth of epsilon."""

_TOGETHER = 128
"""Questions that are answered together where there are many."""


Values = float | FloatArray
"""A number, or an array of one per question."""


@dataclass(frozen=True)
class Design:
    """The loss f(y) = ceiling (1 - exp(-(quadratic y^2 + quartic y^4) / ceiling)), fixed before the draws.

    Attributes:
        quadratic: g2 >= 0.
        quartic: g4 >= 0.
        ceiling: K > 0, which f never reaches.
    """

    quadratic: Values
    quartic: Values
    ceiling: Values

    def __post_init__(self) -> None:
        check.non_negative("quadratic", self.quadratic)
        check.non_negative("quartic", self.quartic)
        check.positive("ceiling", self.ceiling)


@dataclass(frozen=True)
class Moments:
    """What the draws say for one cosine, or for several (arrays); with the norm, shifts follow (`largest_shift`).

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

    cosine: Values
    centre: Values
    tilt: Values
    stretch: Values
    second: Values
    fourth: Values
    design: Design
    draws: Values

    def __post_init__(self) -> None:
        check.fraction("cosine", self.cosine)
        for name in ("centre", "tilt", "second", "fourth"):
            check.non_negative(name, getattr(self, name))
        check.positive("stretch", self.stretch)
        check.count("draws", self.draws)


@dataclass(frozen=True)
class Band:
    """Where the directions e that matter lie: the range of <e, w>, w the direction of the pilot's mean."""

    low: Values
    high: Values

    @classmethod
    def around(cls, cosine: Values, tilt: Values) -> "Band":
        """Directions at sine sin(theta) to h, cos(theta) = cosine, when h is within `tilt` <= pi/2 of w."""
        angle = np.arccos(cosine)
        return cls(
            low=np.sin(np.maximum(angle - tilt, -np.pi / 2)) - _SLACK,
            high=np.sin(np.minimum(angle + tilt, np.pi / 2)) + _SLACK,
        )

    def reach(self, centre: Values) -> tuple[Values, Values]:
        """The range of y = <e, a - g> over the band, for every |g| <= 1."""
        return centre * self.low - 1 - _SLACK, centre * self.high + 1 + _SLACK

    def shrinkage(self, stretch: Values) -> Values:
        """R^2 with <e, X>^2 <= R^2 <e', X'>^2, |e'| <= 1, where X' is X stretched along w."""
        stretch = np.asarray(stretch, np.float64)
        nearest = np.where(stretch > 1, np.maximum(self.low, 0.0), self.high)
        return np.asarray(1.0 - nearest**2 * (1.0 - stretch**-2) + _SLACK)


@dataclass(frozen=True)
class Conjugate:
    """E f*(L - 1) from above as a function of the shift, f* the conjugate of a design's loss on [low, high].

    On nodes in y the loss is lowered by what its curvature can hide between them, so the conjugate is at most the
    largest of finitely many lines in L, and its mean is a sum of E(L - level)_+, in closed form.
    """

    design: Design
    low: Values
    high: Values
    nodes: int = NODES

    @cached_property
    def _step(self) -> FloatArray:
        return (np.asarray(self.high) - self.low) / (self.nodes - 1)

    @cached_property
    def _lowered(self) -> FloatArray:
        """(..., n) the loss at the nodes, less h^2/8 times the largest f'' in the neighbouring cells."""
        y = np.arange(self.nodes) * _column(self._step)
        y += _column(self.low)
        design = self.design
        k2, k4, top = map(_column, np.broadcast_arrays(design.quadratic, design.quartic, design.ceiling))
        with np.errstate(over="ignore", invalid="ignore"):  # an absurd loss gives an infinite bound or none
            square = y * y
            falling = square * (-k4 / top)
            falling += -k2 / top
            falling *= square
            np.expm1(falling, out=falling)
            inner = np.maximum(falling[..., 1:], falling[..., :-1])
            _open(inner.reshape(-1, self.nodes - 1), np.broadcast_to(y, falling.shape).reshape(-1, self.nodes))
            inner += 1.0
            bend = np.maximum(square[..., 1:], square[..., :-1]) * (1.5 * _column(self._step) ** 2 * k4)
            bend += _column(self._step) ** 2 / 4 * k2
            bend *= inner
            lowered: FloatArray = np.multiply(falling, -top, out=falling)
            lowered[..., 1:-1] -= np.maximum(bend[..., 1:], bend[..., :-1])
            lowered[..., 0] -= bend[..., 0]
            lowered[..., -1] -= bend[..., -1]
        return lowered

    @cached_property
    def _lines(self) -> Lines:
        """The lines that make f*: rising slopes of the greatest convex function below the nodes."""
        lowered = self._lowered.reshape(-1, self.nodes)
        return Lines.below(lowered, np.broadcast_to(self._step, self._lowered.shape[:-1]).ravel())

    @cached_property
    def _start(self) -> FloatArray:
        lowered = self._lowered
        largest = np.maximum(lowered.max(axis=-1), -lowered.min(axis=-1))
        return np.asarray(-lowered[..., 0] + _ROUNDING * (1 + largest))

    def mean(self, shift: Values) -> FloatArray:
        """Upper bound on E f*(L - 1), L = exp(shift z - shift^2/2), z standard normal; rises with the shift."""
        shifts = np.empty(self._start.shape)
        shifts[...] = shift
        total = self._lines.excess(shifts.ravel()).reshape(self._start.shape)
        return np.asarray(self._start + self._step * total)


def _open(inner: FloatArray, nodes: FloatArray) -> None:
    """Set (N, n - 1) numbers of cells to 0 where the cell does not lie on one side of 0; nodes (N, n) rise evenly."""
    first, last = nodes[:, 0], nodes[:, -1]
    zero = np.clip((nodes.shape[1] - 1) * -first / (last - first), 0, nodes.shape[1] - 2)
    cells = np.clip(zero.astype(np.intp)[:, None] + np.arange(-1, 2), 0, nodes.shape[1] - 2)
    rows = np.arange(len(nodes))[:, None]
    inner[rows, cells] *= nodes[rows, cells] * nodes[rows, cells + 1] > 0


def _column(values: Values) -> FloatArray:
    """With a last axis for the nodes."""
    return np.asarray(values, np.float64)[..., None]


def conjugate_mean(shift: float, design: Design, low: float, high: float) -> float:
    """Upper bound on E f*(L - 1), f*(s) = max over y in [low, high] of s y - f(y), for a shift in sigmas."""
    if not low < high:
        raise ArgumentError(f"expected `low` < `high`, got {low:g} and {high:g}")
    return float(Conjugate(design, low, high).mean(check.non_negative("shift", shift)))


def loss_mean(design: Design, second: Values, fourth: Values, *, draws: Values, alpha: Values) -> FloatArray:
    """S: with probability at least 1 - alpha above E f(y) along the worst direction, at every number of draws."""
    with np.errstate(over="ignore"):
        seen = design.quadratic * second + design.quartic * fourth
    pay = np.log(1 / np.asarray(alpha)) / draws
    with np.errstate(over="ignore"):  # an absurd loss is as large as its ceiling
        return np.asarray(-design.ceiling * np.expm1(-seen / design.ceiling - pay) * (1 + 1e-12))


def largest_shift(moments: Moments, *, norm_lower: float, limit: float, alpha: float) -> Any:
    """The largest shift, in sigmas, up to which the cosine is certified; 0.0 where nothing follows.

    With probability at least 1 - alpha (and while `norm_lower` and `moments.tilt` hold) every change of the input
    of length at most sigma times the result keeps cos(h, h~) >= moments.cosine.

    Args:
        moments: what the draws say.
        norm_lower: lower bound on ||h||.
        limit: upper bound on the field's norm.
        alpha: failure probability of each cosine's own event.
    """
    kappa = float(check.norm_over_limit(norm_lower, limit))
    return check.unwrap(reach(moments, kappa, float(check.alpha(alpha)), NODES))


def supports(moments: Moments, shift: Values, *, norm_lower: Values, limit: Values, alpha: Values) -> BoolArray:
    """Whether the rule certifies each cosine up to its shift: one evaluation, to check stored shifts."""
    kappa = np.minimum(np.asarray(norm_lower, np.float64) / limit, 1.0)
    conjugate, room = _rule(moments, kappa, alpha, NODES)
    mean = np.concatenate([*_means(conjugate, shift, np.shape(room))]).reshape(np.shape(room))
    return np.asarray((np.asarray(moments.tilt) <= np.pi / 2) & (mean < room))


def _means(conjugate: Conjugate, shift: Values, shape: tuple[int, ...]) -> Iterator[FloatArray]:
    """`conjugate.mean(shift)` of this shape, flat, a few questions at a time: what is in the cache is quick."""
    design = conjugate.design
    columns = (design.quadratic, design.quartic, design.ceiling, conjugate.low, conjugate.high, shift)
    flat = [np.broadcast_to(column, shape).ravel() for column in columns]
    for at in range(0, len(flat[0]), _TOGETHER):
        k2, k4, top, low, high, asked = (column[at : at + _TOGETHER] for column in flat)
        yield Conjugate(Design(k2, k4, top), low, high, conjugate.nodes).mean(asked)


def reach(moments: Moments, kappa: float, alpha: float, nodes: int, tolerance: float = 1e-9) -> FloatArray:
    """Bisect on the rule itself, norm over limit given: each result above 0 was evaluated and found certified."""
    conjugate, room = _rule(moments, kappa, alpha, nodes)
    known = (np.asarray(moments.tilt) <= np.pi / 2) & (room > 0)
    low, high = np.zeros(np.shape(room)), np.full(np.shape(room), LARGEST)
    while known.any() and float((high - low).max()) > tolerance:
        middle = (low + high) / 2
        holds = conjugate.mean(middle) < room
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return np.where(known, low * (1 - 1e-12), 0.0)


def _rule(moments: Moments, kappa: Values, alpha: Values, nodes: int) -> tuple[Conjugate, FloatArray]:
    """E f*(L - 1) as a function of the shift, and what is left of c sin(theta) for it."""
    band = Band.around(moments.cosine, moments.tilt)
    sine = np.sqrt((1 - np.asarray(moments.cosine)) * (1 + np.asarray(moments.cosine)))
    loss = loss_mean(moments.design, *moments_along(moments), draws=moments.draws, alpha=alpha)
    room = np.asarray(kappa * sine * (1 - 1e-12) - loss)
    return Conjugate(moments.design, *band.reach(moments.centre), nodes), room


def moments_along(moments: Moments) -> tuple[Values, Values]:
    """Bounds on the sampled second and fourth moments along every direction that matters."""
    shrinkage = Band.around(moments.cosine, moments.tilt).shrinkage(moments.stretch)
    return shrinkage * moments.second, shrinkage**2 * moments.fourth
