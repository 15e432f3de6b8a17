"""What exactly a record of a tolerance says, in words."""

from decimal import Decimal

from attribound.rounding import confidence, exact_text, round_down, round_up
from attribound.tolerances.evidence import Interval
from attribound.tolerances.record import ToleranceRecord


def sentence(record: ToleranceRecord, cosine: float) -> str:
    """What is said at a cosine that was asked."""
    change, interval = record.change, record.reaches[exact_text(cosine)]
    if interval is None:
        return f"{change.name}: nothing is proved at cosine {exact_text(cosine)}, not even without a change."
    return (
        f"{change.name}: for every change from {interval_text(interval)} {change.unit} {_about(record)} keeps at "
        f"least cosine {exact_text(cosine)} with {_against(record)}. {_class(record)}{_how(record)}"
    )


def _class(record: ToleranceRecord) -> str:
    """About the class, where anything is proved."""
    if record.class_reach is None:
        return ""
    where = f"from {interval_text(record.class_reach)} {record.change.unit}"
    return f"The class stays {where}{'' if record.window is None else ', by majority in the window'}. "


def proof_text(record: ToleranceRecord) -> str:
    """How it is proved, in a word or two."""
    return f"alpha {record.alpha:g}" if record.proof == "alpha" else record.proof.replace("assumed", "ASSUMED")


def interval_text(interval: Interval) -> str:
    """An interval, rounded inward; an end that is 0.4 as people type it is 0.4, not the next hundredth."""
    if interval is None:
        return "none"
    low, high = (Decimal(repr(end)) for end in interval)
    return f"{shortened(round_up(low, 2))} to {shortened(round_down(high, 2))}"


def value_text(value: float, zero: float) -> str:
    """A value inside an interval, rounded as its ends are: towards no change."""
    known = Decimal(repr(float(value)))
    return shortened(round_up(known, 2) if value < zero else round_down(known, 2))


def shortened(text: str) -> str:
    """A number without zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _about(record: ToleranceRecord) -> str:
    if record.window is None:
        return "the plain map"
    return f"the mean of the maps over a window of half-width {record.window:.3g} {record.change.unit}"


def _against(record: ToleranceRecord) -> str:
    kind = "the plain map of" if record.reference == "plain" else "the map shown for"
    return f"{kind} the unchanged input"


def _how(record: ToleranceRecord) -> str:
    change = record.change
    made = f"How it is made: {change.made}."
    back = " Maps are brought back to where things were." if change.moves else ""
    if record.proof == "exact":
        return f"{made}{back} Exact: every alternative was tried. Nothing is said about any other change."
    adds = (
        " Changes add up, so it is also what the program computes if it is given the changed input."
        if change.adds_up
        else " It is about changed inputs made from this one; such changes do not exactly add up."
    )
    sure = f" Proved with confidence {confidence(record.alpha)}." if record.proof == "alpha" else ""
    guess = " NOT a certificate: the limit is only assumed." if record.proof == "assumed" else ""
    return f"{made}{back}{adds}{sure}{guess} Nothing is said about any other change."
