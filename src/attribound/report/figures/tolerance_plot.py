"""Pictures of sheets: for each change how far it is proved, what is open, what was found to break it."""

from collections.abc import Sequence
from typing import Any

from attribound.certificates.certificate import Certificate
from attribound.errors import ArgumentError
from attribound.report.figures import plots
from attribound.report.figures.plots import Picture
from attribound.rounding import exact_text
from attribound.tolerances.evidence import Interval
from attribound.tolerances.record import BreakRecord, ToleranceRecord
from attribound.tolerances.sheet import Sheet
from attribound.tolerances.words import interval_text

_PROVED, _ASSUMED, _OPEN, _BROKEN, _EDGE = "#0b5fa5", "#9ecae1", "#d9d9d9", "#b35806", "#555555"
"""Told apart without red-green vision, and in grey: dark, light, and striped."""

_ROW_INCHES = 0.62


def plot(drawn: Certificate | Sheet, *arguments: Any, **options: Any) -> Picture:
    """A figure of a certificate (see `attribound.report.figures.plots.plot`) or of a tolerance sheet.

    Args:
        drawn: the certificate or the sheet.
        arguments: the input; for a certificate also the plain map.
        options: for a certificate as in `plots.plot`; for a sheet `cosine`: one that was asked, by default the first.
    """
    if not isinstance(drawn, Certificate | Sheet):
        hint = ": sheet.letter() says a sheet about columns in words" if hasattr(drawn, "letter") else ""
        raise ArgumentError(f"expected a certificate or a sheet about changes, got {type(drawn).__name__}{hint}")
    draw: Any = plot_sheet if isinstance(drawn, Sheet) else plots.plot
    picture: Picture = draw(drawn, *arguments, **options)
    return picture


def plot_sheet(sheet: Sheet, image: plots.Array | None = None, *, cosine: float | None = None) -> Picture:
    """A horizontal bar per change over the range tried: proved, open, broken.

    Args:
        sheet: what is drawn.
        image: the input, (H, W), (C, H, W) or (H, W, 3): it is drawn beside the bars, with its explanation.
        cosine: one that was asked; None: the first.
    """
    asked = sheet.cosines[0] if cosine is None else cosine
    height = 1.2 + _ROW_INCHES * len(sheet)
    figure = Picture(figsize=(8.0 if image is None else 9.6, height), layout="constrained")
    if image is None:
        axes = figure.subplots()
    else:
        halves: Any = figure.subfigures(1, 2, width_ratios=(1.0, 3.6))
        plots.draw_explained(halves[0].subplots(2, 1), image, sheet.plain)
        axes = halves[1].subplots()
    _draw_bars(axes, [sheet[name].record for name in sheet], asked)
    return figure


def _draw_bars(axes: Any, records: Sequence[ToleranceRecord], cosine: float) -> None:
    """All bars, their title and the legend."""
    for row, record in enumerate(records):
        _draw_row(axes, record, row, cosine)
    axes.set_yticks(range(len(records)), [f"{record.part}\n({record.change.unit})" for record in records])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(-1.02, 1.02)
    axes.set_ylim(len(records) - 0.4, -0.6)
    axes.set_xticks([])
    axes.axvline(0, color=_EDGE, linewidth=0.8)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    title = f"How far the input may change while its explanation keeps cosine {exact_text(cosine)}"
    axes.set_title(title, loc="left", fontsize=10)
    labels = [("proved", _PROVED, ""), ("open", _OPEN, ""), ("found to break it", _BROKEN, "///")]
    if any(record.proof == "assumed" for record in records):
        labels.insert(1, ("ASSUMED limit, not proved", _ASSUMED, ""))
    handles = [axes.barh([-9], [0], color=colour, hatch=hatch, label=name) for name, colour, hatch in labels]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=4, frameon=False, fontsize=8)


def _draw_row(axes: Any, record: ToleranceRecord, row: int, cosine: float) -> None:
    """The range tried runs from -1 to 1, with no change at 0; the ends are written in the change's unit."""
    change, interval = record.change, record.reach(cosine)
    low, high = _place(record, change.low), _place(record, change.high)
    axes.barh(row, high - low, left=low, height=0.34, color=_OPEN, edgecolor=_EDGE, linewidth=0.6)
    if interval is not None:
        left, right = (_place(record, end) for end in interval)
        axes.barh(row, right - left, left=left, height=0.34, color=_ASSUMED if record.proof == "assumed" else _PROVED)
    broken = _broken(record, cosine)
    if broken is not None:
        at = _place(record, broken.value)
        width = (high if at >= 0 else low) - at
        axes.barh(row, width, left=at, height=0.34, color=_BROKEN, hatch="///", edgecolor="white", linewidth=0)
        axes.plot([at, at], [row - 0.24, row + 0.24], color=_BROKEN, linewidth=2)
    told = axes.text(low, row - 0.22, _words(record, interval), fontsize=8, ha="left", va="bottom")
    told.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    axes.text(high, row + 0.2, f"tried {change.low:.4g} to {change.high:.4g}", fontsize=7, ha="right", va="top")


def _broken(record: ToleranceRecord, cosine: float) -> BreakRecord | None:
    """The nearest change found that breaks this cosine: what falls below a smaller one falls below it, too."""
    asked = sorted((float(key), key) for key in record.breaks if float(key) <= cosine)
    found = (record.breaks[key] for _, key in reversed(asked))
    return next((one for one in found if one is not None), None)


def _words(record: ToleranceRecord, interval: Interval) -> str:
    """What is proved, and how sure it is."""
    if interval is None:
        return "nothing is proved"
    if record.proof == "assumed":
        return f"{interval_text(interval)} under an ASSUMED limit: not proved"
    sure = "exact" if record.proof == "exact" else f"false with probability at most {record.alpha:g}"
    return f"proved {interval_text(interval)} ({sure})"


def _place(record: ToleranceRecord, value: float) -> float:
    """Where a value lies, each side of the range being one long."""
    change = record.change
    side = change.high - change.zero if value > change.zero else change.zero - change.low
    return (value - change.zero) / side if side else 0.0
