"""The page of a comparison of tolerances: whose proved reach shrank."""

from pathlib import Path
from typing import Any

from attribound.files import write_whole
from attribound.report.drift.page import text_of
from attribound.report.shared.bars import Bar
from attribound.report.shared.templating import fill
from attribound.report.tolerance.rows import default_stops
from attribound.runs.markdown import escaped, table
from attribound.runs.tolerance_compare import ReachComparison, ReachPair

MOST_ROWS = 1_000
"""How many pairs the page's table holds: what shrank first."""
_MOST_LINES = 50
_FACTS = ("model", "data", "attribution", "maps", "changes", "bound", "samples", "alpha", "seed", "model_sha256")


def write_page(found: ReachComparison, out: Path) -> Path:
    """Write the page of a comparison as one self-contained HTML file."""
    ordered = found.ordered
    text = fill(
        "drift/templates/reaches.html",
        found=found,
        rows=[{"pair": pair, "input": pair.number, "bars": _bars(pair)} for pair in ordered[:MOST_ROWS]],
        left=max(len(ordered) - MOST_ROWS, 0),
        facts=_facts(found),
    )
    return write_whole(out, text)


def markdown(found: ReachComparison) -> str:
    """The comparison for a pull request."""
    first, *rest = found.sentences
    heads = ["input", "change", "cosine", "before", "after", "unit", "verdict", "note"]
    rows = [
        [pair.number, pair.change, pair.cosine, *pair.shown, pair.unit, pair.verdict, pair.note]
        for pair in found.ordered
    ]
    parts = ["## Reach of explanations", f"**{escaped(first)}**", "\n".join(f"- {escaped(line)}" for line in rest)]
    more = [f"... and {len(rows) - _MOST_LINES} more."] if len(rows) > _MOST_LINES else []
    return "\n\n".join([*parts, table(heads, rows[:_MOST_LINES]), *more]) + "\n"


def _bars(pair: ReachPair) -> list[Bar]:
    """What was proved before and after, on the range that was tried before."""
    stops = default_stops(*pair.tried, sizes=False)
    both = zip(("before", "after"), pair.reaches, pair.shown, strict=True)
    return [Bar(when, f"{shown}.", pair.unit, stops, pair.tried[1], interval) for when, interval, shown in both]


def _facts(found: ReachComparison) -> list[tuple[str, Any, Any]]:
    first, second = (config.to_json() for config in found.configs)
    return [(name.replace("_", " "), text_of(first[name]), text_of(second[name])) for name in _FACTS]
