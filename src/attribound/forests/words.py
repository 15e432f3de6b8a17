"""What a sheet of a forest says, in plain words. Intervals are exact: they end where the model's cells do."""

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attribound.forests.nearest import Together
    from attribound.forests.tolerance import ColumnTolerance, Part, Sheet

_TINY = 1e-30
"""Cells may end a float away from 0."""

_SHOWN = 4
"""How many reasons are named."""


def letter(sheet: "Sheet") -> str:
    """The reasons of one row and how far each statement about them holds, in sentences."""
    named = ", ".join(sheet.reasons[:_SHOWN])
    lines = [f"Reasons, the first one first: {named}."]
    for part in sheet.parts:
        lines += ["", *_part(part, sheet.size)]
    lines += ["", "Exact: every cell of the forest was accounted for. Nothing is said about any other model."]
    return "\n".join(lines)


def _part(part: "Part", size: str) -> list[str]:
    lines = [f"{part.words[0].upper()}{part.words[1:]}."]
    free = [name for name, column in part.columns.items() if _free(column)]
    if free:
        lines.append(f"  whatever the value of {', '.join(free)} (each by itself)")
    lines += [f"  {name}: {_limits(column)}" for name, column in part.columns.items() if not _free(column)]
    return [*lines, f"  all columns together: {_together(part, size)}"]


def _free(column: "ColumnTolerance") -> bool:
    """Whether no value of the column breaks the statement, nor a missing cell."""
    whole = all(column.alternatives.values()) if column.alternatives else column.values == (-math.inf, math.inf)
    return whole and column.missing is not False


def _limits(column: "ColumnTolerance") -> str:
    """Where the statement holds, in the column's own values."""
    missing = " and not if it is missing" if column.missing is False else ""
    if column.alternatives:
        kept = [str(name) for name, holds in column.alternatives.items() if holds]
        return f"for {', '.join(kept) or 'no category'} (it is {column.value:g}){missing}"
    low, high = column.values
    if math.isnan(low):
        return "nothing is said: the cell is missing or the statement does not hold"
    ends = [f"from {_value(low)}" if low > -math.inf else "", f"up to {_value(high)}" if high < math.inf else ""]
    return f"{' '.join(end for end in ends if end) or 'for every value'} (it is {column.value:g}){missing}"


def _together(part: "Part", size: str) -> str:
    together = part.together
    if math.isinf(together.reach):
        return "no change of these columns whatever breaks it"
    strength = "no change smaller than" if together.exact else "no change smaller than at least"
    units = "answers" if size == "count" else f"units ({size})"
    found = _nearest(part, together)
    return f"{strength} {together.reach:.4g} {units} breaks it" + (f"; the nearest that does: {found}" if found else "")


def _nearest(part: "Part", together: "Together") -> str:
    """The columns that the nearest change changes, from and to."""
    if together.nearest is None:
        return ""
    changed = [
        f"{name} {_value(column.value)} -> {_value(float(value))}"
        for (name, column), value in zip(part.columns.items(), together.nearest, strict=True)
        if not (column.value == value or (np.isnan(column.value) and np.isnan(value)))
    ]
    return ", ".join(changed)


def _value(number: float) -> str:
    if 0 < abs(number) < _TINY:
        return "just above 0" if number > 0 else "just below 0"
    return "missing" if math.isnan(number) else f"{number:.6g}"
