"""The page of a run of column tolerances: one HTML file with everything in it. Reads records, and runs no model."""

import heapq
import math
import shlex

from attribound.certificates.record import Failure
from attribound.certificates.subject import called
from attribound.report.columns.cards import Ranges, make_card
from attribound.report.shared.templating import fill
from attribound.report.shared.wording import Fact, fact, origin
from attribound.rounding import percent, round_down
from attribound.runs import Store
from attribound.runs.columns_summary import ColumnsSummary, summarise_columns
from attribound.runs.config import RunConfig
from attribound.runs.proving import Proved, prove_columns
from attribound.tolerances.columns.record import Asked, ColumnsRecord
from attribound.tolerances.columns.sheet import codebook_of

MOST_CARDS = 200
"""How many rows have a card: those that break first."""
_SIZES = (0.05, 0.1, 0.25, 0.5)
_COUNTS = (1.0, 2.0, 3.0)
_OPTIONS = {
    "--scale": "scale",
    "--fixed": "fixed",
    "--whole": "whole",
    "--threshold": "threshold",
    "--nodes": "boxes",
    "--seconds": "seconds",
}
"""What may be typed for columns, and what it is called where it is stored."""
_TOLD = 0.25
"""The size in the headline."""


def render(store: Store) -> str:
    """The page as text."""
    summary = summarise_columns(store)
    ranges, fragile, versions = _look(store)
    reaches = [min(row) for row in zip(*(place.reaches for place in summary.places), strict=True)]
    counts = summary.asked.size == "count"
    book = codebook_of(summary.asked)
    return fill(
        "columns/templates/columns.html",
        "columns.js",
        name=store.path.name,
        config=summary.config,
        asked=summary.asked,
        unit=summary.asked.unit,
        units=_unit(summary),
        noun=summary.asked.noun,
        kind=_kind(summary, reaches),
        headline=_headline(summary, reaches),
        shares=[_share(reaches, size, summary.rows, counts) for size in (_COUNTS if counts else _SIZES)],
        always=sum(map(math.isinf, reaches)),
        places=[_place(number, place.reaches, summary) for number, place in enumerate(summary.places)],
        first=[(book.title(name), count) for name, count in summary.first.most_common(8)],
        cards=[make_card(record, ranges) for record in fragile],
        total=summary.rows,
        failed=summary.errors,
        left=summary.rows - summary.errors - len(fragile),
        alarms=_alarms(summary),
        notes=[f"{called(one['item'], one['input'])} failed: {one['message']}" for one in summary.messages],
        facts=_facts(summary),
        provenance=[fact("Time taken", f"{summary.seconds:,.1f} s"), *origin(summary.config, versions)],
        version=versions.get("attribound", ""),
        command=_command(summary.config, store.path.name),
    )


def _look(store: Store) -> tuple[Ranges, list[ColumnsRecord], dict[str, str]]:
    """The ranges of columns, and the rows that break first, most fragile first."""
    ranges: dict[str, tuple[float, float]] = {}
    heap: list[tuple[float, int, ColumnsRecord]] = []
    versions: dict[str, str] = {}
    for one in prove_columns(store):
        if isinstance(one, Failure):
            continue
        _widen(ranges, one)
        versions = versions or dict(one.record.versions)
        entry = (-one.record.together.size, -one.record.item, one.record)
        if len(heap) < MOST_CARDS:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    return ranges, [record for *_, record in sorted(heap, key=lambda entry: (-entry[0], -entry[1]))], versions


def _widen(ranges: dict[str, tuple[float, float]], one: Proved[ColumnsRecord]) -> None:
    for name, cell in zip(one.record.names, one.record.row, strict=True):
        if isinstance(cell, float):
            low, high = ranges.get(name, (cell, cell))
            ranges[name] = (min(low, cell), max(high, cell))


def _told(summary: ColumnsSummary) -> str:
    """What is to hold, of everyone."""
    keep = summary.asked.keep
    kind, _, detail = keep.partition(":")
    names = {"first": "the first reason stays first", "class": "the answer stays", "sign": "the reason keeps its sign"}
    if kind == "stays":
        return f"each of the first {detail} reasons stays among the {detail}"
    return f"the first {detail} reasons stay the same {detail}" if kind == "top" else names.get(kind, keep)


