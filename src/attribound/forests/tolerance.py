"""Exact tolerances of a forest's reasons: one column, two columns, all columns together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from attribound.checks import count, positive
from attribound.errors import ArgumentError
from attribound.forests.cells import Cells, Movement, movements, neighbours
from attribound.forests.ensemble import BoolArray, FloatArray
from attribound.forests.nearest import Sweep, Together, find_nearest, sweep_columns
from attribound.forests.search import Budget
from attribound.forests.shap import TreeShap
from attribound.forests.sizes import size_named
from attribound.forests.statements import Decision, decide, make_statements
from attribound.forests.words import letter


@dataclass(frozen=True, eq=False)
class ColumnTolerance:
    """One column, the others as they are.

    Attributes:
        name: of the column.
        value: the row's.
        values: the lowest and highest value up to which the statement holds without a gap, both included; (nan, nan)
            if it does not hold at the row, or for a column without an order or with a missing cell.
        alternatives: by category, whether the statement holds; empty for numbers.
        missing: whether it holds if the cell is missing; None if the model gives missing cells no way of their own.
        low: cells of values above this,
        high: and up to this,
        kept: and whether the statement holds there.
    """

    name: str
    value: float
    values: tuple[float, float]
    alternatives: Mapping[int, bool]
    missing: bool | None
    low: FloatArray
    high: FloatArray
    kept: BoolArray


@dataclass(frozen=True, eq=False)
class Part:
    """One statement about a row.

    Attributes:
        words: the statement.
        reason: the column that it is about, or None.
        columns: by name, the tolerance of each column.
        together: all columns at once.
    """

    words: str
    reason: str | None
    columns: Mapping[str, ColumnTolerance]
    together: Together


@dataclass(frozen=True, eq=False)
class Sheet:
    """Everything about one row.

    Attributes:
        parts: the statements; several for `stays:K`, in the order of reasons.
        size: how changes are measured.
        reasons: names of columns, the first reason first.
        contributions: SHAP values in the order of the forest's columns.
        target: the output that is explained.
        side: reasons are contributions towards this side of the score.
    """

    parts: tuple[Part, ...]
    size: str
    reasons: tuple[str, ...]
    contributions: FloatArray
    target: int
    side: int

    def __getitem__(self, name: str) -> ColumnTolerance:
        """A column's tolerance; of several statements, where all hold."""
        first, *others = (part.columns[name] for part in self.parts)
        for one in others:
            first = _both(first, one)
        return first

    @property
    def together(self) -> Together:
        """All columns at once; of several statements, the first to break."""
        return min((part.together for part in self.parts), key=lambda one: one.reach)

    def __str__(self) -> str:
        """In plain words."""
        return letter(self)


def tolerance(
    shap: TreeShap,
    row: npt.ArrayLike,
    *,
    keep: str = "first",
    size: str = "l2",
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    fixed: Sequence[str] = (),
    whole: Sequence[str] = (),
    choices: Mapping[str, Sequence[int]] | None = None,
    missing: bool = False,
    target: int | None = None,
    side: int | None = None,
    threshold: float = 0.0,
    boxes: int = 20_000,
    seconds: float = 60.0,
) -> Sheet:
    """How far a row's values may be off before what it was told changes: exact, with alpha 0.

    Args:
        shap: of the forest.
        row: (columns,); missing cells are NaN.
        keep: `first` reason, `stays:K` (each of the first K stays among them), `top:K` (their set stays), `sign` or
            `sign:COLUMN` of a reason, `class` (or side of the threshold).
        size: of changes of several columns: `l2`, `each` (the largest of all), or `count` (of changed answers).
        scale: a unit for each column, or by name (others are fixed); 0: fixed. A changed category costs one unit.
        fixed: columns that do not change.
        whole: columns that hold whole numbers.
        choices: by categorical column, the categories that it may take.
        missing: whether cells may become missing, or be filled, for one unit each.
        target: the output to explain; None: the largest score.
        side: 1 or -1: reasons for a high or a low score; None: for the side on which the score lies.
        threshold: of the score (before any link function), for forests that decide by sides.
        boxes: how many boxes the search may cut, and
        seconds: how long it may take, per statement.
    """
    values, forest = np.asarray(row, dtype=np.float64), shap.forest
    if values.shape != (len(forest.names),):
        raise ArgumentError(f"expected one row of {len(forest.names)} columns, got an array of shape {values.shape}")
    moves = movements(
        forest.names,
        forest.categorical,
        scale=scale if scale is None or isinstance(scale, Mapping) else np.asarray(scale, dtype=np.float64),
        fixed=fixed,
        whole=whole,
        choices=choices,
        missing=missing,
    )
    budget = Budget(int(count("boxes", boxes)), float(positive("seconds", seconds)))
    return _answer(shap, values, moves, _Asked(keep, size, budget, target, side, threshold))


