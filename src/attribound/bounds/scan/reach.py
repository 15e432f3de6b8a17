"""What a scan proves: positions, the walk outward from 0, and the curve. Equation numbers: docs/theory/scan.md."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.bounds.scan.directions import ROUNDING, Cone, sphere_maximum
from attribound.bounds.scan.grid import Grid
from attribound.bounds.scan.loss import curvature
from attribound.bounds.scan.tally import Windows
from attribound.checks import FloatArray

Side = float | None
Marks = npt.NDArray[np.bool_]

_CURVE_POSITIONS = 65
_CURVE_ANGLES = np.radians(np.arange(90, 0, -1))
"""Angles of the curve, downward: fixed beforehand."""


@final
@dataclass(frozen=True)
class Decision:
    """What inequality (1) needs at some positions, for one cosine.

    Attributes:
        smallest: (k,) at most its left side.
        kappa: (k,) the bets.
        least: (k,) B.
    """

    smallest: FloatArray
    kappa: FloatArray
    least: FloatArray

    def margins(self, *, draws: int, half: int, alpha: float) -> FloatArray:
        """By how much (1) holds; proved where positive.

        Args:
            draws: draws in a window.
            half: groups in half a window.
            alpha: failure probability of the event.
        """
        error = math.log(1 / alpha) * self.least / (self.kappa * draws)
        margins: FloatArray = self.smallest - error - 1 / (2 * half) - ROUNDING
        return margins


@final
@dataclass(frozen=True)
class Curve:
    """Angles between the window means and the reference, in degrees.

    Attributes:
        t: (k,) positions.
        proved: (k,) with probability at least 1 - alpha all angles are at most these; nan where nothing is proved.
        sampled: (k,) angles of the sampled means.
    """

    t: FloatArray
    proved: FloatArray
    sampled: FloatArray


def map_reach(windows: Windows, *, cosine: float, alpha: float) -> tuple[Side, Side]:
    """How far the map keeps its cosine with the reference on the left and on the right; None: not even at 0.

    With probability at least 1 - alpha: for every t between the two ends the window mean has at least this cosine with
    the reference (docs/theory/scan.md). Cosine and alpha are fixed before the draws. A grid with one side spends all of
    alpha on it.

    Args:
        windows: the tally of whole rounds.
        cosine: in [0, 1).
        alpha: failure probability.
    """
    grid = windows.design.grid
    return walk(_margins(windows, Cone(cosine), alpha / sides(grid)) > 0, grid)


def share_reach(windows: Windows, *, alpha: float, floor: float = 0.5) -> tuple[Side, Side]:
    """How far the class asked for keeps more than `floor` of the window, on the left and on the right.

    With probability at least 1 - alpha it does for every t between the two ends. Bets: docs/theory/scan.md.
    """
    grid = windows.design.grid
    bets = windows.design.share_bets(share_threshold(grid, floor))
    return walk(share_proved(windows.shares * windows.draws, bets, windows.draws, grid, alpha, floor), grid)


def share_threshold(grid: Grid, floor: float = 0.5) -> float:
    """What a share at the positions must exceed, so that it exceeds `floor` between them too."""
    return floor + 1 / (4 * grid.half) + ROUNDING


def share_proved(hits: FloatArray, bets: FloatArray, draws: int, grid: Grid, alpha: float, floor: float = 0.5) -> Marks:
    """(J,) where these bets on the hits among the draws prove the share."""
    threshold = share_threshold(grid, floor)
    wealth = hits * np.log1p(bets * (1 - threshold)) + (draws - hits) * np.log1p(-bets * threshold)
    return np.asarray(wealth > math.log(sides(grid) / alpha) + ROUNDING)


def angle_curve(windows: Windows, *, alpha: float) -> Curve:
    """A proved angle at some positions, all at once with probability at least 1 - alpha."""
    grid = windows.design.grid
    count = grid.left + grid.right + 1
    chosen = np.unique(np.concatenate([np.linspace(0, count - 1, _CURVE_POSITIONS).astype(np.int64), [grid.left]]))
    proved, going = np.full(len(chosen), np.nan), np.ones(len(chosen), bool)
    for angle in _CURVE_ANGLES:
        # At each position down a fixed list of angles, to the first that is not proved: one event per position.
        going &= _margins(windows, Cone(max(math.cos(angle), 0.0)), alpha / len(chosen), chosen) > 0
        proved[going] = math.degrees(angle)
        if not going.any():
            break
    return Curve(grid.positions[chosen], proved, np.degrees(windows.angles[chosen]))


def decide(windows: Windows, *, cosine: float, alpha: float, chosen: npt.NDArray[np.int64] | None = None) -> Decision:
    """What decides about the chosen positions (all: None) at a cosine; alpha is the event's, of one side."""
    design, cone = windows.design, Cone(cosine)
    chosen = np.arange(len(windows.along)) if chosen is None else chosen
    if not design.reference.any() or not 0 <= cosine < 1:
        ones = np.ones(len(chosen))
        return Decision(-np.inf * ones, ones / 2, ones)
    least = design.least(cone)
    kappa, least = design.bets(cone, alpha, least)[chosen], least[chosen]
    weight = curvature(kappa) * kappa / least
    return Decision(_smallest(windows, cone, weight, chosen), kappa, least)


def _margins(windows: Windows, cone: Cone, alpha: float, chosen: npt.NDArray[np.int64] | None = None) -> FloatArray:
    """By how much inequality (1) holds at the chosen positions (all: None); proved where positive."""
    decision = decide(windows, cosine=cone.cosine, alpha=alpha, chosen=chosen)
    return decision.margins(draws=windows.draws, half=windows.design.grid.half, alpha=alpha)


def _smallest(windows: Windows, cone: Cone, weight: FloatArray, chosen: npt.NDArray[np.int64]) -> FloatArray:
    """At most min over e in E of <e, mean> - weight e^T S e, the left side of (1)."""
    moments, covers = windows.moments, windows.covers[chosen]
    if moments.ndim == 1:
        simple = cone.smallest(windows.along[chosen], windows.across[chosen])
        return simple - weight * moments[covers]
    axes, sine, cosine = windows.axes, cone.sine, cone.cosine
    linear = (cosine / 2) * axes.across[chosen] - (weight * sine * cosine)[:, None] * axes.aside[covers]
    worst = sphere_maximum((weight * cosine**2)[:, None] * axes.values[covers], linear)
    smallest: FloatArray = sine * windows.along[chosen] - weight * sine**2 * axes.inside[covers] - worst
    return smallest


def walk(holds: Marks, grid: Grid) -> tuple[Side, Side]:
    """Outward from 0 on both sides, to the last position before the first that is not proved."""
    left, right = (_outward(side) for side in (holds[grid.left :: -1], holds[grid.left :]))
    return (None if left is None else 0.0 - left * grid.step, None if right is None else right * grid.step)


def _outward(holds: Marks) -> int | None:
    """The last position before the first that is not proved."""
    if not holds[0]:
        return None
    return len(holds) - 1 if holds.all() else int(np.argmin(holds)) - 1


def sides(grid: Grid) -> int:
    """A change of one sign only has one side, with all of alpha."""
    return 2 if grid.left and grid.right else 1
