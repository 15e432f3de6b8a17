"""The page of a comparison of column tolerances: who gets another first reason, whose tolerance shrank."""

import math
from pathlib import Path
from typing import Any

from attribound.files import write_whole
from attribound.report.drift.page import text_of
from attribound.report.shared.bars import Bar
from attribound.report.shared.templating import fill
from attribound.runs.columns_compare import ColumnsComparison, RowPair
from attribound.runs.markdown import escaped, table
from attribound.tolerances.columns.record import Asked

MOST_ROWS = 1_000
"""How many rows the page's table holds: changed reasons first."""
_MOST_LINES = 50
_ASKED = {"keep": "keep", "size": "size", "source": "one unit", "fixed": "fixed", "whole": "whole numbers"}
"""What was asked, as the page calls it."""


def write_page(found: ColumnsComparison, out: Path) -> Path:
    """Write the page of a comparison as one self-contained HTML file."""
    ordered, asked = found.ordered, found.configs[0].columns or Asked()
    widest = max((size for pair in ordered for size in pair.sizes if size), default=1.0)
    text = fill(
        "drift/templates/reasons.html",
        found=found,
        noun=asked.noun,
        unit=asked.unit,
        rows=[{"pair": pair, "bars": _bars(pair, asked.unit, widest)} for pair in ordered[:MOST_ROWS]],
        left=max(len(ordered) - MOST_ROWS, 0),
        facts=_facts(found),
    )
    return write_whole(out, text)


def markdown(found: ColumnsComparison) -> str:
    """The comparison for a pull request."""
    first, *rest = found.sentences
    heads = ["row", "first reason before", "after", "answer before", "after", "holds up to before", "after", "verdict"]
    rows = [
        [pair.number, *pair.titles, *pair.answers, *pair.reaches, pair.verdict, pair.note] for pair in found.ordered
    ]
    parts = ["## Reasons of rows", f"**{escaped(first)}**", "\n".join(f"- {escaped(line)}" for line in rest)]
    more = [f"... and {len(rows) - _MOST_LINES} more."] if len(rows) > _MOST_LINES else []
    return "\n\n".join([*parts, table([*heads, "note"], rows[:_MOST_LINES]), *more]) + "\n"


def _bars(pair: RowPair, unit: str, widest: float) -> list[Bar]:
    """How far the first reason held before and after, on one scale for all rows."""
    both = zip(("before", "after"), pair.sizes, pair.reaches, strict=True)
    return [
        Bar(when, f"holds up to {words}.", unit, (0.0, widest), 0.0, (0.0, math.inf if size is None else size))
        for when, size, words in both
    ]


def _facts(found: ColumnsComparison) -> list[tuple[str, Any, Any]]:
    """What was run, side by side."""
    first, second = (config.to_json() for config in found.configs)
    run = [(name.replace("_", " "), first[name], second[name]) for name in ("model", "data", "model_sha256")]
    asked = [(title, first["columns"][name], second["columns"][name]) for name, title in _ASKED.items()]
    return [(title, text_of(before), text_of(after)) for title, before, after in run + asked]
