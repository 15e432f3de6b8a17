"""Attacks without gradients: points inside a proved reach, at which nothing may break."""

from collections.abc import Sequence

import numpy as np

from attribound.forests.cells import Cells, Movement
from attribound.forests.ensemble import FloatArray
from attribound.forests.sizes import Size

_INSIDE = 1 - 1e-9
"""Points are strictly inside by this relative amount."""
_ALONE = 0.3
"""How often a column is left alone."""


def threshold_moves(
    near: Sequence[Cells], size: Size, *, reach: float, count: int, rng: np.random.Generator
) -> FloatArray:
    """Random cells within a reach, each at its nearest value, (points, columns).

    Columns are taken in random order, each moved anywhere that the rest of the budget allows, or left alone.
    """
    rows = np.tile([cells.values[cells.own] for cells in near], (count, 1))
    left = np.full(count, _limit(size, reach))
    for column in rng.permutation(len(near)):
        cells = near[column]
        order = np.argsort(cells.distance, kind="stable")
        prices = size.prices(cells)[order]
        pick = (rng.random(count) * np.maximum(np.searchsorted(prices, left), 1)).astype(np.intp)
        pick[rng.random(count) < _ALONE] = 0
        rows[:, column] = cells.values[order[pick]]
        left = left - prices[pick] if size.adds else left
    return rows


def random_moves(
    row: FloatArray,
    moves: Sequence[Movement],
    numeric: Sequence[bool],
    size: Size,
    *,
    reach: float,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Random directions of the numeric columns, close to the edge of a reach (l2 or each); whole numbers stay whole."""
    units = np.array([move.unit for move in moves]) * np.asarray(numeric) * ~np.isnan(row)
    step = rng.normal(size=(count, len(row))) * (units > 0)
    length = np.linalg.norm(step, axis=1) if size.adds else np.abs(step).max(axis=1)
    far = min(reach, 10.0) * _INSIDE * rng.uniform(0, 1, count) ** 0.1
    step *= (far / np.maximum(length, 1e-300))[:, None] * units
    whole = [move.whole for move in moves]
    step[:, whole] = np.trunc(step[:, whole])
    return np.where(units > 0, row + step, row)


def coordinate_moves(near: Sequence[Cells], size: Size, *, reach: float) -> FloatArray:
    """Every alternative of every single column within a reach, (points, columns)."""
    row, limit = np.array([cells.values[cells.own] for cells in near]), _limit(size, reach)
    points = [row]
    for column, cells in enumerate(near):
        inside = np.flatnonzero(size.prices(cells) < limit)
        moved = np.tile(row, (len(inside), 1))
        moved[:, column] = cells.values[inside]
        points.extend(moved)
    return np.array(points)


def pair_moves(near: Sequence[Cells], size: Size, *, reach: float, count: int, rng: np.random.Generator) -> FloatArray:
    """Two columns at once, each anywhere that the budget allows, (points, columns)."""
    moving = [column for column, cells in enumerate(near) if len(cells.codes) > 1]
    rows = np.tile([cells.values[cells.own] for cells in near], (count, 1))
    if len(moving) < 2:
        return rows
    for place in range(count):
        first, second = (int(one) for one in rng.choice(moving, 2, replace=False))
        pair = [near[first], near[second]]
        rows[place, [first, second]] = threshold_moves(pair, size, reach=reach, count=1, rng=rng)[0]
    return rows


def _limit(size: Size, reach: float) -> float:
    """What a change strictly inside a reach may cost."""
    if size.counts:
        return reach - 0.5
    return float(size.price(np.array([reach * _INSIDE if np.isfinite(reach) else np.inf]))[0])
