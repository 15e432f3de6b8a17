"""Votes: in how many draws each cell is among the largest of its map."""

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
        self._hot = np.zeros((len(self._numbers), setting.size), np.int64)
        self._count = 0
        self.add(pilot)

    def add(self, draws: Draws) -> None:
        """Count on."""
        self._hot += count_hot(draws.maps.numpy(), self._numbers)
        self._count += len(draws.maps)

    def prove(self, alpha: float, known: Facts) -> Votes:
        """The counts; what they prove is derived where it is asked."""
        hot = self._hot.astype(np.float64)
        return Votes(np.array(self._fractions), hot, float(self._count), alpha / 2, alpha / 2)


def count_hot(maps: FloatArray, numbers: Sequence[int]) -> IntArray:
    """In how many maps each cell is among the largest; of equal values the first in the map wins.

    Args:
        maps: (n, m) flat maps.
        numbers: how many cells are hot, each in 1..m - 1.

    Returns:
        (len(numbers), m) counts.
    """
    size = maps.shape[1]
    # Sorting values (not indices) is vectorised, and quicker than selecting several of them.
    ordered = np.sort(maps, axis=1)
    marks = (_among(maps, ordered[:, size - number, None], number) for number in numbers)
    return np.array([hot.sum(axis=0) for hot in marks])


def mark_hot(maps: FloatArray, fraction: float) -> BoolArray:
    """(n, m) whether each cell of each map is hot."""
    number = hot_cells(fraction, maps.shape[1])
    return _among(maps, np.partition(maps, -number, axis=1)[:, -number, None], number)


def _among(maps: FloatArray, threshold: FloatArray, number: int) -> BoolArray:
    """Whether each cell is among the `number` largest of its map, the smallest of which is the threshold."""
    hot: BoolArray = maps >= threshold
    tied = np.count_nonzero(hot, axis=1) > number
    if tied.any():
        above, equal = maps[tied] > threshold[tied], maps[tied] == threshold[tied]
        places = number - np.count_nonzero(above, axis=1, keepdims=True)
        hot[tied] = above | (equal & (np.cumsum(equal, axis=1) <= places))
    return hot
