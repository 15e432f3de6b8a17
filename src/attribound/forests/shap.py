"""`TreeShap`: scores and path-dependent SHAP values of a forest, in float64."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.errors import ArgumentError
from attribound.forests.ensemble import FloatArray, IntArray
from attribound.forests.forest import Forest
from attribound.forests.grids import Terms
from attribound.forests.paths import Paths

_LARGEST_GRID = 2**12
_CHUNK = 2**21


@final
class TreeShap:
    """The library's own SHAP values of a forest, as a function of rows.

    Args:
        forest: the tree ensemble.
    """

    def __init__(self, forest: Forest) -> None:
        self._forest = forest

    @property
    def forest(self) -> Forest:
        """The forest that is explained."""
        return self._forest

    def explain(self, rows: npt.ArrayLike, *, target: int | npt.ArrayLike | None = None) -> FloatArray:
        """SHAP values, (rows, columns), of one output.

        Args:
            rows: (rows, columns); missing cells are NaN.
            target: which output, for all rows or for each; None: the class with the largest score.
        """
        codes = self._forest.codes(rows)
        values = self.values_at(codes)
        chosen = self._targets(values, target)
        picked: FloatArray = values[np.arange(len(values)), chosen]
        return picked

    def values(self, rows: npt.ArrayLike) -> FloatArray:
        """SHAP values of every output, (rows, outputs, columns)."""
        return self.values_at(self._forest.codes(rows))

    def scores(self, rows: npt.ArrayLike) -> FloatArray:
        """The margins before any link function, (rows, outputs)."""
        return self.scores_from(self.values(rows))

    def scores_from(self, values: FloatArray) -> FloatArray:
        """The margins that belong to SHAP values of every output."""
        total: FloatArray = values.sum(axis=2) + self._forest.expected
        return total

    def values_at(self, codes: IntArray) -> FloatArray:
        """SHAP values of every output at cells, (rows, outputs, columns)."""
        result = np.zeros((self._forest.outputs, len(self._forest.names), len(codes)))
        for table in self._tables:
            found = table.look_up(codes)
            for place, output in enumerate(table.paths.outputs):
                for slot, column in enumerate(table.paths.columns):
                    result[output, column] += found[:, slot, place]
        return np.ascontiguousarray(result.transpose(2, 0, 1))

    @cached_property
    def _tables(self) -> tuple["Table", ...]:
        """Groups of leaves with small grids, evaluated once."""
        groups = [group for terms in self._forest.terms for group in _groups(terms.paths) if group.columns.size]
        return tuple(map(Table.make, groups))

    def _targets(self, values: FloatArray, target: int | npt.ArrayLike | None) -> IntArray:
        count = self._forest.outputs
        if target is None:
            winners: IntArray = np.argmax(self.scores_from(values), axis=1)
            return winners
        chosen = np.asarray(target)
        if chosen.dtype.kind not in "iu" or (chosen < 0).any() or (chosen >= count).any():
            raise ArgumentError(f"expected `target` from 0 to {count - 1}, got {target!r}")
        return np.broadcast_to(chosen, (len(values),)).astype(np.intp)


def _groups(paths: Paths) -> list[Paths]:
    """A tree's leaves in as few groups as have small grids."""
    if paths.cells <= _LARGEST_GRID or len(paths.value) == 1:
        return [paths]
    return [group for half in paths.halves() for group in _groups(half)]


@dataclass(frozen=True, eq=False)
class Table:
    """SHAP values of a group of leaves on its whole grid.

    Attributes:
        paths: the leaves.
        places: by column, how far each code lies from the grid's first cell.
        values: (cells, columns, outputs); None if the grid is too large, then rows are evaluated one by one.
    """

    paths: Paths
    places: tuple[IntArray, ...]
    values: FloatArray | None

    @classmethod
    def make(cls, paths: Paths) -> "Table":
        """Evaluate the leaves on their grid."""
        if paths.cells > _LARGEST_GRID:
            return cls(paths, paths.classes, None)
        shape = paths.shape
        strides = np.cumprod([1, *shape[:0:-1]])[::-1]
        places = tuple(classes * stride for classes, stride in zip(paths.classes, strides, strict=True))
        everything = [np.arange(count) for count in shape]
        return cls(paths, places, Terms(paths).grid(everything, np.arange(len(paths.outputs))))

    def look_up(self, codes: IntArray) -> FloatArray:
        """(rows, columns, outputs)."""
        places = [place[codes[:, column]] for place, column in zip(self.places, self.paths.columns, strict=True)]
        if self.values is None:
            return _evaluate(Terms(self.paths), places)
        found: FloatArray = self.values[np.sum(places, axis=0)]
        return found


def _evaluate(terms: Terms, classes: list[IntArray]) -> FloatArray:
    """SHAP values row by row, in chunks."""
    step, rows = max(1, _CHUNK // len(terms.weights)), len(classes[0])
    chunks = [terms.rows([one[at : at + step] for one in classes]) for at in range(0, rows, step)]
    return np.concatenate([np.empty((0, len(classes), terms.weights.shape[1])), *chunks])
