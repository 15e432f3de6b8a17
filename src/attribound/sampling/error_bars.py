"""Error bars: how far each cell of the sampled map is from the exact one."""

import math
from typing import final

import torch
from torch import Tensor

from attribound.bounds.cells import BOLDEST, ErrorBars
from attribound.bounds.shares import SHARES
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

_ROUNDING = 1e-12
"""Added to every distance, relative to the limit, for sums in float64."""


@final
class CellErrors(Statistic):
    """An empirical Bernstein confidence sequence for every cell, all cells at once (docs/theory/cells.md).

    Weights and centres of a chunk depend on earlier chunks only, so it holds at every number of chunks at once. Memory
    and work: a few numbers per cell.
    """

    fact = ErrorBars
    anytime = True

    def __init__(self, share: float = SHARES["error_bars"]) -> None:
        self.share = share

    def start(self, pilot: Draws, setting: Setting) -> None:
        """The pilot gives the first centres and variances."""
        self._setting = setting
        # Only what the weights are tuned for: whatever alpha is proved in the end, the bound holds.
        self._level = math.log(2 * setting.size / (self.share * setting.alpha))
        self._count, self._tested = 0, 0
        self._mean, self._squares = (torch.zeros(setting.size, dtype=torch.float64) for _ in range(2))
        self._weight, self._weighted, self._variation = (torch.zeros_like(self._mean) for _ in range(3))
        self._learn(pilot.maps.sum(dim=0), pilot.maps.var(dim=0, correction=0) * len(pilot.maps), len(pilot.maps))

    def add(self, draws: Draws) -> None:
        """Weigh with what was known before, then learn."""
        number = len(draws.maps)
        total = draws.maps.sum(dim=0)
        about = (draws.maps - self._mean).square_().sum(dim=0)
        # No draw is further than this from the centre on either side.
        reach = self._setting.limit + self._mean.abs()
        weight = self._weights(reach)
        self._weight += number * weight / reach
        self._weighted += weight / reach * total
        self._variation += (-torch.log1p(-weight) - weight) * about / reach**2
        self._tested += number
        self._learn(total, about - number * (total / number - self._mean).square(), number)

    def _weights(self, reach: Tensor) -> Tensor:
        """Per cell: what makes the bound smallest if the variance stays as it was, s / (1 + s)."""
        planned = max(self._setting.planned, 1)
        variance = (self._squares / (self._count * reach**2)).clamp(min=1 / planned)
        step = torch.sqrt(2 * self._level / (planned * variance))
        return (step / (1 + step)).clamp(max=BOLDEST)

    def _learn(self, total: Tensor, squares: Tensor, number: int) -> None:
        """Join means and sums of squares about them (Chan et al. 1983)."""
        both = self._count + number
        step = total / number - self._mean
        self._squares += squares + step.square() * (self._count * number / both)
        self._mean += step * (number / both)
        self._count = both

    def prove(self, alpha: float, known: Facts) -> ErrorBars:
        """Distance from the weighted mean, and the weighted mean's own error."""
        if self._tested == 0:
            return self._bars(torch.full_like(self._mean, math.inf))
        level = math.log(2 * self._setting.size / alpha)
        centre = self._weighted / self._weight
        return self._bars((centre - self._mean).abs() + (level + self._variation) / self._weight)

    def hope(self, alpha: float, known: Facts) -> ErrorBars:
        """As if the sampled map were exact: which of two close cells is larger is not known before the end."""
        return ErrorBars(torch.zeros_like(self._mean).numpy())

    def _bars(self, half: Tensor) -> ErrorBars:
        return ErrorBars.of((half.clamp(max=2 * self._setting.limit) + _ROUNDING * self._setting.limit).numpy())