def _headline(summary: ColumnsSummary, reaches: list[float]) -> str:
    if not reaches:
        return "This run has no records yet."
    noun = summary.asked.noun
    counts = summary.asked.size == "count"
    change = "any single changed answer" if counts else f"every change of up to {_TOLD:g} {_unit(summary)}"
    return f"For {_held(summary, reaches)} of {summary.rows} {noun}s, {_told(summary)} under {change}."


def _held(summary: ColumnsSummary, reaches: list[float]) -> int:
    """For how many rows the first sentence of the page holds."""
    size = 1.0 if summary.asked.size == "count" else _TOLD
    return sum(reach > size for reach in reaches)


def _unit(summary: ColumnsSummary) -> str:
    return {"sd": "standard deviations", "%": "per cent"}.get(summary.asked.unit, summary.asked.unit)


def _kind(summary: ColumnsSummary, reaches: list[float]) -> str:
    if summary.doubtful:
        return "broken"
    return "proved" if _held(summary, reaches) else "nothing"


def _share(reaches: list[float], size: float, total: int, counts: bool) -> dict[str, str]:
    held = sum(reach > size for reach in reaches)
    share = held / total if total else 0.0
    plural = "" if size == 1 else "s"
    return {
        "size": f"{size:g} answer{plural}" if counts else f"{size:g}",
        "held": str(held),
        "share": percent(share, 0),
        "width": f"{100 * share:.2f}",
    }


def _place(number: int, reaches: list[float], summary: ColumnsSummary) -> dict[str, str]:
    """How far the first, second, ... reason stays for at least half of the rows that did not fail."""
    middle = sorted(reaches)[(len(reaches) - 1) // 2] if reaches else 0.0
    text = "any change" if math.isinf(middle) else f"{round_down(middle, 3)} {summary.asked.unit}"
    return {"name": f"Reason {number + 1}", "half": text, "any": f"{sum(map(math.isinf, reaches))} of {len(reaches)}"}


def _alarms(summary: ColumnsSummary) -> list[str]:
    if not summary.doubtful:
        return []
    row, doubt = next(iter(summary.doubtful.items()))
    if len(summary.doubtful) == 1:
        return [f"1 record is doubtful and counts as proving nothing, that of row {row}: {doubt}."]
    return [
        f"{len(summary.doubtful)} records are doubtful and count as proving nothing, for example row {row}: {doubt}."
    ]


def _command(config: RunConfig, out: str) -> str:
    """The command that repeats a run; options that are as they come are left out."""
    asked, usual = config.columns or Asked(), Asked()
    words = ["attribound", "tolerance", "--model", config.model, "--data", config.data]
    words += ["--keep", asked.keep, "--size", asked.size]
    for option, name in _OPTIONS.items():
        value = getattr(asked, name)
        if value != getattr(usual, name):
            words += [option, ",".join(value) if isinstance(value, tuple) else str(value)]
    words += ["--missing"] if asked.missing else []
    words += ["--target", config.target] if config.target is not None else []
    words += ["--items", str(config.items)] if config.items is not None else []
    words += ["--shuffle", "--seed", str(config.seed)] if config.shuffle else []
    return shlex.join([*words, "--out", out])


def _facts(summary: ColumnsSummary) -> list[Fact]:
    """What the first screen says about the run."""
    config, asked = summary.config, summary.asked
    exact = sum(place.exact for place in summary.places)
    asked_in_all = sum(len(place.reaches) for place in summary.places)
    return [
        fact("Model", config.model),
        fact("Data", config.data),
        fact("Explanation", "SHAP values of the trees, as the library computes them"),
        fact("One unit", asked.source),
        fact("Fixed columns", ", ".join(codebook_of(asked).title(name) for name in asked.fixed) or "none"),
        fact("How sure", "exact: no noise, no probability"),
        fact("Exact answers", f"{exact} of {asked_in_all}{'' if exact == asked_in_all else '; the others: at least'}"),
        fact("Rows", f"{summary.rows}; {summary.errors} failed", warn=bool(summary.errors)),
    ]
