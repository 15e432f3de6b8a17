"""The page of a comparison of tolerances: whose proved reach shrank."""

from pathlib import Path

from attribound.report.drift.lines import Lines, settings
from attribound.report.shared.bars import Bar
from attribound.report.shared.templating import fill
from attribound.report.tolerance.rows import default_stops
from attribound.runs.tolerance_compare import ReachComparison, ReachPair

MOST_ROWS = 1_000
"""How many pairs the page's table holds: what shrank first."""
_FACTS = ("model", "data", "attribution", "maps", "changes", "bound", "samples", "alpha", "seed", "model_sha256")


def render(found: ReachComparison, runs: tuple[Path, Path]) -> str:
    """The page as text."""
    ordered = found.ordered
    return fill(
        "drift/templates/reaches.html",
        found=found,
        rows=[{"pair": pair, "input": pair.number, "bars": _bars(pair)} for pair in ordered[:MOST_ROWS]],
        left=max(len(ordered) - MOST_ROWS, 0),
        facts=settings(found, _FACTS),
    )


def lines(found: ReachComparison) -> Lines:
    """For a pull request."""
    heads = ["input", "change", "cosine", "before", "after", "unit", "verdict", "note"]
    rows = [
        [pair.number, pair.change, pair.cosine, *pair.shown, pair.unit, pair.verdict, pair.note]
        for pair in found.ordered
    ]
    return Lines("Reach of explanations", heads, rows)


def _bars(pair: ReachPair) -> list[Bar]:
    """What was proved before and after, on the range that was tried before."""
    stops = default_stops(*pair.tried, sizes=False)
    both = zip(("before", "after"), pair.reaches, pair.shown, strict=True)
    return [Bar(when, f"{shown}.", pair.unit, stops, pair.tried[1], interval) for when, interval, shown in both]
