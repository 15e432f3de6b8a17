"""Rows as people have them: arrays, dictionaries, rows of a pandas frame; words and missing cells included."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attribound.codebook import Codebook
from attribound.errors import ArgumentError
from attribound.forests.ensemble import FloatArray


def read_row(row: Any, names: Sequence[str], codebook: Codebook | None = None) -> FloatArray:
    """The numbers of one row, (columns,), in the model's order; missing cells are NaN. Raises ArgumentError.

    Args:
        row: numbers in the model's order; or cells by name, in any order: a dictionary, a pandas Series or a frame of
            one row.
        names: of the model's columns.
        codebook: the words of categories.
    """
    cells = cells_by_name(row)
    if cells is None:
        try:
            values = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentError("expected numbers in `row`, or cells by name (a dictionary or a pandas row)") from None
        if values.shape != (len(names),):
            raise ArgumentError(f"expected one row of {len(names)} columns, got an array of shape {values.shape}")
        return values
    _check_names(cells, names)
    return np.array([_number(name, cells[name], codebook or Codebook()) for name in names])


def cells_by_name(row: Any) -> dict[str, Any] | None:
    """The cells of a dictionary, a Series or a frame of one row; None for anything else."""
    if hasattr(row, "columns") and hasattr(row, "iloc"):
        if len(row) != 1:
            raise ArgumentError(f"expected one row, got a frame of {len(row)}: take one, frame.iloc[0]")
        row = row.iloc[0]
    if not isinstance(row, Mapping) and not (hasattr(row, "index") and hasattr(row, "items")):
        return None
    return {str(name): cell for name, cell in row.items()}


def _check_names(cells: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if name not in cells:
            raise ArgumentError(f"the row lacks the column {name!r} of the model; it has {', '.join(cells)}")
    known = set(names)
    for name in cells:
        if name not in known:
            raise ArgumentError(f"the model has no column {name!r}: leave it out of the row")


def _number(name: str, cell: Any, codebook: Codebook) -> float:
    try:
        return codebook[name].number(cell)
    except ArgumentError as error:
        stated = isinstance(cell, str) and not codebook[name].words
        hint = ": state the words of its categories in a codebook" if stated else ""
        raise ArgumentError(f"the column {name!r} is {error}{hint}") from None
