"""`TreeShap`: scores and path-dependent SHAP values of a forest, in float64."""

from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.errors import ArgumentError
from attribound.forests.ensemble import FloatArray, IntArray
from attribound.forests.forest import Forest
from attribound.forests.grids import Terms
from attribound.forests.lookup import Grid, Lookup
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
        result = np.zeros((len(codes), self._forest.outputs, len(self._forest.names)))
        if self._lookup is not None:
            self._lookup.add_to(result.reshape(len(codes), -1), codes)
        for paths in self._large:
            found = _evaluate(Terms(paths), codes)
            for place, output in enumerate(paths.outputs):
                result[:, output, paths.columns] += found[:, :, place]
        return result

    @cached_property
    def _small_and_large(self) -> tuple[list[Paths], list[Paths]]:
        """Groups of leaves: with small grids, evaluated once, and with larger ones, evaluated row by row."""
        groups = [group for terms in self._forest.terms for group in _groups(terms.paths) if group.columns.size]
        small = [group for group in groups if group.cells <= _LARGEST_GRID]
        return small, [group for group in groups if group.cells > _LARGEST_GRID]

    @cached_property
    def _lookup(self) -> Lookup | None:
        """All small grids; None if there is none."""
        small = self._small_and_large[0]
        return Lookup([_grid(group) for group in small], len(self._forest.names)) if small else None

    @property
    def _large(self) -> list[Paths]:
        return self._small_and_large[1]

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


def _grid(paths: Paths) -> Grid:
    """The values of leaves on their grid."""
    strides = np.cumprod([1, *paths.shape[:0:-1]])[::-1]
    places = tuple(classes * stride for classes, stride in zip(paths.classes, strides, strict=True))
    everything = [np.arange(count) for count in paths.shape]
    return Grid(paths.columns, places, paths.outputs, Terms(paths).grid(everything, np.arange(len(paths.outputs))))


def _evaluate(terms: Terms, codes: IntArray) -> FloatArray:
    """SHAP values row by row, in chunks: (rows, columns, outputs)."""
    paths = terms.paths
    classes = [one[codes[:, column]] for one, column in zip(paths.classes, paths.columns, strict=True)]
    step, rows = max(1, _CHUNK // len(terms.weights)), len(codes)
    chunks = [terms.rows([one[at : at + step] for one in classes]) for at in range(0, rows, step)]
    return np.concatenate([np.empty((0, len(classes), terms.weights.shape[1])), *chunks])
