"""What every tree says about a statement on all cells near a row, made ready for boxes of cells.

A *box* is a range of alternatives for every moving column. The sum over groups of leaves (whole trees where these are
small) of the least value on the group's own cells that meet the box is at most the least value on the box, and equal to
it if the box is a single cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

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


Group = tuple[Terms, list[IntArray]]
"""Some leaves of a tree, and by asked column the classes that some alternative has."""


def count_cells(groups: Sequence[Group]) -> float:
    """How many cells groups have."""
    return float(sum(np.prod([float(len(one)) for one in present]) for _, present in groups))


def whole_trees(trees: Sequence[Terms], near: Sequence[Cells]) -> list[Group]:
    """Every tree that some alternative moves, in one piece."""
    groups = [(terms, _present(terms, near)) for terms in trees]
    return [(terms, present) for terms, present in groups if any(len(one) > 1 for one in present)]


def split_groups(groups: Sequence[Group], near: Sequence[Cells], most: int) -> list[Group]:
    """The same in the fewest pieces of at most this number of cells, as far as leaves allow."""
    pieces: list[Group] = []
    for terms, present in groups:
        if len(terms.paths.value) == 1 or np.prod([float(len(one)) for one in present]) <= most:
            pieces.append((terms, present))
        else:
            pieces += split_groups(whole_trees(terms.halves, near), near, most)
    return pieces


def _present(terms: Terms, near: Sequence[Cells]) -> list[IntArray]:
    """By asked column, the classes of its alternatives, rising."""
    paths = terms.paths
    asked = ((one, near[column].codes) for one, column in zip(paths.classes, paths.columns, strict=True))
    # Counting small numbers is many times faster than np.unique, and this is asked for every tree and box.
    return [one[codes] if len(codes) == 1 else np.flatnonzero(np.bincount(one[codes])) for one, codes in asked]


def make_tables(groups: Sequence[Group], statement: Statement, near: Sequence[Cells], *, margins: FloatArray) -> Tables:
    """Evaluate groups of leaves on all their cells.

    Args:
        groups: all leaves that some alternative moves.
        statement: the inequalities.
        near: the alternatives of every column.
        margins: the statement's margins at the row.
    """
    values = [_evaluate(terms, present, statement) for terms, present in groups]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in values])]).astype(np.intp)
    moving = [column for column, cells in enumerate(near) if len(cells.codes) > 1]
    axes = tuple(_axis(column, near[column], groups, starts) for column in moving)
    table = np.concatenate([np.empty((0, len(margins))), *values])
    number = np.repeat(np.arange(len(groups)), np.diff(starts)).astype(np.int32)
    tables = Tables(axes, starts[:-1], number, table, np.zeros(len(margins)))
    return replace(tables, rest=margins - tables.margins([near[column].own for column in moving]))


def _evaluate(terms: Terms, present: list[IntArray], statement: Statement) -> FloatArray:
    """(cells, inequalities)."""
    paths = terms.paths
    outputs = np.flatnonzero(statement.outputs[:, paths.outputs].any(axis=0))
    values = terms.grid(present, outputs)
    weights = np.einsum("io,ik->koi", statement.outputs[:, paths.outputs[outputs]], statement.columns[:, paths.columns])
    sums: FloatArray = values.reshape(len(values), -1) @ weights.reshape(values.shape[1] * len(outputs), -1)
    return sums


def _axis(column: int, cells: Cells, groups: Sequence[Group], starts: IntArray) -> Axis:
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
