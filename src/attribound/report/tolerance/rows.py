"""One change of one input, as the page shows it: a bar for each cosine, frames, and where it breaks."""

from dataclasses import dataclass, field
from typing import Any, final

from attribound.report.shared.bars import Bar
from attribound.report.tolerance.words import amount, reach, title
from attribound.rounding import round_down
from attribound.runs.proving import Proved
from attribound.tolerances.evidence import Listed
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.strip import Strip
from attribound.tolerances.words import sentence

Sides = tuple[float | None, float | None]


@final
@dataclass(frozen=True)
class Row:
    """What stands on the page about one change of one input.

    Attributes:
        name: the change's name.
        title: the same as people say it.
        bars: by cosine.
        frames: the film strip, from left to right.
        start: the frame without a change.
        breaks: by cosine, the nearest change found that breaks it: words, a picture and a map.
        said: what exactly is proved, a sentence or more for each cosine.
        failure: why there is nothing.
    """

    name: str
    title: str
    bars: dict[str, Bar] = field(default_factory=dict)
    frames: list[dict[str, Any]] = field(default_factory=list)
    start: int = 0
    breaks: dict[str, dict[str, str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    failure: str = ""


def make_row(
    one: Proved[ToleranceRecord], strip: Strip | None, drawn: dict[str, dict[str, str]], classes: dict[int, str]
) -> Row:
    """The row of a record.

    Args:
        one: the record, stating only what is proved.
        strip: its frames, if any are kept.
        drawn: pictures of this change by the names "frame:K" and "break:COSINE".
        classes: names of classes by number.
    """
    record = one.record
    if strip is not None and not all(f"frame:{at}" in drawn for at in range(len(strip.values))):
        strip = None
    frames = [] if strip is None else [_frame(record, strip, at, drawn, classes) for at in range(len(strip.values))]
    stops = None if strip is None else tuple(map(float, strip.values))
    return Row(
        name=record.part,
        title=title(record.change.spec),
        bars={key: make_bar(record, key, stops) for key in record.reaches},
        frames=frames,
        start=next((at for at, frame in enumerate(frames) if frame["amount"] == "unchanged"), 0),
        breaks={key: shown for key in record.breaks if (shown := _break(record, key, drawn))},
        said=[sentence(record, cosine) for cosine in record.cosines],
        failure="; ".join(one.doubts) and f"Nothing counts as proved: {'; '.join(one.doubts)}.",
    )


def make_bar(record: ToleranceRecord, key: str, stops: tuple[float, ...] | None = None) -> Bar:
    """The bar of a record at a cosine; stops are values of a film strip that stands below it."""
    change, sizes = record.change, record.sizes
    known, found = reach(change, record.reaches[key], sizes=sizes), record.breaks[key]
    assumed = record.proof == "assumed"
    ends = f" Breaks at {amount(change, found.value)}." if found is not None else ""
    return Bar(
        title=title(record.change.spec),
        text=f"{'ASSUMED, no certificate: ' if assumed else ''}{known[0].upper()}{known[1:]}.{ends}",
        unit=change.unit,
        stops=stops or default_stops(change.low, change.zero, change.high, sizes),
        zero=change.zero,
        proved=record.reaches[key],
        broken=broken_sides(record, key),
        assumed=assumed,
    )


def default_stops(low: float, zero: float, high: float, sizes: bool) -> tuple[float, ...]:
    """The range tried, each side of no change with its own scale."""
    if sizes or low == zero:
        return zero, high
    return (low, zero) if high == zero else (low, zero, high)


def broken_sides(record: ToleranceRecord, key: str) -> Sides:
    """The nearest values on the left and on the right that break a cosine: all are known only where all were tried."""
    found, evidence = record.breaks[key], record.evidence()
    if found is None:
        return None, None
    if isinstance(evidence, Listed):
        fails = ~evidence.holds(float(key))
        sides = [evidence.values[fails & (sign * evidence.places > 0)] for sign in (-1, 1)]
        left, right = (float(values.max()) if len(values) else None for values in (sides[0], -sides[1]))
        return left, None if right is None else -right
    return (found.value, None) if found.value < record.change.zero else (None, found.value)


def status(record: ToleranceRecord, key: str, value: float) -> str:
    """What is known about every change up to a value: "proved", "breaks" or "open"."""
    interval, (left, right) = record.reaches[key], broken_sides(record, key)
    if interval is not None and interval[0] <= value <= interval[1]:
        return "assumed" if record.proof == "assumed" else "proved"
    if (left is not None and value <= left) or (right is not None and value >= right):
        return "breaks"
    return "open"


def _frame(
    record: ToleranceRecord, strip: Strip, at: int, drawn: dict[str, dict[str, str]], classes: dict[int, str]
) -> dict[str, Any]:
    value, number = float(strip.values[at]), int(strip.classes[at])
    return {
        "amount": amount(record.change, value),
        "class": classes.get(number, str(number)),
        "kept": number == record.prediction,
        "alike": f"{strip.cosines[at]:.2f}",
        "status": {key: status(record, key, value) for key in record.reaches},
        **drawn.get(f"frame:{at}", {}),
    }


def _break(record: ToleranceRecord, key: str, drawn: dict[str, dict[str, str]]) -> dict[str, str]:
    found = record.breaks[key]
    if found is None or f"break:{key}" not in drawn:
        return {}
    label = found.label if record.sizes else amount(record.change, found.value)
    return {"label": label, "alike": round_down(found.cosine, 3), **drawn[f"break:{key}"]}
