"""One applicant on the page: contributions as bars, the proved interval of every column, the nearest change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from attribound.forests import ColumnTolerance, Part, Sheet
from attribound.forests.words import ALONE, answer, interval, is_free, nearest, statement
from attribound.report.shared.bars import Bar
from attribound.rounding import round_down
from attribound.tolerances.columns.record import ColumnsRecord
from attribound.tolerances.columns.sheet import sheet_of

_ROOM = 0.1
"""A bar shows this share of its range beyond its ends."""


@final
@dataclass(frozen=True)
class Line:
    """One column of one applicant.

    Attributes:
        title: of the column.
        now: its value.
        amount: its contribution, signed: towards the answer is positive.
        left: where its bar begins, in per cent,
        width: and how wide it is.
        text: where the statement holds.
        bar: the interval, for a column of numbers that may change.
        words: categories and whether the statement holds there.
    """

    title: str
    now: str
    amount: str
    left: str
    width: str
    against: bool
    text: str
    bar: Bar | None
    words: Sequence[tuple[str, bool]]


@final
@dataclass(frozen=True)
class Card:
    """One applicant.

    Attributes:
        item: number of the row.
        name: what people call it; its number if it has no name.
        answer: the class; empty if there are none.
        reason: the first reason.
        said: the statement.
        size: how far it holds, rounded down; empty: any change.
        exact: it holds no further.
        nearest: the nearest change, as a sentence.
        lines: the columns, strongest contribution first.
        letter: in full.
        solid: of several reasons, how far each stays.
    """

    item: int
    name: str
    answer: str
    reason: str
    said: str
    size: str
    exact: bool
    nearest: str
    lines: Sequence[Line]
    letter: str
    solid: Sequence[tuple[str, str]]


Ranges = Mapping[str, tuple[float, float]]
"""By column of numbers, the lowest and highest value of all rows."""


def make_card(record: ColumnsRecord, ranges: Ranges) -> Card:
    """The card of a record."""
    sheet = sheet_of(record)
    part = min(sheet.parts, key=lambda one: one.together.reach)
    return Card(
        item=record.item,
        name=record.subject.input or str(record.item),
        answer=answer(sheet),
        reason=sheet.codebook.title(sheet.reasons[0]),
        said=statement(sheet, part).replace(f"{ALONE}:", " if only one answer changes, within the limits below"),
        size=size_text(part.together.reach, sheet.size),
        exact=part.together.exact,
        nearest=nearest(sheet, part),
        lines=_lines(sheet, part, ranges),
        letter=sheet.letter(),
        solid=[
            (sheet.codebook.title(one.reason or ""), size_text(one.together.reach, sheet.size) or "any change")
            for one in sheet.parts
            if len(sheet.parts) > 1
        ],
    )


def size_text(reach: float, size: str) -> str:
    """A reach, rounded down; empty: no change whatever breaks it."""
    return "" if math.isinf(reach) else round_down(reach, 0 if size == "count" else 3)


def _lines(sheet: Sheet, part: Part, ranges: Ranges) -> list[Line]:
    strengths = sheet.side * sheet.contributions
    largest = float(np.abs(strengths).max(initial=0.0)) or 1.0
    units = dict(zip(sheet.columns, sheet.units.tolist(), strict=True))
    found = []
    for place in np.argsort(-np.abs(strengths), kind="stable"):
        name, strength = sheet.names[place], float(strengths[place])
        column = part.columns[name]
        found.append(_line(sheet, column, strength, largest, ranges=ranges, moves=units.get(name, 1.0) > 0))
    return found


def _line(
    sheet: Sheet, column: ColumnTolerance, strength: float, largest: float, *, ranges: Ranges, moves: bool
) -> Line:
    book, width = sheet.codebook, 50 * abs(strength) / largest
    words = [(book[column.name].text(float(one)), holds) for one, holds in column.alternatives.items()]
    return Line(
        title=book.title(column.name),
        now=book[column.name].text(column.value),
        amount=f"{strength:+.2f}",
        left=f"{50 - width if strength < 0 else 50:.2f}",
        width=f"{width:.2f}",
        against=strength < 0,
        text=_where(sheet, column, moves=moves),
        bar=_bar(sheet, column, ranges) if moves and not column.alternatives and not is_free(column) else None,
        words=words if moves and not is_free(column) else [],
    )


def _where(sheet: Sheet, column: ColumnTolerance, *, moves: bool) -> str:
    """Where the statement holds if this column alone changes."""
    if not moves:
        return "does not change"
    if is_free(column):
        return "any but missing" if column.missing is False else "any"
    if column.alternatives:
        return f"{sum(column.alternatives.values())} of {len(column.alternatives)}"
    return "not said" if math.isnan(column.values[0]) else interval(sheet.codebook, column)


def _bar(sheet: Sheet, column: ColumnTolerance, ranges: Ranges) -> Bar | None:
    """The interval on the range of all rows, widened so that its ends can be seen."""
    low, high = column.values
    if math.isnan(low):
        return None
    ends = [*ranges.get(column.name, ()), column.value, *(end for end in (low, high) if math.isfinite(end))]
    first, last = min(ends), max(ends)
    room = _ROOM * (last - first)
    first -= room if first == low else 0
    last += room if last == high else 0
    if all(float(end).is_integer() for end in ends):
        first, last = math.floor(first), math.ceil(last)
    return Bar(
        title=sheet.codebook.title(column.name),
        text=f"holds {interval(sheet.codebook, column)}.",
        unit=sheet.codebook[column.name].unit,
        stops=(first, last if last > first else first + 1),
        zero=column.value,
        proved=(low, high),
    )