@dataclass(frozen=True)
class _Asked:
    """What is asked about a row; see `tolerance`."""

    keep: str
    size: str
    budget: Budget
    target: int | None
    side: int | None
    threshold: float


def _answer(shap: TreeShap, values: FloatArray, moves: tuple[Movement, ...], asked: _Asked) -> Sheet:
    decision = decide(shap, values, target=asked.target, side=asked.side, threshold=asked.threshold)
    statements = make_statements(shap.forest, decision, asked.keep, threshold=asked.threshold)
    near = neighbours(shap.forest.axes, values, moves)
    free = neighbours(shap.forest.axes, values, tuple(_freely(one) for one in moves))
    parts = []
    for statement, sweep in zip(statements, sweep_columns(shap, statements, free), strict=True):
        together = find_nearest(
            shap,
            statement,
            near,
            sweep=sweep.at(free, near),
            size=size_named(asked.size),
            budget=asked.budget,
        )
        columns = _columns(shap, values, moves, cells=free, sweep=sweep)
        reason = None if statement.reason is None else shap.forest.names[statement.reason]
        parts.append(Part(statement.words, reason, columns, together))
    return _sheet(shap, decision, tuple(parts), asked.size)


def _freely(movement: Movement) -> Movement:
    """As for a column that is looked at by itself: every value and missing included."""
    return Movement(1.0, movement.whole, movement.choices, missing=True)


def _sheet(shap: TreeShap, decision: Decision, parts: tuple[Part, ...], size: str) -> Sheet:
    return Sheet(
        parts=parts,
        size=size,
        reasons=tuple(shap.forest.names[column] for column in decision.order),
        contributions=decision.values[decision.target],
        target=decision.target,
        side=decision.side,
    )


def _columns(
    shap: TreeShap, row: FloatArray, moves: Sequence[Movement], *, cells: Sequence[Cells], sweep: Sweep
) -> dict[str, ColumnTolerance]:
    found = {}
    for axis, value, move, near, kept in zip(shap.forest.axes, row, moves, cells, sweep.kept, strict=True):
        absent = np.isnan(near.values) & np.isnan(near.high)
        listed = axis.categories is not None
        ordered = ~np.isnan(near.high)
        found[axis.name] = ColumnTolerance(
            name=axis.name,
            value=float(value),
            values=_interval(near, kept, whole=move.whole) if not listed else (np.nan, np.nan),
            alternatives={int(one): bool(ok) for one, ok in zip(near.values, kept, strict=True) if one == one}
            if listed
            else {},
            missing=bool(kept[absent][0]) if absent.any() else None,
            low=near.low[ordered],
            high=near.high[ordered],
            kept=kept[ordered],
        )
    return found


def _interval(cells: Cells, kept: BoolArray, *, whole: bool) -> tuple[float, float]:
    """The values around the row's own at which a statement holds."""
    own = cells.own
    if not kept[own] or np.isnan(cells.values[own]):
        return (np.nan, np.nan)
    numbers = np.flatnonzero(~np.isnan(cells.high))
    bad = numbers[~kept[numbers]]
    below, above = bad[bad < own], bad[bad > own]
    low = -np.inf if not below.size else float(np.nextafter(cells.high[below[-1]], np.inf))
    high = np.inf if not above.size else float(cells.low[above[0]])
    return (float(np.ceil(low)), float(np.floor(high))) if whole else (low, high)


def _both(one: ColumnTolerance, other: ColumnTolerance) -> ColumnTolerance:
    """Where two statements hold."""
    values = (max(one.values[0], other.values[0]), min(one.values[1], other.values[1]))
    return ColumnTolerance(
        name=one.name,
        value=one.value,
        values=(np.nan, np.nan) if np.isnan([*one.values, *other.values]).any() else values,
        alternatives={name: kept and other.alternatives[name] for name, kept in one.alternatives.items()},
        missing=None if one.missing is None or other.missing is None else one.missing and other.missing,
        low=one.low,
        high=one.high,
        kept=one.kept & other.kept,
    )
