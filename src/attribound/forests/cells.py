"""The alternatives of one row's columns: every cell with the value in it that lies nearest, and how far that is.

The distance is an infimum: it is measured to the end of the cell, though the end itself may lie outside. The value is a
number inside that the library reads as such.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attribound.errors import ArgumentError
from attribound.forests.axes import Axis
from attribound.forests.comparisons import ZERO
from attribound.forests.ensemble import FloatArray, IntArray

SMALLEST, LARGEST = 1e-100, 1e100
"""Beyond these units squares of distances are infinite, and what is infinitely far counts as unreachable, or zero."""
UNIT = 1.0
"""What a changed answer costs where there is no distance: another category, a cell that becomes missing."""


@dataclass(frozen=True, eq=False)
class Cells:
    """One column's alternatives.

    Attributes:
        codes: in the order of values; categories by number; missing last.
        low: cells hold values above this,
        high: and up to this; NaN for categories and missing cells.
        values: the value nearest to the row's.
        distance: in units; 0 for the row's own cell, and for one that begins right beside the row.
        own: the position of the row's own cell.
    """

    codes: IntArray
    low: FloatArray
    high: FloatArray
    values: FloatArray
    distance: FloatArray
    own: int

    def chosen(self, keep: Sequence[int] | IntArray) -> "Cells":
        """Some of them, the row's own among them."""
        kept = np.asarray(keep, dtype=np.intp)
        own = int(np.flatnonzero(kept == self.own)[0])
        return Cells(self.codes[kept], self.low[kept], self.high[kept], self.values[kept], self.distance[kept], own)


@dataclass(frozen=True)
class Movement:
    """How a column may change.

    Attributes:
        unit: what counts as 1; 0: it does not move.
        whole: it holds whole numbers.
        choices: the categories that it may take; None: all that some split names, and one that none does.
        missing: it may become missing, and a missing cell may be filled, each for one unit.
    """

    unit: float = 1.0
    whole: bool = False
    choices: tuple[int, ...] | None = None
    missing: bool = False


def make_cells(axis: Axis, value: float, movement: Movement) -> Cells:
    """All alternatives of a column at a row's value."""
    make = _intervals if axis.categories is None else _categories
    cells = make(axis, value, movement)
    reachable = np.isfinite(cells.distance) & (movement.unit > 0)
    reachable[cells.own] = True
    return cells.chosen(np.flatnonzero(reachable))


def neighbours(axes: Sequence[Axis], row: FloatArray, moves: Sequence[Movement]) -> tuple[Cells, ...]:
    """All alternatives of all columns of a row."""
    return tuple(make_cells(axis, float(value), move) for axis, value, move in zip(axes, row, moves, strict=True))


def _categories(axis: Axis, value: float, movement: Movement) -> Cells:
    assert axis.categories is not None
    other = next(number for number in range(len(axis.categories) + 1) if number not in set(axis.categories))
    values = np.append(axis.categories.astype(np.float64), other)
    if movement.choices is not None:
        values = np.array(sorted(set(movement.choices)), dtype=np.float64)
    codes = axis.codes(values)
    codes, first = np.unique(codes, return_index=True)
    values = values[first]
    own = int(axis.codes(np.array([value]))[0])
    if own not in codes and not np.isnan(value):
        codes, values = np.append(codes, own), np.append(values, value)
    if axis.has_missing and (movement.missing or np.isnan(value)):
        codes, values = np.append(codes, axis.count - 1), np.append(values, np.nan)
    place = int(np.flatnonzero(codes == own)[0])
    values[place] = value
    distance = np.where(np.arange(len(codes)) == place, 0.0, UNIT)
    if np.isnan(value) and not movement.missing:
        distance[np.arange(len(codes)) != place] = np.inf
    edges = np.full(len(codes), np.nan)
    return Cells(codes, edges, edges, values, distance, place)


def _intervals(axis: Axis, value: float, movement: Movement) -> Cells:
    own = int(axis.codes(np.array([value]))[0])
    low, high = np.append(-np.inf, axis.cuts), np.append(axis.cuts, np.inf)
    codes = np.arange(axis.values)
    if np.isnan(value):
        values, distance = _filled(low, high, movement)
    else:
        if movement.whole and value != np.floor(value):
            raise ArgumentError(f"expected a whole number in column {axis.name!r}, got {value:g}")
        values, end = _nearest(axis, low, high, value, whole=movement.whole)
        distance = np.abs(end - value) / (movement.unit or 1.0)
        distance[np.isnan(values)] = np.inf
    absent = axis.count - 1 if axis.has_missing else int(np.searchsorted(axis.cuts, 0.0))
    if axis.has_missing:
        codes, low, high = np.append(codes, absent), np.append(low, np.nan), np.append(high, np.nan)
        values, distance = np.append(values, np.nan), np.append(distance, UNIT if movement.missing else np.inf)
    elif movement.missing and axis.missing.name != "REFUSED" and distance[absent] > UNIT:
        values[absent], distance[absent] = np.nan, UNIT
    values[own], distance[own] = value, 0.0
    return Cells(codes, low, high, values, distance, own)


