"""How much the maps vary under the noise: the largest eigenvalue of their covariance, from above."""

import math
from typing import final

import torch
from torch import Tensor

from attribound.bounds import confidence
from attribound.bounds.facts import Spread
from attribound.bounds.shares import SHARES
from attribound.sampling.scatter import make_scatter
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

_NEAR = 1.25
"""Draws further from the centre than this times the pilot's furthest are counted, not averaged."""


@final
class SecondMoments(Statistic):
    """Upper bound on the largest eigenvalue about the pilot's mean (docs/theory/confidence.md)."""

    fact = Spread

    def __init__(self, share: float = SHARES["spread"]) -> None:
        self.share = share

    def start(self, pilot: Draws, setting: Setting) -> None:
        """The pilot fixes the centre, and what counts as near."""
        self._setting = setting
        self._centre = pilot.on_device.mean(dim=0)
        self._reach = setting.limit + float(self._centre.norm())
        near = _NEAR * float(torch.linalg.vector_norm(pilot.on_device - self._centre, dim=1).max())
        self._near = near if 0 < near < self._reach else math.inf
        self._far = 0
        self._scatter = make_scatter(setting.size, min(self._near, self._reach), self._centre.device)

    def add(self, draws: Draws) -> None:
        """Second moments of the draws near the centre; the few far ones are only counted."""
        rows = draws.on_device - self._centre
        lengths = torch.linalg.vector_norm(rows, dim=1)
        if float(lengths.max()) > self._near:
            far = lengths > self._near
            self._far += int(far.sum())
            rows[far], lengths[far] = 0.0, 0.0
        self._scatter.add(rows, _squares(lengths))

    def prove(self, alpha: float, known: Facts) -> Spread:
        """Chernoff's bound along the true top eigenvector."""
        return self._spread(self._scatter.eigenvalue, self._scatter.count, self._far, alpha)

    def hope(self, alpha: float, known: Facts) -> Spread:
        """As if all planned draws were taken and the noise of the sampled eigenvalue were gone."""
        floor = self._scatter.trace / max(self._scatter.count, 1) ** 2
        return self._spread(max(self._scatter.eigenvalue - 2 * floor, 0.0), self._setting.planned, 0, alpha)

    def _spread(self, eigenvalue: float, samples: int, far: int, alpha: float) -> Spread:
        upper = confidence.eigenvalue_upper_bound(
            eigenvalue, reach=self._reach, samples=max(samples, 1), alpha=alpha, near=self._near, far=far
        )
        # A mean over `block` independent noises varies `block` times less than the field itself can.
        return Spread(upper * self._setting.block)


def _squares(lengths: Tensor) -> float:
    return float(lengths @ lengths)
