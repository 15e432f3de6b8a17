"""Best-first search for the nearest cell in which a statement fails, with everything nearer proved.

Boxes of cells wait in a heap by their distance from the row. The nearest is taken: it is dropped if the statement is
proved on it, else cut in two. A half is never nearer than its whole, so distances never fall, and every point nearer
than the box in hand lies in a dropped box. A half whose nearest cell fails need not be kept: that cell is as near as
the half. When no box nearer than the nearest failing cell is left, that cell is the answer.
"""

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from attribound.forests.cells import Cells
from attribound.forests.ensemble import FloatArray, IntArray
from attribound.forests.sizes import Size
from attribound.forests.tables import IndexArray, Tables


@dataclass
class Budget:
    """How much a search may cost; counts down.

    Attributes:
        boxes: left to cut.
        seconds: of wall time in all.
    """

    boxes: int
    seconds: float
    started: float = field(default_factory=time.monotonic)

    def spend(self) -> bool:
        """Take one box; False if there is none left or the time is over."""
        self.boxes -= 1
        return self.boxes >= 0 and time.monotonic() - self.started <= self.seconds


@dataclass(frozen=True, eq=False)
class Nearest:
    """What a search found.

    Attributes:
        proved: the statement holds wherever the total price is below this.
        places: the failing cell with that price, one alternative per moving column; None if there is none below the
            limit, or the budget ended first.
        finished: whether the budget was enough.
    """

    proved: float
    places: tuple[int, ...] | None
    finished: bool


@dataclass(frozen=True, eq=False)
class _Box:
    """Ranges of alternatives, with what is known about them.

    Attributes:
        ranges: the first and last alternative of every moving column.
        corner: the nearest alternative of every moving column.
        cells: that met the box it was cut from.
        open: the inequalities not yet proved.
        needed: how many of them must hold.
    """

    ranges: tuple[tuple[int, int], ...]
    corner: tuple[int, ...]
    cells: IndexArray
    open: IntArray
    needed: int


class Search:
    """One search; see the module.

    Args:
        tables: the trees on the alternatives.
        near: the alternatives of every column of the forest.
        size: how prices add up.
        needed: how many inequalities must hold.
        limit: total prices from here on are not asked about.
        budget: shared with other searches about the row.
    """

    def __init__(
        self, tables: Tables, near: Sequence[Cells], size: Size, *, needed: int, limit: float, budget: Budget
    ) -> None:
        self._tables, self._size, self._limit, self._budget = tables, size, limit, budget
        self._needed = needed
        self._prices = [size.prices(near[axis.column]) for axis in tables.axes]
        self._own = tuple(near[axis.column].own for axis in tables.axes)
        self._heap: list[tuple[float, int, _Box]] = []
        self._pushed = 0
        self._best: tuple[int, ...] | None = None

    def run(self) -> Nearest:
        """Search until nothing nearer is left, or the budget ends."""
        tables = self._tables
        everything = np.arange(len(tables.group), dtype=np.int32)
        ranges = tuple((0, len(prices) - 1) for prices in self._prices)
        self._push(_Box(ranges, self._own, everything, np.arange(len(tables.rest)), self._needed))
        while self._heap and self._heap[0][0] < self._limit:
            if not self._budget.spend():
                return Nearest(self._heap[0][0], None, finished=False)
            self._open(heapq.heappop(self._heap)[2])
        return Nearest(self._limit, self._best, finished=True)

    def _push(self, box: _Box) -> None:
        """Keep a box, or take its nearest cell for the answer if that fails."""
        price = self._price(box.corner)
        if price >= self._limit:
            return
        if (self._tables.margins(box.corner) > 0).sum() < self._needed:
            self._limit, self._best = price, box.corner
            return
        self._pushed += 1
        heapq.heappush(self._heap, (price, self._pushed, box))

    def _price(self, places: Sequence[int]) -> float:
        return self._size.total(np.array([prices[one] for prices, one in zip(self._prices, places, strict=True)]))

    def _open(self, box: _Box) -> None:
        """Drop a box on which the statement is proved; else cut it."""
        ranges = self._trim(box)
        cells = self._meeting(box, ranges)
        least = self._tables.least(cells, box.open)
        bounds = least.sum(axis=0) + self._tables.rest[box.open]
        proved = bounds > 0
        needed = box.needed - int(proved.sum())
        if needed <= 0:
            return
        if all(low == high for low, high in ranges):
            return  # its only cell was found to hold when it was pushed; sums in another order may differ in rounding
        left = np.flatnonzero(~proved)
        # Enough must hold: the one that is hardest among the easiest is what decides.
        critical = left[np.argsort(-bounds[left], kind="stable")[needed - 1]]
        column, at = self._cut(cells, ranges, least[:, critical], int(box.open[critical]))
        low, high = ranges[column]
        for side in ((low, at), (at + 1, high)):
            half = (*ranges[:column], side, *ranges[column + 1 :])
            prices = self._prices[column]
            nearest = side[0] + int(np.argmin(prices[side[0] : side[1] + 1]))
            corner = (*box.corner[:column], nearest, *box.corner[column + 1 :])
            self._push(_Box(half, corner, cells, box.open[left], needed))

    def _trim(self, box: _Box) -> tuple[tuple[int, int], ...]:
        """Leave out alternatives at the ends that are too far, even with all other columns at their nearest."""
        prices = [one[place] for one, place in zip(self._prices, box.corner, strict=True)]
        total, trimmed = self._size.total(np.array(prices)), []
        for (low, high), own, price in zip(box.ranges, self._prices, prices, strict=True):
            inside = np.flatnonzero(own[low : high + 1] < self._size.left(self._limit, total, price))
            # Rounding may leave nothing: then the nearest, which is in the box for sure.
            inside = inside if inside.size else np.array([int(np.argmin(own[low : high + 1]))])
            trimmed.append((low + int(inside[0]), low + int(inside[-1])))
        return tuple(trimmed)

    def _meeting(self, box: _Box, ranges: tuple[tuple[int, int], ...]) -> IndexArray:
        cells = box.cells
        for axis, (low, high) in zip(self._tables.axes, ranges, strict=True):
            meets = axis.meets(low, high)
            if not meets.all():
                cells = cells[meets[axis.members[cells]]]
        return cells

    def _cut(
        self, cells: IndexArray, ranges: tuple[tuple[int, int], ...], least: FloatArray, wanted: int
    ) -> tuple[int, int]:
        """The cut after which both halves are nearest to being proved: a column, and where its lower side ends."""
        values, total = self._tables.values[cells, wanted], least.sum() + self._tables.rest[wanted]
        best, chosen = -np.inf, (-1, -1)
        for column, (axis, (low, high)) in enumerate(zip(self._tables.axes, ranges, strict=True)):
            if low == high:
                continue
            by_class = np.full(len(axis.seen), np.inf)
            np.minimum.at(by_class, axis.members[cells], values)
            table = by_class[axis.classes[:, low : high + 1]]
            base = total - least[axis.groups].sum()
            lower = np.minimum.accumulate(table, axis=1)[:, :-1].sum(axis=0) + base
            upper = np.minimum.accumulate(table[:, ::-1], axis=1)[:, -2::-1].sum(axis=0) + base
            worse, better = np.minimum(lower, upper), np.maximum(lower, upper)
            gain = np.minimum(worse, 0) + 0.5 * np.minimum(better, 0)
            place = int(np.argmax(gain))
            if gain[place] > best:
                best, chosen = float(gain[place]), (column, low + place)
        return chosen
