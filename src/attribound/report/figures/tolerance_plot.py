"""Pictures of sheets: for each change how far it is proved, what is open, what was found to break it."""

from typing import Any

from attribound.certificates.certificate import Certificate
from attribound.report.figures import plots
from attribound.report.figures.plots import Picture
from attribound.rounding import exact_text
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.sheet import Sheet
from attribound.tolerances.words import interval_text

_PROVED, _OPEN, _BROKEN, _EDGE = "#0b5fa5", "#d9d9d9", "#b35806", "#555555"
"""Told apart without red-green vision, and in grey: dark, light, and striped."""

_ROW_INCHES = 0.62


def plot(drawn: Certificate | Sheet, *arguments: Any, **options: Any) -> Picture:
    """A figure of a certificate (see `attribound.report.figures.plots.plot`) or of a tolerance sheet.

    Args:
        drawn: the certificate or the sheet.
        arguments: for a certificate, the input and the plain map.
        options: for a certificate as in `plots.plot`; for a sheet `cosine`: one that was asked, by default the first.
    """
    return plot_sheet(drawn, **options) if isinstance(drawn, Sheet) else plots.plot(drawn, *arguments, **options)


def plot_sheet(sheet: Sheet, *, cosine: float | None = None) -> Picture:
    """A horizontal bar per change over the range tried: proved, open, broken.

    Args:
        sheet: what is drawn.
        cosine: one that was asked; None: the first.
    """
    asked = sheet.cosines[0] if cosine is None else cosine
    figure = Picture(figsize=(8.0, 1.2 + _ROW_INCHES * len(sheet)), layout="constrained")
    axes = figure.subplots()
    records = [sheet[name].record for name in sheet]
    for row, record in enumerate(records):
        _draw_row(axes, record, row, asked)
    axes.set_yticks(range(len(records)), [f"{record.part}\n({record.change.unit})" for record in records])
    axes.set_xlim(-1.08, 1.08)
    axes.set_ylim(len(records) - 0.4, -0.6)
    axes.set_xticks([])
    axes.axvline(0, color=_EDGE, linewidth=0.8)
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    title = f"How far the input may change while its explanation keeps cosine {exact_text(asked)}"
    axes.set_title(title, loc="left", fontsize=10)
    labels = [("proved", _PROVED, ""), ("open", _OPEN, ""), ("found to break it", _BROKEN, "///")]
    handles = [axes.barh([-9], [0], color=colour, hatch=hatch, label=name) for name, colour, hatch in labels]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3, frameon=False, fontsize=8)
    return figure


def _draw_row(axes: Any, record: ToleranceRecord, row: int, cosine: float) -> None:
    """The range tried runs from -1 to 1, with no change at 0; the ends are written in the change's unit."""
    change, interval = record.change, record.reach(cosine)
    low, high = _place(record, change.low), _place(record, change.high)
    axes.barh(row, high - low, left=low, height=0.34, color=_OPEN, edgecolor=_EDGE, linewidth=0.6)
    if interval is not None:
        left, right = (_place(record, end) for end in interval)
        axes.barh(row, right - left, left=left, height=0.34, color=_PROVED)
    broken = next((one for key, one in record.breaks.items() if float(key) >= cosine and one is not None), None)
    if broken is not None:
        at = _place(record, broken.value)
        width = (high if at >= 0 else low) - at
        axes.barh(row, width, left=at, height=0.34, color=_BROKEN, hatch="///", edgecolor="white", linewidth=0)
        axes.plot([at, at], [row - 0.24, row + 0.24], color=_BROKEN, linewidth=2)
    words = f"proved {interval_text(interval)}" if interval is not None else "nothing proved"
    axes.text(low, row - 0.22, f"{words}, {record.proof}", fontsize=8, ha="left", va="bottom")
    axes.text(1.0, row + 0.2, f"tried {change.low:.4g} to {change.high:.4g}", fontsize=7, ha="right", va="top")


def _place(record: ToleranceRecord, value: float) -> float:
    """Where a value lies, each side of the range being one long."""
    change = record.change
    side = change.high - change.zero if value > change.zero else change.zero - change.low
    return (value - change.zero) / side if side else 0.0
