"""Attack column tolerances without gradients: nothing inside a reach may break, and the nearest change must."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from attribound.forests import TreeShap
from attribound.forests.attack import coordinate_moves, pair_moves, random_moves, threshold_moves
from attribound.forests.cells import movements, neighbours
from attribound.forests.ensemble import FloatArray
from attribound.forests.libraries import Explain
from attribound.forests.sizes import size_named
from attribound.forests.statements import Statement, decide, make_statements
from attribound.tolerances.columns.finding import ColumnsFinding
from attribound.tolerances.columns.record import ColumnsRecord, Kept, cells_of, numbers_of

_ROUNDING = 1e-6
"""Of the tie: what is lost by less hangs on the rounding of our own sums."""


@final
@dataclass(frozen=True)
class ColumnsAttack:
    """Attacks one record after another.

    Attributes:
        shap: of the forest.
        count: points for each way to move.
        seed: of the points; each row has a stream of its own.
        library: the library that wrote the forest, and its own SHAP values; None if it is not installed.
    """

    shap: TreeShap
    count: int = 2048
    seed: int = 0
    library: tuple[str, Explain] | None = None

    def __call__(self, record: ColumnsRecord) -> tuple[ColumnsFinding, ...]:
        """What became of each statement of a record."""
        asked, forest = record.asked, self.shap.forest
        row = numbers_of(record.row, record.names, asked.words)
        decision = decide(self.shap, row, target=record.target, side=record.side, threshold=asked.threshold)
        statements = make_statements(forest, decision, asked.keep, threshold=asked.threshold)
        rng = np.random.default_rng([self.seed, record.item])
        return tuple(
            self._finding(record, part, statement, row=row, rng=rng)
            for part, statement in zip(record.parts, statements, strict=True)
        )

    def _finding(
        self, record: ColumnsRecord, part: Kept, statement: Statement, *, row: FloatArray, rng: np.random.Generator
    ) -> ColumnsFinding:
        points = self._points(record, part, row, rng) if part.size > 0 else np.empty((0, len(row)))
        lost = np.empty(0, np.intp)
        if len(points):
            margins = statement.margins(self.shap.values(points))
            lost = np.flatnonzero(~statement.holds(margins + _ROUNDING * statement.tie))
        name, confirmed = self._confirmed(record, part, statement)
        return ColumnsFinding(
            item=record.item,
            words=part.words,
            reach=part.reach,
            points=len(points),
            breaks=cells_of(points[lost[0]], record.names, record.asked.words) if lost.size else None,
            library=name,
            confirmed=confirmed,
            seed=self.seed,
        )

    def _points(self, record: ColumnsRecord, part: Kept, row: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Rows strictly inside the reach: every single change, thresholds, pairs of columns, random directions."""
        asked, forest, size = record.asked, self.shap.forest, size_named(record.asked.size)
        moves = movements(
            forest.names,
            forest.categorical,
            scale=np.array(record.units),
            fixed=(),
            whole=asked.whole,
            choices=asked.choices(forest.names, forest.categorical),
            missing=asked.missing,
        )
        near, reach = neighbours(forest.axes, row, moves), part.size
        points: list[FloatArray] = [
            coordinate_moves(near, size, reach=reach),
            threshold_moves(near, size, reach=reach, count=self.count, rng=rng),
            pair_moves(near, size, reach=reach, count=self.count // 4, rng=rng),
        ]
        if not size.counts:
            numeric: Sequence[bool] = [not known for known in forest.categorical]
            points.append(random_moves(row, moves, numeric, size, reach=reach, count=self.count, rng=rng))
        return np.concatenate(points)

    def _confirmed(self, record: ColumnsRecord, part: Kept, statement: Statement) -> tuple[str | None, bool | None]:
        """Whether the library's own values break the statement at the nearest change; ties within rounding count."""
        if self.library is None or part.nearest is None or not part.exact:
            return None, None
        name, explain = self.library
        there = numbers_of(part.nearest, record.names, record.asked.words)
        margins = statement.margins(explain(there[None])) - statement.tie
        return name, not bool(statement.holds(margins)[0])
