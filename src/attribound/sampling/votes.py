"""Votes: in how many draws each cell is among the largest of its map; a tie at the threshold votes for no side."""

from collections.abc import Sequence
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.bounds.cells import IntArray, Votes, hot_cells
from attribound.bounds.shares import SHARES
from attribound.checks import FloatArray
from attribound.sampling.statistic import Draws, Facts, Setting, Statistic

BoolArray = npt.NDArray[np.bool_]


@final
class VoteCount(Statistic):
    """Counts votes of all draws; nothing is chosen on the pilot, so its votes count too (docs/theory/cells.md).

    Both sides of every cell are bounded. The other half of alpha is kept for a vote map sampled at an attacked input.
    """

    fact = Votes

    def __init__(self, fractions: Sequence[float], share: float = SHARES["votes"]) -> None:
        self.share, self._fractions = share, sorted(set(fractions), reverse=True)

    def start(self, pilot: Draws, setting: Setting) -> None:
        """Begin to count."""
        self._numbers = [hot_cells(fraction, setting.size) for fraction in self._fractions]
        self._hot, self._tied = (np.zeros((len(self._numbers), setting.size), np.int64) for _ in range(2))
        self._count = 0
        self.add(pilot)

    def add(self, draws: Draws) -> None:
        """Count on."""
        hot, tied = count_votes(draws.maps.numpy(), self._numbers)
        self._hot += hot
        self._tied += tied
        self._count += len(draws.maps)

    def prove(self, alpha: float, known: Facts) -> Votes:
        """The counts; what they prove is derived where it is asked."""
        hot, tied = self._hot.astype(np.float64), self._tied.astype(np.float64)
        return Votes(np.array(self._fractions), hot, tied, float(self._count), alpha / 2, alpha / 2)


def count_votes(maps: FloatArray, numbers: Sequence[int]) -> tuple[IntArray, IntArray]:
    """In how many maps each cell is among the largest, and in how many it is tied at the threshold.

    Args:
        maps: (n, m) flat maps.
        numbers: how many cells are hot, each in 1..m - 1.

    Returns:
        Two arrays (len(numbers), m) of counts: hot and tied.
    """
    size = maps.shape[1]
    # Sorting values (not indices) is vectorised, and quicker than selecting several of them.
    ordered = np.sort(maps, axis=1)
    marks = [_sides(maps, ordered[:, size - k, None], ordered[:, size - k - 1, None]) for k in numbers]
    hot, tied = (np.array([mark.sum(axis=0) for mark in side]) for side in zip(*marks, strict=True))
    return hot, tied


def mark_cells(maps: FloatArray, fraction: float) -> npt.NDArray[np.int8]:
    """(n, m) each cell of each map: +1 hot, -1 cold, 0 tied at the threshold."""
    number = hot_cells(fraction, maps.shape[1])
    ordered = np.partition(maps, (-number - 1, -number), axis=1)
    hot, tied = _sides(maps, ordered[:, -number, None], ordered[:, -number - 1, None])
    return np.where(hot, 1, np.where(tied, 0, -1)).astype(np.int8)


def _sides(maps: FloatArray, last: FloatArray, beyond: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Which cells are hot and which are tied, given the smallest value that could be hot and the next one.

    Where both are equal, nothing says which of the cells with that value are among the largest: they vote for no side.
    """
    hot: BoolArray = maps >= last
    tied: BoolArray = np.zeros_like(hot)
    rows = (last == beyond)[:, 0]
    if rows.any():
        tied[rows] = maps[rows] == last[rows]
        hot[rows] &= ~tied[rows]
    return hot, tied
