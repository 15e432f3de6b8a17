"""The norm of the smoothed map: projections onto the direction of all *earlier* draws, and a betting bound."""

from typing import final

import numpy as np
import torch

from attribound.bounds import confidence
from attribound.bounds.facts import Length
from attribound.bounds.shares import SHARES
from attribound.checks import FloatArray
from attribound.fields.bounded import unit_rows
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic


@final
class Norm(Statistic):
    """Lower bound on the map's norm, valid at every number of draws at once (docs/theory/confidence.md).

    Memory: one float per draw.
    """

    fact = Length
    anytime = True

    def __init__(self, share: float = SHARES["norm"]) -> None:
        self.share = share

    def start(self, pilot: Draws, setting: Setting) -> None:
        """The pilot gives the first direction."""
        self._limit, self._planned, self._count = setting.limit, setting.planned, 0
        self._sum = torch.zeros(setting.size, dtype=torch.float64, device=pilot.on_device.device)
        self._direction = torch.zeros_like(self._sum)
        self._projections = np.empty(max(setting.planned, 1), np.float64)
        self._filled = 0
        self._advance(pilot)

    def add(self, draws: Draws) -> None:
        """Project onto what was known before, then learn."""
        values = (draws.on_device @ self._direction).clamp(-self._limit, self._limit).cpu().numpy()
        self._projections[self._filled : self._filled + len(values)] = values
        self._filled += len(values)
        self._advance(draws)

    def _advance(self, draws: Draws) -> None:
        self._sum += draws.on_device.sum(dim=0)
        self._count += len(draws.on_device)
        self._direction = unit_rows(self._sum[None])[0]

    @property
    def mean(self) -> torch.Tensor:
        """(m,) the sampled map."""
        return self._sum.cpu() / self._count

    @property
    def count(self) -> int:
        """Draws taken, the pilot included."""
        return self._count

    def prove(self, alpha: float, known: Facts) -> Length:
        """By betting on the projections."""
        return self._length(
            confidence.norm_lower_bound(self._seen, limit=self._limit, alpha=alpha, horizon=self._planned)
        )

    def hope(self, alpha: float, known: Facts) -> Length:
        """The mean projection, four standard errors up."""
        seen = self._seen
        hopeful = float(seen.mean() + 4 * seen.std() / np.sqrt(seen.size)) if seen.size else self._limit
        return self._length(max(min(hopeful, self._limit), 0.0))

    @property
    def _seen(self) -> FloatArray:
        return self._projections[: self._filled]

    def _length(self, lower: float) -> Length:
        return Length(lower=lower, sampled=float(self.mean.norm()))
