"""What a record of column tolerances says, in plain words and raw values."""

import math

from attribound.rounding import round_down
from attribound.tolerances.columns.record import Cell, ColumnsRecord, Kept

_TINY = 1e-30
"""Cells may end a float away from 0."""


def together(record: ColumnsRecord, part: Kept) -> str:
    """All columns at once."""
    if part.reach is None:
        return "no change of these columns breaks it, at any size" if part.exact else "nothing that breaks it was found"
    least = "" if part.exact else "at least "
    change = nearest(record, part)
    broken = f"; the nearest that does: {change}" if change else ""
    return f"no change smaller than {least}{size_text(record, part)} breaks it{broken}"


def size_text(record: ColumnsRecord, part: Kept) -> str:
    """The reach with its unit, rounded down."""
    if part.reach is None:
        return "any change"
    asked = record.asked
    number = f"{part.reach:g}" if asked.size == "count" else round_down(part.reach, 4)
    return f"{number} {asked.unit}" + ("" if asked.size in ("count", "l2") else f" ({asked.size})")


def nearest(record: ColumnsRecord, part: Kept) -> str:
    """The cells that the nearest change changes, from and to."""
    cells = zip(record.names, record.row, part.nearest or record.row, strict=True)
    return ", ".join(
        f"{name} {value(before)} -> {_beside(before, after)}" for name, before, after in cells if before != after
    )


def _beside(before: Cell, after: Cell) -> str:
    """A changed cell; one that is shown like the cell before is said to lie beside it."""
    text = value(after)
    if text != value(before) or not isinstance(before, float) or not isinstance(after, float):
        return text
    return f"just {'above' if after > before else 'below'} {text}"


def value(cell: Cell) -> str:
    """A cell for people."""
    if cell is None or isinstance(cell, str):
        return cell or "missing"
    if 0 < abs(cell) < _TINY:
        return "just above 0" if cell > 0 else "just below 0"
    return "missing" if math.isnan(cell) else f"{cell:.6g}"
