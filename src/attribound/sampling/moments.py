"""Second and fourth moments of the draws along every direction at once, from above, in flat memory.

The pilot fixes the centre, the direction and the loss. Proof: docs/theory/moment-rule.md.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import final

import numpy as np
import torch
from torch import Tensor

from attribound.bounds.designs import choose_design, first_design
from attribound.bounds.facts import Closeness, Length
from attribound.bounds.moment import Moments, moments_along
from attribound.bounds.rules.moment import MomentBounds
from attribound.bounds.shares import SHARES
from attribound.sampling.moment_sums import batch_moments, moment_sums
from attribound.sampling.scatter import product_dtype
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

_PILOT_ROWS = 256
"""Draws of the pilot that are looked at for the choice of stretch and loss."""

_SHORTEST = 1e-6
"""A pilot's mean shorter than this, over the limit, has no direction worth the name."""

_STRETCHES = (0.6, 1.0, 1.6, 2.2, 3.0, 4.5)


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
        self._guess: Moments | None = None
        rows = pilot.on_device / self._limit
        self._sum, self._count = rows.sum(dim=0), len(rows)
        self._sums = moment_sums(setting.size, rows.device)
        self._centre = rows.mean(dim=0)
        length = float(self._centre.norm())
        normal = setting.law.normal_shift(0.0) is not None
        if not (normal and setting.block == 1 and setting.size >= 2 and self._cosines and length >= _SHORTEST):
            return  # without normal noise, a question or a direction the rule says nothing
        self._direction = self._centre / length
        alpha = self.share * setting.alpha / len(self._cosines)
        self._guess = _guess(rows[:_PILOT_ROWS] - self._centre, self._direction, self._draft(length), alpha)

    def add(self, draws: Draws) -> None:
        """Take in draws, independent of the pilot."""
        if self._guess is None:
            return
        self._sum += draws.on_device.sum(dim=0) / self._limit
        self._count += len(draws.on_device)
        rows = draws.on_device / self._limit - self._centre
        self._sums.add(_stretched(rows, self._direction, float(self._guess.stretch)))

    def prove(self, alpha: float, known: Facts) -> MomentBounds | None:
        """The moments and how far each cosine then reaches; nothing where the rule does not hold."""
        closeness = known[Closeness]
        assert isinstance(closeness, Closeness)
        return self._bounds(float(closeness.radius) / self._limit, self._sums.count, alpha, known)

    def hope(self, alpha: float, known: Facts) -> MomentBounds | None:
        """As if all planned draws were like those so far and the sampled map were exact."""
        return self._bounds(0.0, max(self._planned, self._sums.count), alpha, known)

    def _bounds(self, radius: float, draws: int, alpha: float, known: Facts) -> MomentBounds | None:
        if self._guess is None or not self._sums.count:
            return None
        length = known[Length]
        assert isinstance(length, Length)
        second, fourth = self._sums.bounds()
        tilt = _tilt(self._sum / self._count, self._direction, radius)
        seen = replace(self._guess, tilt=tilt, second=second, fourth=fourth, draws=draws)
        return MomentBounds.of(seen, norm=float(length.lower), limit=self._limit, alpha=alpha / len(self._cosines))

    def _draft(self, length: float) -> Moments:
        """What is known about the cosines before the pilot's spread is looked at."""
        start = first_design(1.0, self._planned)
        return Moments(np.array(self._cosines), length, 0.0, 1.0, 1.0, 3.0, start, self._planned)


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


def _guess(rows: Tensor, direction: Tensor, draft: Moments, alpha: float) -> Moments:
    """Complete the draft by the pilot's spread: the best stretch, then the best loss for each cosine."""
    trace = float(rows.square().sum()) / len(rows)
    centre, planned = float(draft.centre), int(draft.draws)
    tilt = min((math.sqrt(trace / len(rows)) + 2 * math.sqrt(trace / planned)) / centre, 1.0)
    norm = 0.99 * math.sqrt(max(centre**2 - trace / len(rows), 0.0))
    options = []
    for stretch in _STRETCHES:
        tried = _stretched(rows, direction, stretch)
        second, fourth = batch_moments(tried.to(product_dtype()), torch.linalg.vector_norm(tried, dim=1))
        # A small batch over-estimates the fourth moment, hence 0.8.
        options.append(replace(draft, tilt=tilt, stretch=stretch, second=second, fourth=0.8 * fourth))
    best = min(options, key=lambda option: float(np.sum(moments_along(option)[1])))
    started = replace(best, design=first_design(moments_along(best)[0], planned))
    return replace(started, design=choose_design(started, norm=norm, alpha=alpha))
