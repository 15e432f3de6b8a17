"""Records of column tolerances: one per row of a table, typed and sealed. Every number is exact, with alpha 0."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec import Struct

from attribound.certificates.record import FORMAT, read_json
from attribound.certificates.sealed import WRONG, no_record
from attribound.certificates.subject import Subject
from attribound.forests.ensemble import FloatArray

PART = "columns"
"""What a run's records are filed under."""

Cell = float | str | None
"""A cell as people write it: a number, the word of a category, or None where it is missing."""
Ends = tuple[float | None, float | None] | None
"""Lowest and highest value, None where there is no end; None in place of both where nothing is said."""


class Called(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How people call a column and its values, as in a codebook's `Column`."""

    title: str = ""
    unit: str = ""
    one: str = ""
    more: str = ""
    less: str = ""


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked about every row.

    Attributes:
        keep: `first`, `stays:K`, `top:K`, `sign`, `sign:COLUMN` or `class`.
        size: of changes of several columns: `l2`, `each` or `count`.
        scale: what was typed after --scale: `std`, `percent`, or a file's name.
        source: what one unit is, in words.
        units: by column; 0: it does not move. Where the scale is `percent`, per cent of the row's value.
        fixed: columns that do not move.
        whole: columns that hold whole numbers.
        missing: cells may become missing, or be filled, for one unit each.
        side: 1 or -1: reasons for a high or a low score; None: for the side on which it lies.
        threshold: of the score, for forests that decide by sides.
        boxes: how many boxes the search may cut, and
        seconds: how long it may take, per statement.
        words: by categorical column, its categories in the order of their numbers.
        called: by column, how people call it, where a codebook says so.
        classes: names of the model's classes, where known.
        noun: what a row is.
    """

    keep: str = "first"
    size: str = "l2"
    scale: str = "std"
    source: str = ""
    units: tuple[float, ...] = ()
    fixed: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    missing: bool = False
    side: int | None = None
    threshold: float = 0.0
    boxes: int = 20_000
    seconds: float = 60.0
    words: dict[str, tuple[str, ...]] = {}
    called: dict[str, Called] = {}
    classes: tuple[str, ...] = ()
    noun: str = "row"

    @property
    def unit(self) -> str:
        """What sizes count, in a word."""
        if self.size == "count":
            return "answers"
        return {"std": "sd", "percent": "%"}.get(self.scale, "units")

    def units_at(self, row: FloatArray, categorical: Sequence[bool]) -> FloatArray:
        """What one unit of each column is for a row."""
        units = np.array(self.units)
        if self.scale != "percent":
            return units
        share = np.where(np.isnan(row), 0.0, np.abs(row)) / 100
        return units * np.where(categorical, 1.0, share)

    def choices(self, names: Sequence[str], categorical: Sequence[bool]) -> dict[str, range]:
        """By categorical column, the numbers of its categories."""
        listed = {name for name, is_list in zip(names, categorical, strict=True) if is_list}
        return {name: range(len(words)) for name, words in self.words.items() if name in listed}


class Kept(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement about a row and how far it holds.

    Attributes:
        words: the statement.
        reason: the column that it is about, if it is one.
        intervals: by column, the lowest and highest value at which it holds without a gap, the others as they are.
        alternatives: by categorical column, by category, whether it holds.
        absent: by column, whether it holds if the cell is missing; None where the model has no way for that.
        reach: no change of all columns together that is smaller breaks it; None: no change whatever.
        exact: some change of this size does; else "at least".
        nearest: the nearest row that breaks it; where not exact, the nearest found, or None.
        after: contributions at that row.
        score: there.
        boxes: how many were cut.
    """

    words: str
    reason: str | None
    intervals: tuple[Ends, ...]
    alternatives: dict[str, dict[str, bool]]
    absent: tuple[bool | None, ...]
    reach: float | None
    exact: bool
    nearest: tuple[Cell, ...] | None
    after: tuple[float, ...] | None
    score: float | None
    boxes: int

    @property
    def size(self) -> float:
        """The reach as a number."""
        return math.inf if self.reach is None else self.reach


class ColumnsRecord(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="columns-tolerance"
):
    """What is known about one row.

    Attributes:
        item: number of the row.
        label: its class, if it has one.
        target: the output that is explained.
        side: reasons are contributions towards this side of the score.
        decides: what scores mean: `sides` of the threshold, `classes` (the largest score), or `values`.
        prediction: the class; None where the forest predicts a value.
        score: before any link function.
        names: of the columns.
        row: its cells.
        contributions: SHAP values, in the order of the columns.
        units: what one unit of each column is for this row; 0: it does not move.
        tie: contributions that differ by no more count as tied, and a tie as lost.
        asked: what was asked.
        parts: the statements; several for `stays:K`, in the order of reasons.
    """

    alpha: ClassVar[float] = 0.0
    proof: ClassVar[str] = "exact"
    fidelity: ClassVar[None] = None
    """It is about the plain values themselves, and nothing is left to chance."""

    format: int = FORMAT
    item: int
    label: int | None = None
    target: int
    side: int
    decides: Literal["sides", "classes", "values"]
    prediction: int | None
    score: float
    names: tuple[str, ...]
    row: tuple[Cell, ...]
    contributions: tuple[float, ...]
    units: tuple[float, ...]
    tie: float
    asked: Asked
    parts: tuple[Kept, ...]
    seconds: float = 0.0
    versions: dict[str, str] = {}
    model_sha256: str = ""
    input_sha256: str = ""
    subject: Subject = Subject()
    seal: str = ""

    @property
    def part(self) -> str:
        """Which part of what is said about the row: all of it."""
        return PART

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of columns, the first reason first."""
        return ordered(self.names, self.contributions, self.side)

    @property
    def together(self) -> Kept:
        """Of several statements, the first to break."""
        return min(self.parts, key=lambda one: one.size)


def ordered(names: tuple[str, ...], contributions: tuple[float, ...], side: int) -> tuple[str, ...]:
    """Columns by their contributions towards a side, the largest first."""
    order = np.argsort(-side * np.array(contributions), kind="stable")
    return tuple(names[place] for place in order)


def decode(text: str | bytes, name: str) -> ColumnsRecord:
    """The record in a stored text; whatever is wrong with it is one StoredDataError that names the file."""
    try:
        return convert(read_json(text))
    except WRONG as error:
        raise no_record(name, error) from None


def convert(stored: Any) -> ColumnsRecord:
    """The record in parsed JSON; a ValueError if it is none."""
    record = msgspec.convert(stored, ColumnsRecord, strict=True)
    count = len(record.names)
    lengths = {count, len(record.row), len(record.contributions), len(record.units)}
    for one in record.parts:
        lengths |= {len(one.intervals), len(one.absent)}
        lengths |= {len(known) for known in (one.nearest, one.after) if known is not None}
    if lengths != {count} or not count or len(set(record.names)) < count:
        raise ValueError("its columns do not fit together")
    if not record.parts or record.item < 0 or record.side not in (1, -1):
        raise ValueError("it answers nothing")
    return record


def is_columns(text: str | bytes) -> bool:
    """Whether a stored text says that it is about columns."""
    head = text[:200].encode() if isinstance(text, str) else text[:200]
    return b'"columns-tolerance"' in head


def number_of(cell: Cell, name: str, words: Mapping[str, tuple[str, ...]]) -> float:
    """A cell as the forest takes it; raises ValueError for a category that is none."""
    if isinstance(cell, str):
        return float(words.get(name, ()).index(cell))
    return math.nan if cell is None else float(cell)


def numbers_of(row: tuple[Cell, ...], names: tuple[str, ...], words: Mapping[str, tuple[str, ...]]) -> FloatArray:
    """A row as the forest takes it."""
    return np.array([number_of(cell, name, words) for cell, name in zip(row, names, strict=True)])


def cells_of(row: FloatArray, names: Sequence[str], words: Mapping[str, tuple[str, ...]]) -> tuple[Cell, ...]:
    """A row as people write it."""
    return tuple(cell_of(number, name, words) for number, name in zip(row.tolist(), names, strict=True))


def cell_of(number: float, name: str, words: Mapping[str, tuple[str, ...]]) -> Cell:
    """A number as people write it: the word of its category, if it has one."""
    if math.isnan(number):
        return None
    known = words.get(name, ())
    return known[int(number)] if known and 0 <= number < len(known) and number.is_integer() else float(number)
