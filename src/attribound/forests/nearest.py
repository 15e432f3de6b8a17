"""The nearest change of all columns together that breaks a statement, and what is proved short of it.

Attack first: every alternative of every single column is tried, which gives an upper end. Then the box grows: only
alternatives within a limit are looked at, first as far as few cells allow, then further, until the limit is the upper
end. Large trees have too many cells to look at all of them, but near the row few thresholds matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attribound.errors import AttriboundError
from attribound.forests.cells import Cells
from attribound.forests.ensemble import BoolArray, FloatArray, IntArray
from attribound.forests.grids import Terms
from attribound.forests.search import Budget, Search
from attribound.forests.shap import TreeShap
from attribound.forests.sizes import Size
from attribound.forests.statements import Statement
from attribound.forests.tables import Group, count_cells, make_tables, split_groups, whole_trees

STAGES = (20_000, 150_000, 1_000_000)
"""How many cells a stage may look at, with whole trees."""
PIECES = (20_000, 2_000, 200, 1)
"""How many cells a piece of a tree may have, where whole trees have too many."""
MOST_NUMBERS = 40_000_000
"""How many numbers the tables of a stage may hold."""
ROUNDING = 1e-12
"""Sizes are lowered by this relative amount: they are sums of a few rounded numbers."""


@dataclass(frozen=True, eq=False)
class Together:
    """All columns at once.

    Attributes:
        reach: no change smaller than this breaks the statement; infinite: no change whatever.
        exact: whether some change as large as `reach` (or beyond it by rounding) does; else "at least".
        nearest: the nearest row that breaks it, where exact; else the nearest found, or None.
        boxes: how many were cut.
    """

    reach: float
    exact: bool
    nearest: FloatArray | None
    boxes: int


@dataclass(frozen=True, eq=False)
class Sweep:
    """A statement over the alternatives of single columns.

    Attributes:
        kept: by column, whether the statement holds at each alternative.
        holds: whether it holds at the row.
        margins: at the row.
    """

    kept: tuple[BoolArray, ...]
    holds: bool
    margins: FloatArray

    def at(self, swept: Sequence[Cells], cells: Sequence[Cells]) -> "Sweep":
        """The same for some of the alternatives that were swept."""
        found = []
        for all_, some, kept in zip(swept, cells, self.kept, strict=True):
            by_code = dict(zip(all_.codes.tolist(), kept.tolist(), strict=True))
            found.append(np.array([by_code[code] for code in some.codes.tolist()], bool))
        return Sweep(tuple(found), self.holds, self.margins)


def sweep_columns(shap: TreeShap, statements: Sequence[Statement], near: Sequence[Cells]) -> tuple[Sweep, ...]:
    """Try every alternative of every column, the others as they are."""
    own = np.array([cells.codes[cells.own] for cells in near])
    codes = np.repeat(own[None], 1 + sum(len(cells.codes) for cells in near), axis=0)
    starts = np.cumsum([1, *(len(cells.codes) for cells in near)])
    for column, cells in enumerate(near):
        codes[starts[column] : starts[column + 1], column] = cells.codes
    values = shap.values_at(codes)
    return tuple(_sweep(one, values, starts) for one in statements)


def _sweep(statement: Statement, values: FloatArray, starts: IntArray) -> Sweep:
    margins = statement.margins(values)
    kept = statement.holds(margins)
    return Sweep(tuple(np.split(kept, starts)[1:-1]), bool(kept[0]), margins[0])


def find_nearest(
    shap: TreeShap, statement: Statement, near: Sequence[Cells], *, sweep: Sweep, size: Size, budget: Budget
) -> Together:
    """Search all columns together.

    Args:
        shap: of the forest.
        statement: what is to be kept.
        near: the alternatives of every column.
        sweep: of this statement over these alternatives.
        size: how changes are measured.
        budget: boxes and seconds; counts down.
    """
    boxes = budget.boxes
    own = [cells.own for cells in near]
    if not sweep.holds:
        return Together(0.0, True, _row(near, own), 0)
    prices = [size.prices(cells) for cells in near]
    upper, places = _attack(prices, sweep, own)
    proved = 0.0
    asked = [terms for terms in shap.forest.terms if statement.outputs[:, terms.paths.outputs].any()]
    for limit in _limits(asked, near, prices, upper) if upper > 0 else ():
        chosen = [np.flatnonzero(one < limit) for one in prices]
        inside = [cells.chosen(kept) for cells, kept in zip(near, chosen, strict=True)]
        groups = _pieces(asked, inside, len(statement.offset))
        if groups is None:
            break
        tables = make_tables(groups, statement, inside, margins=sweep.margins)
        answer = Search(tables, inside, size, needed=statement.needed, limit=limit, budget=budget).run()
        proved = max(proved, answer.proved)
        if answer.places is not None:
            places, upper = list(own), answer.proved
            for axis, place in zip(tables.axes, answer.places, strict=True):
                places[axis.column] = int(chosen[axis.column][place])
        if answer.places is not None or not answer.finished:
            break
    exact = proved >= upper
    row = None if places is None else _checked(shap, statement, _row(near, places))
    reach = size.size(proved)
    return Together(reach if size.counts else reach * (1 - ROUNDING), exact, row, boxes - max(budget.boxes, 0))


def _attack(prices: Sequence[FloatArray], sweep: Sweep, own: Sequence[int]) -> tuple[float, list[int] | None]:
    """The cheapest single column that breaks the statement."""
    upper, places = np.inf, None
    for column, (price, kept) in enumerate(zip(prices, sweep.kept, strict=True)):
        failing = np.where(kept, np.inf, price)
        if failing.min() < upper:
            upper, places = float(failing.min()), list(own)
            places[column] = int(np.argmin(failing))
    return upper, places


def _limits(trees: Sequence[Terms], near: Sequence[Cells], prices: Sequence[FloatArray], upper: float) -> list[float]:
    """Limits of growing boxes: as far as the cells of each stage allow; the last is the upper end."""
    steps = np.unique(np.concatenate([[upper], *(one[(one > 0) & (one < upper)] for one in prices)]))

    def cells(limit: float) -> float:
        inside = [one.chosen(np.flatnonzero(price < limit)) for one, price in zip(near, prices, strict=True)]
        return count_cells(whole_trees(trees, inside))

    limits: list[float] = []
    first = 0
    for most in STAGES:
        low, high = first, len(steps) - 1  # the last limit within the number of cells, by bisection
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if cells(steps[middle]) <= most else (low, middle - 1)
        if low > first or not limits:
            limits.append(float(steps[low]))
        first = low
        if low == len(steps) - 1:
            return limits
    return [*limits, float(steps[-1])]


def _pieces(trees: Sequence[Terms], near: Sequence[Cells], inequalities: int) -> list[Group] | None:
    """Trees whole, or in pieces if they would take too much memory; None if even their leaves would."""
    moving = sum(len(cells.codes) > 1 for cells in near)
    groups = whole_trees(trees, near)
    most = MOST_NUMBERS / (inequalities + moving)
    for piece in PIECES:
        if count_cells(groups) <= most:
            return groups
        groups = split_groups(groups, near, piece)
    return groups if count_cells(groups) <= most else None


def _row(near: Sequence[Cells], places: Sequence[int]) -> FloatArray:
    return np.array([cells.values[place] for cells, place in zip(near, places, strict=True)])


def _checked(shap: TreeShap, statement: Statement, row: FloatArray) -> FloatArray:
    """A claimed row, explained anew; raises AttriboundError if it does not break the statement."""
    margins = statement.margins(shap.values(row[None]))
    slack = ROUNDING * (np.abs(statement.outputs) @ shap.forest.magnitude)
    if statement.holds(margins - slack)[0]:
        raise AttriboundError(f"the nearest change found does not break the statement ({statement.words}): a bug")
    return row
