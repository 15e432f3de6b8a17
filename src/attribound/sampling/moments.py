"""Second and fourth moments of the draws along every direction at once, from above, in flat memory.

A batch of a few hundred draws is one Gram matrix G. Its largest eigenvalue bounds the second moment along any
direction; that of G squared entry by entry and centred bounds the variance of the squared projections, and so the
fourth moment. The supremum of a mean is at most the mean of the suprema, so batches are simply averaged.

The pilot fixes the centre, the direction and the loss. Proof: docs/theory/moment-rule.md.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import final

import torch
from torch import Tensor

from attribound.bounds.designs import choose_design, first_design
from attribound.bounds.facts import Closeness, Length
from attribound.bounds.moment import Moments, moments_along
from attribound.bounds.rules.moment import MomentBounds
from attribound.bounds.shares import SHARES
from attribound.sampling.scatter import eigenvalue_from_above, product_dtype
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

_BATCH_ROWS = 512
_BATCH_NUMBERS = 2**25
_PIECE = 512
"""Columns of one float32 product; the products' sums are float64."""

_PILOT_ROWS = 256
"""Draws of the pilot that are looked at for the choice of stretch and loss."""

_SHORTEST = 1e-6
"""A pilot's mean shorter than this, over the limit, has no direction worth the name."""

_STRETCHES = (0.6, 1.0, 1.6, 2.2, 3.0, 4.5)
_EIGENVALUE = 1 + 1e-9
"""A Cholesky factor proves its matrix positive definite up to n^2 2^-53 of the diagonal, 3e-11 for n = 512."""

_FLUSHED = 1e-28
"""More than float32 loses by taking numbers below 2^-126 for zero."""


