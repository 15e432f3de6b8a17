"""What tolerances say to people: names of changes, reaches and amounts."""

from attribound.changes.registry import parse_change
from attribound.errors import ArgumentError
from attribound.rounding import round_down, round_up
from attribound.tolerances.evidence import Interval
from attribound.tolerances.record import ChangeRecord
from attribound.tolerances.words import shortened

_ONE_STEP = ("flips", "other method", "words hidden")
"""Units of changes that are made or not."""
_WIDE = 20.0
"""Ranges this wide are told with one digit, narrower ones with two."""


def title(spec: str) -> str:
    """What happens to the input, as people say it; the name of a change that is not known here."""
    try:
        found = parse_change(spec)
    except ArgumentError:
        return spec.partition(":")[0]
    return found.title or found.name


def reach(change: ChangeRecord, interval: Interval, *, sizes: bool = False) -> str:
    """How far a change is proved to be harmless, rounded inward: "holds from -11 to 12.4 degrees".

    Args:
        change: the change.
        interval: in its unit.
        sizes: values are sizes of changes that go either way.
    """
    if interval is None:
        return "nothing is proved, not even without a change"
    if change.unit in _ONE_STEP:
        return "holds" if interval[1] > change.zero else "does not hold"
    if interval == (change.zero, change.zero):
        return "does not hold even for the smallest change that was tried"
    whole = " (the whole range tried)" if interval[0] <= change.low and interval[1] >= change.high else ""
    return f"holds {_ends(change, interval, sizes)}{whole}"


def _ends(change: ChangeRecord, interval: tuple[float, float], sizes: bool) -> str:
    digits = 1 if change.high - change.low >= _WIDE else 2
    low, high = (shortened(text) for text in (round_up(interval[0], digits), round_down(interval[1], digits)))
    if sizes:
        return f"up to {high} {change.unit} in any direction"
    if change.high == change.zero:
        return f"down to {change.unit} {low}"
    return f"up to {high} {change.unit}" if change.low == change.zero else f"from {low} to {high} {change.unit}"


def amount(change: ChangeRecord, value: float) -> str:
    """One change in words."""
    if value == change.zero:
        return "unchanged"
    if change.unit in _ONE_STEP:
        return title(change.spec).lower()
    number = f"{value:.3g}"
    return f"{change.unit} {number}" if change.unit == "quality" else f"{number} {change.unit}"
