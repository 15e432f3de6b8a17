"""Certificates of tables, said in reasons: what a reader of a table asks first."""

from attribound.report.shared.collect import Collected
from attribound.rounding import round_down


def headline(run: Collected, noun: str) -> str:
    """How many of the reasons provably stay for at least half of the inputs, and how far; "" if none were counted."""
    orders = run.summary.orders
    if orders is None or run.violated:
        return ""
    count, half = orders["reasons"], f"at least half of the {orders['inputs']} {noun}s"
    known = {int(number): reach for number, reach in orders["stay"].items() if reach > 0}
    start = "If the ASSUMED limit is right: for" if run.assumed else "For"
    if not known:
        return f"{start} {half}, none of the first {count} reasons is proved to stay among the {count}."
    first, *others = sorted(known, reverse=True)
    how_many = f"all of the first {count}" if first == count else f"{first} of the first {count}"
    fewer = ", ".join(f"{number} of them up to {round_down(known[number], 3)}" for number in others)
    return (
        f"{start} {half}, {how_many} reasons provably stay among the {count} under every change of size up to "
        f"epsilon {round_down(known[first], 3)}{f' ({fewer})' if fewer else ''}."
    )


def staying(reasons: dict[int, float], names: list[str], *, assumed: bool) -> list[str]:
    """How far each reason of one input stays, the one that stays longest first."""
    note, count = "ASSUMED: " if assumed else "", len(reasons)
    ordered = sorted(reasons.items(), key=lambda one: -one[1])
    return [
        f"{note}{names[feature]} stays among the first {count} reasons up to epsilon {round_down(reach, 3)}"
        if reach > 0
        else f"{names[feature]} is not proved to stay"
        for feature, reach in ordered
    ]
