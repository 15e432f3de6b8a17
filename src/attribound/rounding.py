"""How numbers are shown: what is certified or counted is never rounded up."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext


def round_down(value: float | Decimal, digits: int = 4) -> str:
    """Certified numbers are rounded down for display; in decimal, for a binary product may round up."""
    return _rounded(value, digits, ROUND_FLOOR)


def round_up(value: float | Decimal, digits: int = 4) -> str:
    """Needed or feared numbers (a radius, an angle) are rounded up."""
    return _rounded(value, digits, ROUND_CEILING)


def _rounded(value: float | Decimal, digits: int, way: str) -> str:
    exact = Decimal(value)
    with localcontext() as context:
        context.prec = max(context.prec, exact.adjusted() + digits + 2)  # 1e308 has 309 digits
        return f"{exact.quantize(Decimal(1).scaleb(-digits), way) + 0:f}"  # + 0: no negative zero


def percent(share: float, digits: int = 1) -> str:
    """A share in percent, rounded down: 9,996 of 10,000 are 99.9 %, not 100.0 %; and 7 of 10 are 70.0 %, not 69.9 %."""
    return f"{round_down(100 * Decimal(repr(float(share))), digits)} %"


def confidence(alpha: float) -> str:
    """1 - alpha in percent, exactly."""
    return f"{((1 - Decimal(repr(float(alpha)))) * 100).normalize():f} %"


def exact_text(value: float) -> str:
    """The shortest text that stands for this very number: a rounded key would be another claim."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def with_commas(value: float) -> str:
    """A number for people, to six digits: 2,792 and 0.25; whole numbers in full."""
    return f"{value:,.0f}" if value == math.floor(value) and abs(value) < 1e15 else f"{value:,.6g}"


def short_end(end: float, inside: float) -> str:
    """The end of an interval in few digits, never outside it: moved inside by at most a thousandth of the distance.

    Args:
        end: of the interval, included.
        inside: a value in it.
    """
    if end == math.floor(end):
        return f"{end:,.0f}"
    if end == inside:
        return exact_text(end)
    digits = 4 - math.ceil(math.log10(abs(end - inside)))
    exact = Decimal(round_down(end, digits) if end > inside else round_up(end, digits))
    return f"{exact.normalize():,f}"


def degrees(cosine: float) -> int:
    """The angle of a cosine in degrees, rounded up: an explanation turns by no more than this."""
    return math.ceil(math.degrees(math.acos(cosine)) - 1e-9)


def whole_units(value: float, digits: int) -> int:
    """A value in units of 10^-digits, rounded down exactly."""
    return int((Decimal(float(value)) * Decimal(1).scaleb(digits)).to_integral_value(ROUND_FLOOR))


def in_units(units: int, digits: int) -> str:
    """Units of 10^-digits as a decimal number."""
    return f"{Decimal(units).scaleb(-digits):f}"


def lower_quantile(values: Sequence[float], part: float) -> float:
    """The value that at least `1 - part` of the values reach: one of them, never a mean of two; 0.0 without values.

    The one definition of medians and quantiles of certified numbers, in every table, page and summary.
    """
    ordered = sorted(values)
    return float(ordered[int(part * (len(ordered) - 1))]) if ordered else 0.0


def upper_quantile(values: Sequence[float], part: float) -> float:
    """The value that at most `1 - part` of the values exceed: one of them, for levels that one should be above."""
    return -lower_quantile([-value for value in values], 1 - part)
