"""`Sheet`: all that is known about one row of a table, and its letter."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attribound.codebook import Codebook
from attribound.forests.ensemble import BoolArray, FloatArray
from attribound.forests.nearest import Together
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
        reason: the reason that it is about, or None.
        columns: by name, the tolerance of each column.
        together: all columns at once.
        after: contributions at the nearest row that breaks it, in the order of the sheet's; None without one.
    """

    words: str
    reason: str | None
    columns: Mapping[str, ColumnTolerance]
    together: Together
    after: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Sheet:
    """Everything about one row.

    Attributes:
        parts: the statements; several for `stays:K`, in the order of reasons.
        keep: what was asked.
        size: how changes are measured.
        reasons: names of columns, or of groups of them, the first reason first.
        names: of columns or groups, in the order of the forest's columns,
        contributions: and their SHAP values.
        target: the output that is explained.
        side: reasons are contributions towards this side of the score.
        prediction: the class, by number; None where the forest predicts a value.
        columns: names of the forest's columns,
        row: and their values,
        units: and what counts as one unit of each; 0: it does not change.
        codebook: titles, units and words of the columns.
    """

    parts: tuple[Part, ...]
    keep: str
    size: str
    reasons: tuple[str, ...]
    names: tuple[str, ...]
    contributions: FloatArray
    target: int
    side: int
    prediction: int | None
    columns: tuple[str, ...]
    row: FloatArray
    units: FloatArray
    codebook: Codebook

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

    def letter(self, at: float | None = None) -> str:
        """The reasons in plain words, how far each statement holds, and what is not said.

        Args:
            at: reasons that no change up to this size removes are called solid; None: 0.25 units, or one answer.
        """
        return letter(self, at)

    def __str__(self) -> str:
        """In plain words."""
        return letter(self, None)


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
