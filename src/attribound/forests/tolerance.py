"""Exact tolerances of a forest's reasons: one column, two columns, all columns together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from attribound.checks import count, positive
from attribound.codebook import Codebook, cells_by_name
from attribound.forests.axes import Axis
from attribound.forests.cells import Cells, Movement, movements, neighbours
from attribound.forests.ensemble import BoolArray, FloatArray
from attribound.forests.groups import Reasons, hot_member, make_reasons
from attribound.forests.nearest import Sweep, find_nearest, sweep_columns
from attribound.forests.search import Budget
from attribound.forests.shap import TreeShap
from attribound.forests.sheet import ColumnTolerance, Part, Sheet
from attribound.forests.sizes import size_named
from attribound.forests.statements import Decision, Statement, decide, make_statements


def tolerance(
    shap: TreeShap,
    row: Any,
    *,
    keep: str = "first",
    size: str = "l2",
    scale: npt.ArrayLike | Mapping[str, float] | None = None,
    fixed: Sequence[str] = (),
    whole: Sequence[str] = (),
    choices: Mapping[str, Sequence[int]] | None = None,
    codebook: Codebook | str | Path | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
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
        row: (columns,) numbers, missing cells NaN; or cells by name: a dictionary, a pandas row.
        keep: `first` reason, `stays:K` (each of the first K stays among them), `top:K` (their set stays), `sign` or
            `sign:COLUMN` of a reason, `class` (or side of the threshold).
        size: of changes of several columns: `l2`, `each` (the largest of all), or `count` (of changed answers).
        scale: a unit for each column, or by name, such as `frame.std()` (others are fixed); 0: fixed. A changed
            category costs one unit.
        fixed: columns that do not change.
        whole: columns that hold whole numbers.
        choices: by categorical column, the categories that it may take.
        codebook: what is known about the columns, or a file of it; also for arguments that are not given.
        groups: by name, one-hot columns that are one reason, the sum of their values; fixed where others change.
        missing: whether cells may become missing, or be filled, for one unit each.
        target: the output to explain; None: the largest score.
        side: 1 or -1: reasons for a high or a low score; None: for the side on which the score lies.
        threshold: of the score (before any link function), for forests that decide by sides.
        boxes: how many boxes the search may cut, and
        seconds: how long it may take, per statement.
    """
    names, reasons = shap.forest.names, make_reasons(shap.forest.names, groups)
    book = Codebook.of(codebook).with_words(shap.forest.words)
    values = book.check([*names, *reasons.grouped]).row(row, names)
    stated: dict[str, Any] = {"scale": scale, "fixed": fixed, "whole": whole, "choices": choices, "missing": missing}
    moves = _movements(shap, book, reasons, **stated)
    budget = Budget(int(count("boxes", boxes)), float(positive("seconds", seconds)))
    decision = decide(shap, values, target=target, side=side, threshold=threshold, reasons=reasons)
    return _answer(shap, values, moves, decision, _Asked(keep, size, budget, threshold, book))


def _by_column(units: Any) -> FloatArray | dict[str, float] | None:
    """Units in the order of the columns, or by name: a pandas Series has names, whatever its order."""
    if units is None:
        return None
    return cells_by_name(units) or np.asarray(units, dtype=np.float64)


def _movements(
    shap: TreeShap,
    book: Codebook,
    reasons: Reasons,
    *,
    scale: Any,
    fixed: Sequence[str],
    whole: Sequence[str],
    choices: Mapping[str, Sequence[int]] | None,
    missing: bool,
) -> tuple[Movement, ...]:
    """How columns may change, from what is stated and from the codebook.

    Columns of groups do not: one by one they would make rows with two categories, or none.
    """
    names = shap.forest.names
    units = book.scales(names) if scale is None else scale
    grouped = [names[place] for members in reasons.grouped.values() for place in members]
    return movements(
        names,
        shap.forest.categorical,
        scale=_by_column(units),
        fixed=[*fixed, *grouped, *(name for name in names if book[name].fixed)],
        whole=[*whole, *(name for name in names if book[name].whole)],
        choices={name: range(len(words)) for name in names if (words := book[name].words)} | dict(choices or {}),
        missing=missing,
    )


