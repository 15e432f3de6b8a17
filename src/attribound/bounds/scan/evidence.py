"""What is kept of a scan: everything that its answers follow from, position by position, rounded to the safe side.

A scan's windows fill megabytes. What a decision needs of them is three numbers per position and cosine, and two for the
class. Rounding is downward where a smaller number proves less and upward where a larger one does: what is kept proves
no more than what was drawn.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from attribound.bounds.scan.directions import Cone
from attribound.bounds.scan.grid import Grid
from attribound.bounds.scan.loss import BETS
from attribound.bounds.scan.reach import Decision, Side, decide, share_proved, share_threshold, sides, walk
from attribound.bounds.scan.tally import Windows
from attribound.checks import FloatArray

_LEAST_STEP, _BET_STEP = 2.0**-15, 2.0**-14
_LOWEST = -10.0
"""Nothing is proved at or below this."""

_TOLERANCE = 1e-5


@final
@dataclass(frozen=True)
class KeptDecision:
    """A decision as it is kept.

    Attributes:
        smallest: (J,) float32, rounded down.
        bet: (J,) which of the bets, uint8.
        least: (J,) B - 1 in steps of 2^-15, rounded up, uint16.
    """

    smallest: npt.NDArray[np.float32]
    bet: npt.NDArray[np.uint8]
    least: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, decision: Decision) -> "KeptDecision":
        """Round to the safe side."""
        least = np.ceil((decision.least - 1) / _LEAST_STEP)
        bet = np.abs(BETS[None, :] - decision.kappa[:, None]).argmin(axis=1)
        return cls(_down(decision.smallest), bet.astype(np.uint8), np.minimum(least, 65535).astype(np.uint16))

    def decision(self) -> Decision:
        """The numbers again."""
        kappa: FloatArray = BETS[self.bet]
        return Decision(self.smallest.astype(np.float64), kappa, 1 + self.least.astype(np.float64) * _LEAST_STEP)


@final
@dataclass(frozen=True)
class ScanEvidence:
    """What a scan's answers follow from; lengths are over the limit.

    Attributes:
        grid: where it looked.
        draws: draws in a window.
        along: (J,) parts of the window means along the reference, float32.
        across: (J,) lengths of the parts across it, float32.
        decisions: by cosine.
        hits: (J,) draws in the window that had the class, uint32.
        bets: (J,) bets on the class in steps of 2^-14, rounded down, uint16.
    """

    grid: Grid
    draws: int
    along: npt.NDArray[np.float32]
    across: npt.NDArray[np.float32]
    decisions: Mapping[float, KeptDecision]
    hits: npt.NDArray[np.uint32]
    bets: npt.NDArray[np.uint16]

    @classmethod
    def of(cls, windows: Windows, cosines: Sequence[float], alpha: float) -> "ScanEvidence":
        """Keep what answers about these cosines need; alpha is that of each."""
        grid = windows.design.grid
        bets = windows.design.share_bets(share_threshold(grid))
        return cls(
            grid=grid,
            draws=windows.draws,
            along=windows.along.astype(np.float32),
            across=windows.across.astype(np.float32),
            decisions={
                cosine: KeptDecision.of(decide(windows, cosine=cosine, alpha=alpha / sides(grid))) for cosine in cosines
            },
            hits=np.rint(windows.shares * windows.draws).astype(np.uint32),
            bets=np.floor(bets / _BET_STEP).astype(np.uint16),
        )

    def reach(self, cosine: float, alpha: float) -> tuple[Side, Side]:
        """As `map_reach`."""
        level = alpha / sides(self.grid)
        margins = self.decisions[cosine].decision().margins(draws=self.draws, half=self.grid.half, alpha=level)
        return walk(margins > 0, self.grid)

    def class_reach(self, alpha: float) -> tuple[Side, Side]:
        """As `share_reach`."""
        bets = self.bets.astype(np.float64) * _BET_STEP
        return walk(share_proved(self.hits.astype(np.float64), bets, self.draws, self.grid, alpha), self.grid)

    @property
    def angles(self) -> FloatArray:
        """(J,) sampled angles to the reference, in degrees."""
        angles: FloatArray = np.degrees(np.arctan2(self.across.astype(np.float64), self.along.astype(np.float64)))
        return angles

    def problems(self) -> list[str]:
        """What no scan can have found."""
        grid = self.grid
        if min(grid.half, grid.cells, self.draws) < 1 or min(grid.left, grid.right) < 0 or not grid.window > 0:
            return ["its grid is none"]
        count = grid.left + grid.right + 1
        arrays: list[npt.NDArray[Any]] = [self.along, self.across, self.hits, self.bets]
        arrays += [part for one in self.decisions.values() for part in (one.smallest, one.bet, one.least)]
        if any(array.shape != (count,) for array in arrays):
            return [f"its facts are not about {count} positions"]
        found = []
        if self.draws % grid.per_window:
            found.append(f"{self.draws} draws in a window are no whole rounds of {grid.per_window}")
        if (self.hits > self.draws).any() or (self.bets * _BET_STEP * share_threshold(grid) >= 1).any():
            found.append("its counts of the class are none")
        return found + self._impossible()

    def _impossible(self) -> list[str]:
        along, across = self.along.astype(np.float64), self.across.astype(np.float64)
        if not (np.isfinite(along).all() and (across >= 0).all()) or (along**2 + across**2 > 1 + _TOLERANCE).any():
            return ["its window means are longer than the limit"]
        for cosine, kept in self.decisions.items():
            most = Cone(cosine).smallest(along, across) + _TOLERANCE
            if not (0 <= cosine < 1) or (kept.bet >= len(BETS)).any() or not (kept.smallest <= most).all():
                return [f"its facts at cosine {cosine:g} are more than its window means allow"]
        return []


def _down(values: FloatArray) -> npt.NDArray[np.float32]:
    """float32, never larger."""
    clipped = np.maximum(np.nan_to_num(values, nan=_LOWEST, neginf=_LOWEST), _LOWEST)
    near = clipped.astype(np.float32)
    lower: npt.NDArray[np.float32] = np.where(near > clipped, np.nextafter(near, np.float32(-math.inf)), near)
    return lower
