"""Columns as cells: the values of a column between which no tree can tell a difference, numbered by *codes*.

A numeric column has one code for every interval between its cuts (`last < x <= next last`); a categorical one has one
for every category that some split names and one for all others. Missing cells have a code of their own at the end,
where the library gives them one.
"""

from dataclasses import dataclass

import numpy as np

from attribound.errors import ArgumentError
from attribound.forests.comparisons import ZERO, last_left
from attribound.forests.ensemble import BoolArray, Ensemble, FloatArray, IntArray, Missing

LARGEST = float(np.finfo(np.float32).max)
MOST_CATEGORIES = 2**24
"""Float32 cannot count further."""


@dataclass(frozen=True, eq=False)
class Axis:
    """One column's cells.

    Attributes:
        name: of the column.
        library: that compares.
        cuts: the largest value of every numeric cell but the last, rising; empty for a categorical column.
        categories: that some split names, rising; None for a numeric column.
        missing: what missing cells do.
    """

    name: str
    library: str
    cuts: FloatArray
    categories: IntArray | None
    missing: Missing

    @property
    def values(self) -> int:
        """How many codes stand for values: all but the missing one."""
        return len(self.cuts if self.categories is None else self.categories) + 1

    @property
    def count(self) -> int:
        """How many codes there are."""
        return self.values + self.has_missing

    @property
    def has_missing(self) -> bool:
        """Whether missing cells have a code of their own, the last."""
        return self.missing is Missing.OWN

    def codes(self, values: FloatArray) -> IntArray:
        """The code of every value; raises ArgumentError for what the library would not take."""
        absent = np.isnan(values)
        if absent.any() and self.missing is Missing.REFUSED:
            raise ArgumentError(f"expected numbers in column {self.name!r}, got a missing cell: the model refuses it")
        filled = np.where(absent, 0.0, values)
        self._check(filled)
        found = self._places(filled)
        return np.where(absent, self.values, found) if self.has_missing else found

    def _places(self, values: FloatArray) -> IntArray:
        if self.categories is None:
            return np.searchsorted(self.cuts, values)
        place = np.searchsorted(self.categories, values)
        known = np.append(self.categories, -1)[place] == values
        found: IntArray = np.where(known, place, len(self.categories))
        return found

    def _check(self, values: FloatArray) -> None:
        wrong = ~(np.abs(values) <= LARGEST)
        if wrong.any():
            raise ArgumentError(f"expected finite numbers in column {self.name!r}, got {values[wrong][0]:g}")
        if self.categories is not None:
            wrong = (values != np.floor(values)) | (values < 0) | (values >= MOST_CATEGORIES)
            if wrong.any():
                text = "a category, a whole number >= 0,"
                raise ArgumentError(f"expected {text} in column {self.name!r}, got {values[wrong][0]:g}")

    def left(self, threshold: float, default: bool) -> BoolArray:
        """Which codes a numeric split sends left."""
        goes: BoolArray = np.arange(self.count) <= np.searchsorted(
            self.cuts, last_left(self.library, np.array([threshold]))[0]
        )
        if self.has_missing:
            goes[-1] = default
        if self.missing is Missing.WITH_ZERO:
            goes[np.searchsorted(self.cuts, 0.0)] = default
        return goes

    def left_listed(self, listed: IntArray, *, right: bool, default: bool) -> BoolArray:
        """Which codes a split by a list of categories sends left."""
        assert self.categories is not None
        goes = np.full(self.count, right)
        goes[np.searchsorted(self.categories, listed)] = not right
        if self.library == "histogram":  # scikit-learn takes an unknown category for a missing one
            goes[self.values - 1] = default
        if self.has_missing:
            goes[-1] = default
        return goes


def make_axes(ensemble: Ensemble) -> tuple[Axis, ...]:
    """The cells of every column."""
    thresholds: list[list[FloatArray]] = [[] for _ in ensemble.names]
    listed: list[list[IntArray]] = [[one] for one in ensemble.known] or [[] for _ in ensemble.names]
    for tree in ensemble.trees:
        for column in np.unique(tree.column[tree.column >= 0]):
            at = np.flatnonzero(tree.column == column)
            if ensemble.categorical[column]:
                listed[column].extend(tree.lists[int(node)] for node in at)
            else:
                thresholds[column].append(tree.threshold[at])
    return tuple(
        Axis(
            name=name,
            library=ensemble.library,
            cuts=_cuts(ensemble, column, thresholds[column]),
            categories=_together(listed[column]) if ensemble.categorical[column] else None,
            missing=ensemble.missing[column],
        )
        for column, name in enumerate(ensemble.names)
    )


def _together(listed: list[IntArray]) -> IntArray:
    return np.unique(np.concatenate([*listed, np.empty(0, np.intp)]))


def _cuts(ensemble: Ensemble, column: int, thresholds: list[FloatArray]) -> FloatArray:
    cuts = [last_left(ensemble.library, np.concatenate([*thresholds, np.empty(0)]))]
    if ensemble.missing[column] is Missing.WITH_ZERO and thresholds:
        cuts.append(np.array([np.nextafter(-ZERO, -np.inf), ZERO]))
    return np.unique(np.concatenate(cuts))