@dataclass(frozen=True)
class _Asked:
    """What is asked about a row; see `tolerance`."""

    keep: str
    size: str
    budget: Budget
    threshold: float
    codebook: Codebook


def _answer(
    shap: TreeShap, values: FloatArray, moves: tuple[Movement, ...], decision: Decision, asked: _Asked
) -> Sheet:
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
        columns = _regrouped(shap, values, columns, statement=statement, reasons=decision.reasons)
        after = _contributions(shap, together.nearest, decision)
        parts.append(Part(statement.words, statement.reason, columns, together, after))
    units = np.array([move.unit for move in moves])
    return _sheet(shap, values, decision, parts=tuple(parts), units=units, asked=asked)


def _freely(movement: Movement) -> Movement:
    """As for a column that is looked at by itself: every value and missing included."""
    return Movement(1.0, movement.whole, movement.choices, missing=True)


def _sheet(
    shap: TreeShap,
    values: FloatArray,
    decision: Decision,
    *,
    parts: tuple[Part, ...],
    units: FloatArray,
    asked: _Asked,
) -> Sheet:
    return Sheet(
        parts=parts,
        keep=asked.keep,
        size=asked.size,
        reasons=decision.named,
        names=decision.reasons.names,
        contributions=decision.contributions,
        target=decision.target,
        side=decision.side,
        prediction=_prediction(shap.forest.decides, decision, asked.threshold),
        columns=shap.forest.names,
        row=values,
        units=units,
        codebook=asked.codebook,
    )


def _prediction(decides: str, decision: Decision, threshold: float) -> int | None:
    if decides == "values":
        return None
    scores = decision.scores
    return int(scores[decision.target] > threshold) if decides == "sides" else int(np.argmax(scores))


def _contributions(shap: TreeShap, row: FloatArray | None, decision: Decision) -> FloatArray | None:
    """Of every reason at another row."""
    if row is None:
        return None
    found: FloatArray = decision.reasons.weights @ shap.values(row[None])[0, decision.target]
    return found


def _regrouped(
    shap: TreeShap,
    row: FloatArray,
    columns: dict[str, ColumnTolerance],
    *,
    statement: Statement,
    reasons: Reasons,
) -> dict[str, ColumnTolerance]:
    """The columns of a group as one column of categories, every one of them tried."""
    found = {}
    for name, members in zip(reasons.names, reasons.members, strict=True):
        if len(members) == 1:
            found[name] = columns[name]
            continue
        own, tried = hot_member(name, row[members]), np.repeat(row[None], len(members), axis=0)
        tried[:, members] = np.eye(len(members))
        kept = statement.holds(statement.margins(shap.values(tried)))
        nothing = np.empty(0)
        alternatives = dict(enumerate(kept.tolist()))
        found[name] = ColumnTolerance(
            name, float(own), (np.nan, np.nan), alternatives, None, nothing, nothing, nothing.astype(bool)
        )
    return found


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
            alternatives=_alternatives(axis, near, kept, move) if listed else {},
            missing=bool(kept[absent][0]) if absent.any() else None,
            low=near.low[ordered],
            high=near.high[ordered],
            kept=kept[ordered],
        )
    return found


def _alternatives(axis: Axis, near: Cells, kept: BoolArray, move: Movement) -> dict[int, bool]:
    """By category, whether a statement holds: those stated, or one for each way that the trees can go."""
    by_code = dict(zip(near.codes.tolist(), kept.tolist(), strict=True))
    stated = near.values[~np.isnan(near.values)] if move.choices is None else np.array(move.choices, np.float64)
    own = near.values[[near.own]]
    listed = np.unique(np.concatenate([stated, own[~np.isnan(own)]]))
    return {int(one): by_code[code] for one, code in zip(listed, axis.codes(listed).tolist(), strict=True)}


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
