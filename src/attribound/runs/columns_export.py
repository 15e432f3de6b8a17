"""Records of column tolerances for other people's formats."""

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from attribound.certificates.record import Failure
from attribound.runs.proving import Proved, prove_columns
from attribound.runs.store import Store
from attribound.tolerances.columns.record import ColumnsRecord, Kept
from attribound.tolerances.columns.words import nearest, size_text

Table = tuple[str, list[str], Iterator[list[str]]]
"""How columns are aligned, their heads, and the rows."""
_INTERNAL = ("asked", "subject", "versions", "names", "row", "contributions", "units", "parts", "format", "seal", "tie")
_NAMED = 4
"""How many reasons a slim table names."""


def column_rows(store: Store) -> Iterator[dict[str, Any]]:
    """Records by names of columns; only what is proved."""
    return map(_row, prove_columns(store))


def _row(one: Proved[ColumnsRecord] | Failure) -> dict[str, Any]:
    if isinstance(one, Failure):
        return {key: value for key, value in msgspec.to_builtins(one).items() if key not in _INTERNAL}
    record = one.record
    shown = {key: value for key, value in msgspec.to_builtins(record).items() if key not in _INTERNAL}
    return shown | {
        "input": record.subject.input,
        "model": record.subject.model,
        "row": dict(zip(record.names, record.row, strict=True)),
        "contributions": dict(zip(record.names, record.contributions, strict=True)),
        "reasons": list(record.reasons),
        "keep": record.asked.keep,
        "size": record.asked.size,
        "unit": record.asked.unit,
        "proof": "exact",
        "statements": {str(number): _statement(record, part) for number, part in enumerate(record.parts, start=1)},
        "doubts": "; ".join(one.doubts) or None,
    }


def _statement(record: ColumnsRecord, part: Kept) -> dict[str, Any]:
    """One statement; no end, or no reach: null."""
    ends = {name: list(one) if one else None for name, one in zip(record.names, part.intervals, strict=True)}
    after = None if part.nearest is None else dict(zip(record.names, part.nearest, strict=True))
    return {
        "words": part.words,
        "reach": part.reach,
        "any_change": math.isinf(part.size),
        "exact": part.exact,
        "nearest": after,
        "change": nearest(record, part) or None,
        "intervals": ends,
        "alternatives": part.alternatives,
        "missing": dict(zip(record.names, part.absent, strict=True)),
    }


def slim(record: dict[str, Any]) -> dict[str, Any]:
    """A record as people look at it: whose it is, the values, the first reasons, how far each statement holds."""
    keys = ("item", "input", "label", "prediction", "row", "reasons", "keep", "size", "unit", "statements", "doubts")
    said = {
        number: {key: one[key] for key in ("words", "reach", "any_change", "exact", "change")}
        for number, one in record["statements"].items()
    }
    reasons = "; ".join(record["reasons"][:_NAMED])
    return {key: record[key] for key in keys} | {"reasons": reasons, "statements": said}


def table(store: Store) -> Table:
    """For LaTeX: rows with their first reason, how far it holds, and the nearest change."""

    def row(one: Proved[ColumnsRecord] | Failure) -> list[str]:
        if isinstance(one, Failure):
            return [_plain(one.input or str(one.item)), "error"]
        record, part = one.record, one.record.together
        cells = [record.reasons[0], size_text(record, part), "yes" if part.exact else "at least", nearest(record, part)]
        return [*map(_plain, [record.subject.input or str(record.item), *cells])]

    heads = ["row", "first reason", "holds up to", "exact", "nearest change"]
    return "rllll", heads, map(row, prove_columns(store))


def _plain(text: str) -> str:
    """Text without anything that LaTeX obeys."""
    escaped = "".join(f"\\{one}" if one in "&%$#_{}" else one for one in text.replace("\\", " "))
    found = escaped.replace("->", "$\\to$").replace("<", "$<$").replace(">", "$>$")
    return found.replace("~", " ").replace("^", " ")