def _nearest(
    axis: Axis, low: FloatArray, high: FloatArray, value: float, *, whole: bool
) -> tuple[FloatArray, FloatArray]:
    """The value of every cell that lies nearest, NaN if it has none, and where its distance is measured to."""
    above = low >= value
    values = np.where(above, np.nextafter(low, np.inf), high)
    end = np.where(above, low, high)
    if whole:
        values = np.where(above, _next_whole(low), np.floor(high))
        end = values
    if axis.library == "lightgbm":
        values = _readable(values, low, high)
    empty = ~((values > low) & (values <= high) & np.isfinite(values))
    return np.where(empty, np.nan, values), end


def _next_whole(low: FloatArray) -> FloatArray:
    """The smallest whole number above: beyond 2**53, where adding 1 changes nothing, the next float is one."""
    above: FloatArray = np.ceil(np.nextafter(low, np.inf)) + 0.0  # 0 rather than -0
    return above


def _readable(values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Numbers that no reader of text could take for 0 when LightGBM does not, or the other way round."""
    zero = (low < 0) & (high >= 0) & (np.abs(values) <= ZERO)
    double = np.copysign(2 * ZERO, values)
    tiny = (np.abs(values) < 2 * ZERO) & (values != 0) & ~zero & (double > low) & (double <= high)
    return np.where(zero, 0.0, np.where(tiny, double, values))


def _filled(low: FloatArray, high: FloatArray, movement: Movement) -> tuple[FloatArray, FloatArray]:
    """Values for a missing cell: the one nearest to 0 of every cell."""
    inside = np.where(low >= 0, np.nextafter(low, np.inf), np.minimum(high, 0.0))
    if movement.whole:
        inside = np.where(low >= 0, _next_whole(low), np.floor(np.minimum(high, 0.0)))
    empty = ~((inside > low) & (inside <= high) & np.isfinite(inside))
    distance = np.full(len(low), UNIT if movement.missing else np.inf)
    distance[empty] = np.inf
    return np.where(empty, np.nan, inside), distance


def movements(
    names: tuple[str, ...],
    categorical: tuple[bool, ...],
    *,
    scale: FloatArray | Mapping[str, float] | None,
    fixed: Sequence[str],
    whole: Sequence[str],
    choices: Mapping[str, Sequence[int]] | None,
    missing: bool,
) -> tuple[Movement, ...]:
    """How every column may change, from what people state."""
    for what, columns in (("fixed", fixed), ("whole", whole), ("choices", choices or {})):
        unknown = [name for name in columns if name not in names]
        if unknown:
            raise ArgumentError(f"expected `{what}` to name columns of the forest, got {unknown[0]!r}")
    listed = [name for name in choices or {} if not categorical[names.index(name)]]
    if listed:
        raise ArgumentError(f"expected `choices` of categorical columns, got {listed[0]!r}")
    units = _units(names, scale)
    return tuple(
        Movement(
            unit=0.0 if name in fixed else float(unit),
            whole=name in whole,
            choices=tuple(map(int, choices[name])) if choices and name in choices else None,
            missing=missing,
        )
        for name, unit in zip(names, units, strict=True)
    )


def _units(names: tuple[str, ...], scale: FloatArray | Mapping[str, float] | None) -> FloatArray:
    if scale is None:
        return np.ones(len(names))
    if isinstance(scale, Mapping):
        unknown = [name for name in scale if name not in names]
        if unknown:
            raise ArgumentError(f"expected `scale` to name columns of the forest, got {unknown[0]!r}")
        units = np.array([float(scale.get(name, 0.0)) for name in names])
    else:
        units = np.asarray(scale, dtype=np.float64)
    if units.shape != (len(names),) or not np.isfinite(units).all() or (units < 0).any():
        raise ArgumentError(f"expected `scale` of {len(names)} finite units >= 0, got {scale!r}")
    strange = units[(units > 0) & ((units < SMALLEST) | (units > LARGEST))]
    if strange.size:
        raise ArgumentError(f"expected units in `scale` from {SMALLEST:g} to {LARGEST:g}, or 0, got {strange[0]:g}")
    return units
