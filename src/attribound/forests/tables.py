"""What every tree says about a statement on all cells near a row, made ready for boxes of cells.

A *box* is a range of alternatives for every moving column. The sum over groups of leaves (whole trees where these are
small) of the least value on the group's own cells that meet the box is at most the least value on the box, and equal to
it if the box is a single cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attribound.forests.cells import Cells
from attribound.forests.ensemble import BoolArray, FloatArray, IntArray
from attribound.forests.grids import Terms
from attribound.forests.statements import Statement

IndexArray = np.ndarray


@dataclass(frozen=True, eq=False)
class Axis:
    """One moving column of the tables.

    Attributes:
        column: of the forest.
        groups: that ask the column.
        classes: (those groups, alternatives): the class of every alternative, numbered over all groups from 1.
        members: (all cells,): the class of every cell; 0 for groups that do not ask the column.
        steps: (all groups, alternatives): how far an alternative lies from the group's first cell.
        seen: (classes + 1, alternatives + 1): how many alternatives of each class stand before a position.
    """

    column: int
    groups: IntArray
    classes: IntArray
    members: IndexArray
    steps: IntArray
    seen: IntArray

    def meets(self, low: int, high: int) -> BoolArray:
        """Which classes hold an alternative from `low` to `high`."""
        meeting: BoolArray = self.seen[:, high + 1] > self.seen[:, low]
        return meeting


@dataclass(frozen=True, eq=False)
class Tables:
    """All groups on all their cells.

    Attributes:
        axes: the moving columns.
        starts: the first cell of every group.
        group: the group of every cell.
        values: (cells, inequalities).
        rest: (inequalities,): what does not move, less the ties.
    """

    axes: tuple[Axis, ...]
    starts: IntArray
    group: IndexArray
    values: FloatArray
    rest: FloatArray

    def margins(self, places: Sequence[int]) -> FloatArray:
        """Left sides less ties in a single cell, given by one alternative per moving column."""
        cells = self.starts.copy()
        for axis, place in zip(self.axes, places, strict=True):
            cells += axis.steps[:, place]
        margins: FloatArray = self.values[cells].sum(axis=0) + self.rest
        return margins

    def least(self, cells: IndexArray, wanted: IntArray) -> FloatArray:
        """(groups, inequalities): the least value of every group on some cells, of which it has at least one."""
        starts = np.searchsorted(self.group[cells], np.arange(len(self.starts)))
        least: FloatArray = np.minimum.reduceat(self.values[np.ix_(cells, wanted)], starts, axis=0)
        return least


def count_cells(terms: Sequence[Terms], near: Sequence[Cells]) -> float:
    """How many cells whole trees would have."""
    return float(sum(np.prod([float(len(chosen)) for chosen in _present(one, near)]) for one in terms))


def _present(terms: Terms, near: Sequence[Cells]) -> list[IntArray]:
    """The classes of every asked column that some alternative has."""
    paths = terms.paths
    return [np.unique(one[near[column].codes]) for one, column in zip(paths.classes, paths.columns, strict=True)]


def _groups(terms: Terms, near: Sequence[Cells], most: int) -> list[tuple[Terms, list[IntArray]]]:
    """A tree as few groups of leaves with at most so many cells, and what is present of them."""
    present = _present(terms, near)
    if len(terms.paths.value) == 1 or np.prod([float(len(one)) for one in present]) <= most:
        return [(terms, present)]
    return [group for half in terms.halves for group in _groups(half, near, most)]


def make_tables(
    trees: Sequence[Terms], statement: Statement, near: Sequence[Cells], *, margins: FloatArray, most: int
) -> Tables:
    """Evaluate all trees that some alternative moves.

    Args:
        trees: of the forest.
        statement: the inequalities.
        near: the alternatives of every column.
        margins: the statement's margins at the row.
        most: cells per group.
    """
    moving = [column for column, cells in enumerate(near) if len(cells.codes) > 1]
    groups, values = [], []
    for terms in trees:
        outputs = np.flatnonzero(statement.outputs[:, terms.paths.outputs].any(axis=0))
        if not outputs.size or not np.isin(terms.paths.columns, moving).any():
            continue
        for group, present in _groups(terms, near, most):
            if any(len(one) > 1 for one in present):
                groups.append((group, present))
                values.append(_evaluate(group, present, outputs, statement))
    starts = np.concatenate([[0], np.cumsum([len(one) for one in values])]).astype(np.intp)
    axes = tuple(_axis(column, near[column], groups, starts) for column in moving)
    table = np.concatenate(values) if values else np.empty((0, len(margins)))
    number = np.repeat(np.arange(len(groups)), np.diff(starts)).astype(np.int32)
    tables = Tables(axes, starts[:-1], number, table, np.zeros(len(margins)))
    return Tables(axes, starts[:-1], number, table, margins - tables.margins([near[c].own for c in moving]))


def _evaluate(terms: Terms, present: list[IntArray], outputs: IntArray, statement: Statement) -> FloatArray:
    """(cells, inequalities)."""
    paths = terms.paths
    values = terms.grid(present, outputs)
    weights = np.einsum("io,ik->koi", statement.outputs[:, paths.outputs[outputs]], statement.columns[:, paths.columns])
    sums: FloatArray = values.reshape(len(values), -1) @ weights.reshape(values.shape[1] * len(outputs), -1)
    return sums


def _axis(column: int, cells: Cells, groups: list[tuple[Terms, list[IntArray]]], starts: IntArray) -> Axis:
    asking, rows, number = [], [], 1
    members = np.zeros(starts[-1], np.int32)
    steps = np.zeros((len(groups), len(cells.codes)), np.intp)
    for place, (terms, present) in enumerate(groups):
        slots = np.flatnonzero(terms.paths.columns == column)
        if not slots.size or len(present[slots[0]]) == 1:
            continue
        slot = int(slots[0])
        local = np.searchsorted(present[slot], terms.paths.classes[slot][cells.codes])
        counts = [len(one) for one in present]
        inner, outer = int(np.prod(counts[slot + 1 :])), int(np.prod(counts[:slot]))
        steps[place] = local * inner
        pattern = np.repeat(np.arange(counts[slot], dtype=np.int32) + number, inner)
        members[starts[place] : starts[place + 1]] = np.tile(pattern, outer)
        asking.append(place)
        rows.append(local + number)
        number += counts[slot]
    classes = np.array(rows, np.intp).reshape(len(rows), len(cells.codes))
    seen = np.zeros((number, len(cells.codes) + 1), np.intp)
    seen[0, 1:] = np.arange(1, len(cells.codes) + 1)
    for row in classes:
        seen[row, np.arange(1, len(row) + 1)] += 1
    seen[1:] = np.cumsum(seen[1:], axis=1)
    return Axis(column, np.array(asking, np.intp), classes, members, steps, seen)
