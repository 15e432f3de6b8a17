"""The verdict of a run in plain words. The page fills the same sentences again when its sliders move."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import final

import numpy as np

from attribound.report.collect import Collected
from attribound.report.curves import whole_units

_PREFERRED = 0.8
_SHARE = 0.1
_STEPS = 200

_SOME = (
    "For {count} of {total} {nouns}, no change of size up to epsilon {epsilon} can turn the explanation by more than "
    "{degrees} degrees (cosine {cosine}); confidence {confidence} % for each {noun}."
)
_NONE = (
    "For none of the {total} {nouns} is it proved that changes of size up to epsilon {epsilon} turn the explanation by "
    "at most {degrees} degrees (cosine {cosine})."
)
_ASSUMED = "Not a certificate: the limit is assumed, not proved. If it were true: "
_PAPER = "Not a certificate: the paper's formula is not valid. It would say: "
_BROKEN = "Do not trust this run: an attack broke a certificate. It claims: "


@final
@dataclass(frozen=True)
class Verdict:
    """What the first screen says.

    Attributes:
        kind: "proved", "warning", "broken" or "nothing".
        text: the sentence at the start.
        sentences: "some" and "none", with places for count, epsilon, cosine and degrees.
        digits: digits after the point of every epsilon shown.
        units: (N, C) proved epsilons in units of the last digit, rounded down.
        cosine: number of the cosine at the start.
        epsilon: epsilon at the start, in units.
        step: step of the slider, in units.
        top: end of the slider, in units.
    """

    kind: str
    text: str
    sentences: dict[str, str]
    digits: int
    units: list[list[int]]
    cosine: int
    epsilon: int
    step: int
    top: int


def judge(run: Collected, noun: str) -> Verdict:
    """The verdict about a run at the epsilon that nine of ten certified inputs reach."""
    proofs, config = run.proofs, run.summary.config
    wanted = _PREFERRED if _PREFERRED in config.cosines else config.cosines[0]
    column = proofs.cosines.index(wanted)
    reach = float(proofs.epsilons.max(initial=0.0))
    digits = 4 if reach <= 0 else max(3 - math.floor(math.log10(reach)), 0)
    units = [whole_units(row, digits) for row in proofs.epsilons]
    top = max((row[0] for row in units), default=0)
    step = _nice(top / _STEPS)
    budgets = np.array([row[column] for row in units if row[column] > 0])
    usual = int(np.quantile(budgets, _SHARE, method="lower")) if len(budgets) else step
    epsilon = max(usual // step * step, step)
    sentences = _sentences(run, noun)
    count = int((budgets >= epsilon).sum())
    text = _text(run) or sentences["some" if count else "none"].format(
        count=count, epsilon=in_units(epsilon, digits), cosine=f"{wanted:g}", degrees=degrees(wanted)
    )
    return Verdict(_kind(run, top), text, sentences, digits, units, column, epsilon, step, top)


def _kind(run: Collected, top: int) -> str:
    if run.violated:
        return "broken"
    if top <= 0:
        return "nothing"
    return "warning" if run.assumed or run.paper else "proved"


def _text(run: Collected) -> str:
    """What there is to say when there is nothing to ask."""
    counts, total = run.summary.counts, run.summary.total
    if total == 0:
        return "This run has no records yet: nothing is proved."
    if counts.get("error", 0) == total:
        inputs = "The only input" if total == 1 else f"All {total} inputs"
        return f"{inputs} failed: nothing is proved."
    return ""


def _sentences(run: Collected, noun: str) -> dict[str, str]:
    total = run.summary.total
    known: Mapping[str, str] = {
        "total": str(total),
        "nouns": noun if total == 1 else noun + "s",
        "noun": noun,
        "confidence": confidence(run.summary.config.alpha),
    }
    later = {key: f"{{{key}}}" for key in ("count", "epsilon", "cosine", "degrees")}
    start = _BROKEN if run.violated else _ASSUMED if run.assumed else _PAPER if run.paper else ""
    return {
        key: (start + (text[0].lower() + text[1:] if start else text)).format(**known, **later)
        for key, text in (("some", _SOME), ("none", _NONE))
    }


def confidence(alpha: float) -> str:
    """1 - alpha in percent, exactly."""
    return f"{((1 - Decimal(repr(float(alpha)))) * 100).normalize():f}"


def degrees(cosine: float) -> int:
    """The angle of a cosine, rounded up: an explanation may turn by no more than this."""
    return math.ceil(math.degrees(math.acos(cosine)) - 1e-9)


def in_units(value: int, digits: int) -> str:
    """Units of the last digit as a decimal number."""
    return f"{Decimal(value).scaleb(-digits):f}"


def _nice(value: float) -> int:
    """The smallest of 1, 2, 5, 10, ... that is not below the value."""
    power = 10 ** max(math.floor(math.log10(value)), 0) if value > 1 else 1
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value)
