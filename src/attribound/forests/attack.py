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
    limit = float(size.price(np.array([reach * _INSIDE if np.isfinite(reach) else np.inf]))[0])
    if size.counts:
        limit = reach - 0.5
    left = np.full(count, limit)
    for column in rng.permutation(len(near)):
        cells = near[column]
        order = np.argsort(cells.distance, kind="stable")
        prices = size.price(cells.distance)[order]
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
    length = np.abs(step).max(axis=1) if size.name == "each" else np.linalg.norm(step, axis=1)
    far = min(reach, 10.0) * _INSIDE * rng.uniform(0, 1, count) ** 0.1
    step *= (far / np.maximum(length, 1e-300))[:, None] * units
    whole = [move.whole for move in moves]
    step[:, whole] = np.trunc(step[:, whole])
    return np.where(units > 0, row + step, row)
