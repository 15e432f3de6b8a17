"""All trees at once: the SHAP values of many rows in a few numpy calls, however many trees there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.forests.ensemble import FloatArray, IntArray

_CHUNK = 2**20
"""Numbers that are looked up at once."""


@dataclass(frozen=True, eq=False)
class Grid:
    """SHAP values of some leaves on their whole grid.

    Attributes:
        columns: that the leaves ask.
        places: by column, how far each code lies from the grid's first cell.
        outputs: which outputs the leaves speak about.
        values: (cells, columns, outputs).
    """

    columns: IntArray
    places: tuple[IntArray, ...]
    outputs: IntArray
    values: FloatArray


@final
class Lookup:
    """Many grids as flat arrays: a row's cell in every grid is a sum of places, and what is there is added up."""

    def __init__(self, grids: Sequence[Grid], columns: int) -> None:
        """Lay grids out.

        Args:
            grids: one at least, each with a column or more.
            columns: how many columns rows have.
        """
        asked = [len(grid.columns) for grid in grids]
        sizes = [len(place) for grid in grids for place in grid.places]
        self._column = np.concatenate([grid.columns for grid in grids])
        self._place = np.concatenate([place for grid in grids for place in grid.places])
        self._start = _starts(sizes)
        self._grid = _starts(asked)
        self._values = np.concatenate([grid.values.ravel() for grid in grids])
        self._width = np.array([grid.values[0].size for grid in grids])
        self._base = _starts([grid.values.size for grid in grids])
        goals = [grid.outputs[None, :] * columns + grid.columns[:, None] for grid in grids]
        goal = np.concatenate([one.ravel() for one in goals])
        order = np.argsort(goal, kind="stable")
        self._of = np.repeat(np.arange(len(grids)), self._width)[order]
        self._within = np.concatenate([np.arange(width) for width in self._width])[order]
        self._goals, self._first = np.unique(goal[order], return_index=True)

    def add_to(self, result: FloatArray, codes: IntArray) -> None:
        """Add the values at cells to (rows, outputs * columns)."""
        step = max(1, _CHUNK // max(len(self._of), len(self._column)))
        cuts = [*range(0, len(codes), step), len(codes)]
        for low, high in pairwise(cuts):
            places = self._place[self._start + codes[low:high, self._column]]
            cells = np.add.reduceat(places, self._grid, axis=1) * self._width + self._base
            found = self._values[cells[:, self._of] + self._within]
            result[low:high, self._goals] += np.add.reduceat(found, self._first, axis=1)


def _starts(sizes: Sequence[int]) -> npt.NDArray[np.intp]:
    """Where each of several pieces begins when they are laid out one after the other."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
