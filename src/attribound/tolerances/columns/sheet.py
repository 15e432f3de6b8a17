"""A record as the sheet that it was made from: its letter, its page."""

import math

import numpy as np

from attribound.codebook import Codebook, Column
from attribound.forests import ColumnTolerance, Part, Sheet
from attribound.forests.nearest import Together
from attribound.tolerances.columns.record import Asked, Called, ColumnsRecord, Ends, Kept, number_of, numbers_of


def called_of(book: Codebook) -> dict[str, Called]:
    """How a codebook calls columns, for records."""
    texts = Called.__struct_fields__
    return {name: Called(**{text: getattr(column, text) for text in texts}) for name, column in book.columns.items()}


def codebook_of(asked: Asked) -> Codebook:
    """What a record says about its columns."""
    columns = {}
    for name in {**asked.called, **asked.words}:
        called = asked.called.get(name, Called())
        texts = {text: getattr(called, text) for text in Called.__struct_fields__}
        columns[name] = Column(**texts, whole=name in asked.whole, words=asked.words.get(name, ()))
    return Codebook(columns, asked.classes, asked.noun)


def sheet_of(record: ColumnsRecord) -> Sheet:
    """The sheet of a record; cells of columns are not stored."""
    return Sheet(
        parts=tuple(_part(record, one) for one in record.parts),
        keep=record.asked.keep,
        size=record.asked.size,
        reasons=record.reasons,
        names=record.names,
        contributions=np.array(record.contributions),
        target=record.target,
        side=record.side,
        prediction=record.prediction,
        columns=record.names,
        row=numbers_of(record.row, record.names, record.asked.words),
        units=np.array(record.units),
        codebook=codebook_of(record.asked),
    )


def _part(record: ColumnsRecord, kept: Kept) -> Part:
    words = record.asked.words
    nearest = None if kept.nearest is None else numbers_of(kept.nearest, record.names, words)
    columns = {
        name: _column(name, number_of(cell, name, words), ends, kept, place=place, asked=record.asked)
        for place, (name, cell, ends) in enumerate(zip(record.names, record.row, kept.intervals, strict=True))
    }
    together = Together(kept.size, kept.exact, nearest, kept.boxes)
    return Part(kept.words, kept.reason, columns, together, None if kept.after is None else np.array(kept.after))


def _column(name: str, value: float, ends: Ends, kept: Kept, *, place: int, asked: Asked) -> ColumnTolerance:
    nothing = np.empty(0)
    low, high = (math.nan, math.nan) if ends is None else ends
    words = asked.words.get(name, ())
    return ColumnTolerance(
        name=name,
        value=value,
        values=(-math.inf if low is None else low, math.inf if high is None else high),
        alternatives={
            words.index(text) if text in words else int(float(text)): holds
            for text, holds in kept.alternatives.get(name, {}).items()
        },
        missing=kept.absent[place],
        low=nothing,
        high=nothing,
        kept=nothing.astype(bool),
    )
