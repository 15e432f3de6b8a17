"""The page of a comparison of column tolerances: who gets another first reason, whose tolerance shrank."""

import math
from pathlib import Path

from attribound.report.drift.lines import Lines, settings
from attribound.report.shared.bars import Bar
from attribound.report.shared.templating import fill
from attribound.runs.columns_compare import ColumnsComparison, RowPair
from attribound.tolerances.columns.record import Asked

MOST_ROWS = 1_000
"""How many rows the page's table holds: changed reasons first."""
_ASKED = {"keep": "keep", "size": "size", "source": "one unit", "fixed": "fixed", "whole": "whole numbers"}
"""What was asked, as the page calls it."""


def render(found: ColumnsComparison, runs: tuple[Path, Path]) -> str:
    """The page as text."""
    ordered, asked = found.ordered, found.configs[0].columns or Asked()
    widest = max((size for pair in ordered for size in pair.sizes if size), default=1.0)
    return fill(
        "drift/templates/reasons.html",
        found=found,
        noun=asked.noun,
        unit=asked.unit,
        rows=[{"pair": pair, "bars": _bars(pair, asked.unit, widest)} for pair in ordered[:MOST_ROWS]],
        left=max(len(ordered) - MOST_ROWS, 0),
        facts=settings(found, ("model", "data", "model_sha256"), _ASKED),
    )


def lines(found: ColumnsComparison) -> Lines:
    """For a pull request."""
    heads = ["row", "first reason before", "after", "answer before", "after", "holds up to before", "after", "verdict"]
    rows = [
        [pair.number, *pair.titles, *pair.answers, *pair.reaches, pair.verdict, pair.note] for pair in found.ordered
    ]
    return Lines("Reasons of rows", [*heads, "note"], rows)


def _bars(pair: RowPair, unit: str, widest: float) -> list[Bar]:
    """How far the first reason held before and after, on one scale for all rows."""
    both = zip(("before", "after"), pair.sizes, pair.reaches, strict=True)
    return [
        Bar(when, f"holds up to {words}.", unit, (0.0, widest), 0.0, (0.0, math.inf if size is None else size))
        for when, size, words in both
    ]
