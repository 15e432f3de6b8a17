"""Where a scan looks: positions, the groups of cells between them, and the bins of its pilot."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.checks import FloatArray
from attribound.errors import ArgumentError

MOST_HALF = 256
"""Positions in half a window: more of them gain nothing worth the memory."""

MOST_NUMBERS = 2**25
"""Numbers of all groups' sums, 256 MB: for large maps positions are coarser."""

_BINS = 4
"""Bins of the pilot in one window."""

_FEWEST = 8
"""Draws in half a window, below which nothing could be proved."""

_NEARLY = 1e-9


@final
@dataclass(frozen=True)
class Grid:
    """Positions j * step for j = -left .. right; the window of each is 2 * half groups of `cells` cells.

    Attributes:
        window: half-width r of the windows.
        half: groups in half a window, L.
        left: positions on the left of 0.
        right: positions on the right of 0.
        cells: cells of a group, p.
    """

    window: float
    half: int
    left: int
    right: int
    cells: int

    @property
    def step(self) -> float:
        """The distance of neighbouring positions, c."""
        return self.window / self.half

    @property
    def groups(self) -> int:
        """All groups, from the left end of the first window to the right end of the last."""
        return self.left + self.right + 2 * self.half

    @property
    def per_window(self) -> int:
        """Draws in a window in one round, n."""
        return 2 * self.half * self.cells

    @property
    def draws(self) -> int:
        """Draws of one round."""
        return self.groups * self.cells

    @property
    def positions(self) -> FloatArray:
        """(J,) the parameters of the positions."""
        return np.arange(-self.left, self.right + 1, dtype=np.float64) * self.step

    @property
    def middles(self) -> FloatArray:
        """(groups,) the parameters in the middle of the groups."""
        return (np.arange(self.groups, dtype=np.float64) - self.left - self.half + 0.5) * self.step

    @property
    def bins(self) -> int:
        """Bins of equal width in which the pilot is collected."""
        return max(math.ceil(_BINS * self.groups / (2 * self.half) - _NEARLY), 2)

    @property
    def low(self) -> float:
        """The left end of what is drawn."""
        return -(self.left + self.half) * self.step

    @property
    def bin_width(self) -> float:
        """The width of a bin."""
        return self.groups * self.step / self.bins

    def parameters(self, groups: npt.NDArray[np.int64], uniform: FloatArray) -> FloatArray:
        """One draw of t in every cell of these groups.

        Args:
            groups: (k,) numbers of groups.
            uniform: (k, cells) independent uniform numbers in [0, 1).

        Returns:
            (k, cells) parameters.
        """
        inside = (np.arange(self.cells) + uniform) / self.cells
        drawn: FloatArray = (groups[:, None] - self.left - self.half + inside) * self.step
        return drawn

    def pilot_parameters(self, number: int, uniform: FloatArray) -> FloatArray:
        """(k,) parameters in one bin, one in each of k equal parts; uniform: (k,)."""
        inside = (np.arange(len(uniform)) + uniform) / len(uniform)
        drawn: FloatArray = self.low + (number + inside) * self.bin_width
        return drawn


def plan_grid(*, low: float, high: float, window: float, draws: int, size: int) -> Grid:
    """The finest grid that these draws pay for.

    Args:
        low: left end of the range, <= 0.
        high: right end, >= 0.
        window: half-width of the windows.
        draws: draws of one round, at most.
        size: numbers in a map.
    """
    share = 2 * window / (high - low + 2 * window)
    half = int(draws * share) // 2
    most = max(int(MOST_NUMBERS * share / size) // 2, 1)
    while half >= _FEWEST:
        cells = math.ceil(half / min(MOST_HALF, most))
        step = window / (half // cells)
        left, right = (math.ceil(end / step - _NEARLY) for end in (-low, high))
        grid = Grid(window, half // cells, left, right, cells)
        if grid.draws <= draws:
            return grid
        half -= 1
    needed = math.ceil(2 * (_FEWEST + 1) / share)
    raise ArgumentError(f"expected more `samples`: the range needs at least {needed} draws, they give {draws}")