@final
class FourthMoments(Statistic):
    """Second and fourth moments along every direction at once, for the cosines asked before the draws.

    Only for normal noise and draws of the field itself (no block means), where the moment rule holds. What it proves
    holds after any number of draws at once; each cosine pays its part of alpha.
    """

    fact = MomentBounds
    anytime = True

    def __init__(self, cosines: Sequence[float], share: float = SHARES["moments"]) -> None:
        self.share, self._cosines = share, tuple(sorted({float(one) for one in cosines if 0 < one < 1}))

    def start(self, pilot: Draws, setting: Setting) -> None:
        """Fix centre, direction, stretch and losses on the pilot, which is not used again."""
        self._limit, self._planned = setting.limit, max(setting.planned - len(pilot.on_device), 1)
        self._guesses: tuple[Moments, ...] = ()
        self._waiting: list[Tensor] = []
        self._lengths: list[Tensor] = []
        self._rows, self._full, self._second, self._fourth = 1, 0, 0.0, 0.0
        rows = pilot.on_device / self._limit
        self._sum, self._count = rows.sum(dim=0), len(rows)
        self._centre = rows.mean(dim=0)
        length = float(self._centre.norm())
        normal = setting.law.normal_shift(0.0) is not None
        if not (normal and setting.block == 1 and setting.size >= 2 and self._cosines and length >= _SHORTEST):
            return  # without normal noise, a question or a direction the rule says nothing
        self._direction = self._centre / length
        self._rows = min(_BATCH_ROWS, max(_BATCH_NUMBERS // setting.size, 16))
        alpha = self.share * setting.alpha / len(self._cosines)
        self._guesses = _guess(rows[:_PILOT_ROWS] - self._centre, self._direction, self._drafts(length), alpha)

    def add(self, draws: Draws) -> None:
        """Take in draws, independent of the pilot; one batch is kept."""
        if not self._guesses:
            return
        self._sum += draws.on_device.sum(dim=0) / self._limit
        self._count += len(draws.on_device)
        for part in draws.on_device.split(self._rows):
            rows = _stretched(part / self._limit - self._centre, self._direction, self._guesses[0].stretch)
            self._waiting.append(rows.to(product_dtype()))
            self._lengths.append(torch.linalg.vector_norm(rows, dim=1))
            if sum(len(rows) for rows in self._waiting) >= self._rows:
                self._second, self._fourth = self._sums()
                self._full, self._waiting, self._lengths = self._draws, [], []

    def prove(self, alpha: float, known: Facts) -> MomentBounds | None:
        """The moments and how far each cosine then reaches; nothing where the rule does not hold."""
        closeness = known[Closeness]
        assert isinstance(closeness, Closeness)
        return self._bounds(float(closeness.radius) / self._limit, self._draws, alpha, known)

    def hope(self, alpha: float, known: Facts) -> MomentBounds | None:
        """As if all planned draws were like those so far and the sampled map were exact."""
        return self._bounds(0.0, max(self._planned, self._draws), alpha, known)

    def _bounds(self, radius: float, draws: int, alpha: float, known: Facts) -> MomentBounds | None:
        if not self._guesses or not self._draws:
            return None
        length = known[Length]
        assert isinstance(length, Length)
        second, fourth = (total / self._draws for total in self._sums())
        tilt = _tilt(self._sum / self._count, self._direction, radius)
        found = [replace(guess, tilt=tilt, second=second, fourth=fourth, draws=draws) for guess in self._guesses]
        return MomentBounds.of(found, norm=float(length.lower), limit=self._limit, alpha=alpha / len(found))

    @property
    def _draws(self) -> int:
        """Draws taken in so far, without the pilot."""
        return self._full + sum(len(part) for part in self._waiting)

    def _drafts(self, length: float) -> list[Moments]:
        """What is known about each cosine before the pilot's spread is looked at."""
        start = first_design(1.0, self._planned)
        return [Moments(cosine, length, 0.0, 1.0, 1.0, 3.0, start, self._planned) for cosine in self._cosines]

    def _sums(self) -> tuple[float, float]:
        """Sums of the moments' bounds over all draws; those still waiting count as one batch."""
        if not self._waiting:
            return self._second, self._fourth
        rows, lengths = torch.cat(self._waiting), torch.cat(self._lengths)
        second, fourth = batch_moments(rows, lengths)
        return self._second + len(rows) * second, self._fourth + len(rows) * fourth


def batch_moments(rows: Tensor, lengths: Tensor) -> tuple[float, float]:
    """Upper bounds on the mean second and fourth moment of the rows along every unit direction.

    Args:
        rows: (n, m), rounded to float32 or float64.
        lengths: (n,) norms of the rows before rounding.
    """
    count, squares = len(rows), lengths.square()
    error = (min(rows.shape[1], _PIECE) + 4) * 2.0**-24
    gram = _gram(rows)
    lost = error * float(squares.sum()) + count * _FLUSHED
    second = _top(gram, lost) / count
    kernel = gram.square_()
    means = kernel.mean(dim=0)
    kernel -= means
    kernel -= (means - means.mean())[:, None]
    lost = 2 * error * (1 + error) * float(squares @ squares) + count * _FLUSHED
    lost += count * (count + 8) * 2.0**-50 * float(squares.max()) ** 2
    return second, second**2 + _top(kernel, lost) / count


def _top(matrix: Tensor, lost: float) -> float:
    """Upper bound on the largest eigenvalue of a positive semidefinite matrix known up to `lost` in trace and norm."""
    trace = float(matrix.trace())
    return (eigenvalue_from_above(matrix) * _EIGENVALUE if trace > lost else max(trace, 0.0)) + lost


def _gram(rows: Tensor) -> Tensor:
    """Inner products of the rows, float64 sums of products of a few hundred columns."""
    gram = torch.zeros(len(rows), len(rows), dtype=torch.float64, device=rows.device)
    with torch.autocast(rows.device.type, enabled=False):
        for piece in rows.split(_PIECE, dim=1):
            gram += piece @ piece.T
    return gram


def _tilt(mean: Tensor, direction: Tensor, radius: float) -> float:
    """Upper bound on the angle between `direction` and any vector within `radius` of `mean`; pi if there is none."""
    length = float(mean.norm())
    if radius >= length:
        return math.pi
    along = float(mean @ direction)
    across = float((mean - along * direction).norm())
    return min(math.atan2(across, along) + math.asin(radius / length) + 1e-9, math.pi)


def _stretched(rows: Tensor, direction: Tensor, stretch: float) -> Tensor:
    return torch.addr(rows, rows @ direction, direction, alpha=stretch - 1)


def _guess(rows: Tensor, direction: Tensor, drafts: list[Moments], alpha: float) -> tuple[Moments, ...]:
    """Complete the drafts by the pilot's spread: the best stretch, then the best loss for each cosine."""
    trace = float(rows.square().sum()) / len(rows)
    centre, planned = drafts[0].centre, drafts[0].draws
    tilt = min((math.sqrt(trace / len(rows)) + 2 * math.sqrt(trace / planned)) / centre, 1.0)
    norm = 0.99 * math.sqrt(max(centre**2 - trace / len(rows), 0.0))
    options = []
    for stretch in _STRETCHES:
        tried = _stretched(rows, direction, stretch)
        second, fourth = batch_moments(tried.to(product_dtype()), torch.linalg.vector_norm(tried, dim=1))
        # A small batch over-estimates the fourth moment, hence 0.8.
        guesses = [replace(d, tilt=tilt, stretch=stretch, second=second, fourth=0.8 * fourth) for d in drafts]
        options.append((sum(moments_along(guess)[1] for guess in guesses), guesses))
    best = min(options, key=lambda option: option[0])[1]
    started = [replace(guess, design=first_design(moments_along(guess)[0], planned)) for guess in best]
    return tuple(replace(guess, design=choose_design(guess, norm=norm, alpha=alpha)) for guess in started)
