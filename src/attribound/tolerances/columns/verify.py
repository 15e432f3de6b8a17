"""Check stored column tolerances without the model: whatever a record states must fit the rest of it."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attribound.certificates.sealed import broken_seal
from attribound.errors import ArgumentError
from attribound.forests.ensemble import FloatArray
from attribound.forests.sizes import Size, size_named
from attribound.forests.statements import level_of, said
from attribound.tolerances.columns.asker import row_hash
from attribound.tolerances.columns.record import Asked, Cell, ColumnsRecord, Ends, Kept, numbers_of

_TOLERANCE = 1e-9
_STEP = 1e-34
"""The nearest change lies one float beyond an open end; near 0, as far as LightGBM can tell numbers from 0."""


def problems(record: ColumnsRecord) -> list[str]:
    """Every line in which a record contradicts itself."""
    try:
        row = numbers_of(record.row, record.names, record.asked.words)
        found = _about_record(record, row) or [line for part in record.parts for line in _about_part(record, part, row)]
    except (ValueError, ArithmeticError, ArgumentError) as error:
        found = [f"nothing can be derived from what it holds: {error}"]
    return found + broken_seal(record, record.seal)


def _about_record(record: ColumnsRecord, row: FloatArray) -> list[str]:
    subject, asked = record.subject, record.asked
    same = (subject.item, subject.model_sha256, subject.input_sha256)
    reasons, count = _reasons(record), len(record.parts)
    level = level_of(record.decides, record.score, asked.threshold)
    words = [said(asked.keep, record.reasons, reason, level=level) for reason in reasons]
    checks = {
        "has a value that is not a number": np.isfinite([*record.contributions, *record.units, record.score]).all(),
        "has a unit or a tie below 0": min(*record.units, record.tie) >= 0,
        "has another subject": same == (record.item, record.model_sha256, record.input_sha256),
        "has another row than its hash says": row_hash(row) == record.input_sha256,
        "has other units than were asked for": np.array_equal(record.units, _units(record, row)),
        "says that other columns are fixed than do not move": _still(asked, record.names),
        "has another class or side than its score gives": _decided(record),
        f"makes {count} statements, {asked.keep} are {len(reasons)}": count == len(reasons),
        "states other reasons than its contributions give": [part.reason for part in record.parts] == reasons,
        "calls a statement what it is not": [part.words for part in record.parts] == words,
    }
    return [problem for problem, fine in checks.items() if not fine]


def _reasons(record: ColumnsRecord) -> list[str | None]:
    """What each statement is about."""
    kind, _, detail = record.asked.keep.partition(":")
    if kind == "stays":
        return list(record.reasons[: int(detail)])
    if kind == "sign":
        return [detail or record.reasons[0]]
    return [record.reasons[0] if kind == "first" else None]


def _units(record: ColumnsRecord, row: FloatArray) -> FloatArray:
    listed = [name in record.parts[0].alternatives for name in record.names]
    return record.asked.units_at(row, listed)


def _still(asked: Asked, names: Sequence[str]) -> bool:
    """Whether the columns without a unit are those that are said to be fixed."""
    units = zip(names, asked.units, strict=True)
    return {name for name, unit in units if unit == 0} == set(asked.fixed)


def _decided(record: ColumnsRecord) -> bool:
    """Whether class and side follow from the score, as far as one score tells."""
    high, asked = record.score > record.asked.threshold, record.asked.side
    if record.decides == "values":
        return record.prediction is None and asked in (None, record.side)
    classes = record.decides == "classes"
    predicted = record.prediction in (None, record.target) if classes else record.prediction == int(high)
    side = asked or (1 if classes or high else -1)
    return predicted and record.side == side


def _about_part(record: ColumnsRecord, part: Kept, row: FloatArray) -> Iterator[str]:
    size = size_named(record.asked.size)
    if part.reach is not None and not 0 <= part.reach < math.inf:
        yield f"states a reach of {part.reach}"
        return
    if part.reach is None and not part.exact:
        yield "states that no change breaks it, and that its search did not end"
    for name, cell, ends in zip(record.names, record.row, part.intervals, strict=True):
        if not _around(cell, ends):
            yield f"states an interval of {name} that does not hold its value"
    for name, listed in part.alternatives.items():
        if lacking := set(record.asked.words.get(name, ())) - set(listed):
            yield f"says nothing of {name} {min(lacking)}"
    nearest_end = min(_single_breaks(record, part, row, size), default=math.inf)
    if part.size > nearest_end * (1 + _TOLERANCE):
        yield f"states a reach of {part.size:g}, but a column by itself breaks it at {nearest_end:g}"
    yield from _about_nearest(record, part, row, size)


def _around(cell: Cell, ends: Ends) -> bool:
    if ends is None:
        return True
    low, high = ends
    return isinstance(cell, float | int) and (low is None or low <= cell) and (high is None or cell <= high)


def _single_breaks(record: ColumnsRecord, part: Kept, row: FloatArray, size: Size) -> Iterator[float]:
    """The sizes at which single columns break the statement."""
    asked = record.asked
    columns = zip(record.names, row, record.units, part.intervals, part.absent, strict=True)
    for name, value, unit, ends, absent in columns:
        if unit == 0:
            continue
        listed = part.alternatives.get(name, {})
        if (absent is False and asked.missing and not math.isnan(value)) or not all(listed.values()):
            yield 1.0
        for end, step in zip(ends or (), (-1.0, 1.0), strict=False):
            if end is not None:
                beyond = end + step if name in asked.whole else end
                yield 1.0 if size.counts else (abs(beyond - value) + _step(beyond, value)) / unit


def _about_nearest(record: ColumnsRecord, part: Kept, row: FloatArray, size: Size) -> Iterator[str]:
    """A nearest change has the size that is stated, moves what may move, and breaks the statement."""
    if part.nearest is None:
        if part.exact and part.reach is not None:
            yield "states an exact reach without the change that breaks it"
        return
    if part.exact and part.reach is None:
        yield "states that no change breaks it, and one that does"
        return
    there = numbers_of(part.nearest, record.names, record.asked.words)
    distance, slack = change_size(record, row, there, size)
    if distance < part.size * (1 - _TOLERANCE) - slack:
        yield f"states a nearest change of size {distance:g}, within its reach of {part.size:g}"
    if part.exact and distance > part.size * (1 + _TOLERANCE) + slack:
        yield f"states an exact reach of {part.size:g}, but its nearest change has size {distance:g}"
    if not _breaks(record, part):
        yield "states a nearest change that does not break the statement"


def change_size(record: ColumnsRecord, row: FloatArray, there: FloatArray, size: Size) -> tuple[float, float]:
    """How large a change is, and by how much the step beyond an open end may lengthen it."""
    units, listed = np.array(record.units), [name in record.parts[0].alternatives for name in record.names]
    absent = np.isnan(row) != np.isnan(there)
    changed = absent | ~((row == there) | (np.isnan(row) & np.isnan(there)))
    whole = np.isin(record.names, record.asked.whole) & changed & ~np.isnan(there)
    if (changed & (units == 0)).any() or (absent.any() and not record.asked.missing):
        raise ValueError("its nearest change moves a column in a way that was not allowed")
    if (there[whole] != np.floor(there[whole])).any():
        raise ValueError("its nearest change is not a whole number where it must be")
    with np.errstate(invalid="ignore"):
        far = np.where(absent | np.array(listed), 1.0, np.abs(there - row) / np.where(units > 0, units, 1.0))
        step = _step(there, row) / np.where(units > 0, units, 1.0)
    total = size.total(size.price(np.where(changed, far, 0.0)))
    return size.size(total), float(np.nansum(np.where(changed, step, 0.0)))


def _step(there: Any, here: Any) -> Any:
    """How far a value may lie beyond an open end."""
    return _STEP + 4e-16 * (np.abs(there) + np.abs(here))


def _breaks(record: ColumnsRecord, part: Kept) -> bool:
    """Whether the contributions at the nearest change break the statement; ties count as lost."""
    if part.after is None or part.score is None or not np.isfinite([*part.after, part.score]).all():
        return False
    kind, _, number = record.asked.keep.partition(":")
    before, after = (record.side * np.array(one) for one in (record.contributions, part.after))
    slack = record.tie * (1 + 1e-6)
    if kind == "class":
        # The scores of other classes are not stored.
        return record.decides == "classes" or _other_side(record, part.score)
    if kind == "sign":
        column = record.names.index(part.reason or "")
        return bool(np.sign(before[column]) * after[column] <= slack)
    order = np.argsort(-before, kind="stable")
    if kind == "top":
        chosen, others = after[order[: int(number)]], after[order[int(number) :]]
        return bool(chosen.min() - others.max() <= slack)
    column = record.names.index(part.reason or "")
    above = int((after[column] - np.delete(after, column) > slack).sum())
    return above < len(record.names) - (int(number) if kind == "stays" else 1)


def _other_side(record: ColumnsRecord, score: float) -> bool:
    """Whether a score lies on the other side of the threshold, up to rounding."""
    slack = 10 * record.tie + 1e-6 * abs(score)
    gap = score - record.asked.threshold
    return gap <= slack if record.score > record.asked.threshold else gap >= -slack
