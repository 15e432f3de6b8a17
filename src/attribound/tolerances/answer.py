"""What is proved about one change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from torch import Tensor

from attribound.bounds.scan import Curve
from attribound.changes.base import Change, Continuous, Finite
from attribound.errors import ArgumentError
from attribound.rounding import confidence, exact_text, round_down, round_up

Proof = Literal["exact", "alpha", "assumed"]
Interval = tuple[float, float] | None
"""Left and right end in the change's unit; None where not even no change is proved."""


@final
@dataclass(frozen=True)
class Break:
    """A change that was found to break the claim.

    Attributes:
        value: where, in the change's unit.
        label: the same in words.
        cosine: of the map there with the reference; for a scanned change sampled with draws of its own.
        input: the changed input, to look at.
        map: the map there, in the frame of the unchanged input.
    """

    value: float
    label: str
    cosine: float
    input: Tensor
    map: Tensor


@final
@dataclass(frozen=True, repr=False)
class Tolerance:
    """What is proved about one change of one input.

    Attributes:
        change: what happens to the input.
        reaches: for each cosine asked, the proved interval.
        proof: "exact": every alternative was tried; "alpha": false with probability at most `alpha`; "assumed": as
            "alpha", but conditional on a limit that is only a guess, so no certificate.
        alpha: failure probability of all that is said here; 0.0 if exact.
        class_reach: in this interval the class is proved to stay.
        broken: for each cosine asked, the nearest change found that breaks it, if any.
        shown: the map that the claim compares with, in the field's shape.
        reference: "plain" or "shown".
        fidelity: cosine of `shown` with the plain map.
        draws: how many maps were computed, the pilot and the search for breaks included.
        window: half-width of the windows in the unit; None if exact.
        window_share: half-width of the windows over the range; 0.0 if exact.
        angles: the curve, in the change's unit.
    """

    change: Change
    reaches: Mapping[float, Interval]
    proof: Proof
    alpha: float
    class_reach: Interval
    broken: Mapping[float, Break | None]
    shown: Tensor
    reference: str
    fidelity: float
    draws: int
    window: float | None
    window_share: float
    angles: Curve

    def __repr__(self) -> str:
        return self.words()

    @property
    def name(self) -> str:
        """The change's name."""
        return self.change.name

    def reach(self, cosine: float) -> Interval:
        """The proved interval around no change, in the change's unit; None where not even that is proved.

        What holds at a cosine that was asked holds at every smaller one.
        """
        return self.reaches[self._asked(cosine)]

    def _asked(self, cosine: float) -> float:
        """The smallest cosine asked that is not smaller."""
        fitting = [asked for asked in self.reaches if asked >= cosine]
        if not fitting:
            asked = ", ".join(map(exact_text, self.reaches))
            raise ArgumentError(f"expected a `cosine` of at most one that was asked ({asked}), got {cosine:g}")
        return min(fitting)

    @property
    def breaks(self) -> Break | None:
        """The nearest change found that breaks the first cosine asked."""
        return next(iter(self.broken.values()))

    def curve(self) -> Curve:
        """Positions in the change's unit, proved angles and sampled angles in degrees."""
        return self.angles

    def words(self, cosine: float | None = None) -> str:
        """What exactly is said, in one sentence; by default at the first cosine asked."""
        asked = next(iter(self.reaches)) if cosine is None else self._asked(cosine)
        interval = self.reaches[asked]
        if interval is None:
            return f"{self.name}: nothing is proved at cosine {asked:g}, not even without a change."
        return (
            f"{self.name}: for every change from {interval_text(interval)} {self.change.unit} {self._about()} keeps at "
            f"least cosine {asked:g} with {self._against()}. {self._class()}{self._how()}"
        )

    def _class(self) -> str:
        """About the class, where anything is proved."""
        if self.class_reach is None:
            return ""
        where = f"from {interval_text(self.class_reach)} {self.change.unit}"
        return f"The class stays {where}{'' if self.window is None else ', by majority in the window'}. "

    def _about(self) -> str:
        if self.window is None:
            return "the plain map"
        return f"the mean of the maps over a window of half-width {self.window:.3g} {self.change.unit}"

    def _against(self) -> str:
        if self.proof == "exact":
            return "the plain map of the unchanged input"
        kind = "the plain map" if self.reference == "plain" else "the map shown"
        return f"{kind} of the unchanged input"

    def _how(self) -> str:
        made = f"Made so: {self.change.made}."
        back = " Maps are brought back to the first frame." if self.change.moves else ""
        if isinstance(self.change, Finite):
            return f"{made}{back} Exact: every alternative was tried. Nothing is said about any other change."
        adds = (
            " Changes add up, so it is also what the program computes if it is given the changed input."
            if self.change.adds_up
            else " It is about changed inputs made from this one; such changes do not exactly add up."
        )
        sure = f" Proved with confidence {confidence(self.alpha)}." if self.proof == "alpha" else ""
        guess = " NOT a certificate: the limit is only assumed." if self.proof == "assumed" else ""
        return f"{made}{back}{adds}{sure}{guess} Nothing is said about any other change."


def interval_text(interval: Interval, digits: int = 2) -> str:
    """An interval, rounded inward."""
    if interval is None:
        return "none"
    left, right = (_short(text) for text in (round_up(interval[0], digits), round_down(interval[1], digits)))
    return f"{left} to {right}"


def _short(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def inward(change: Continuous, t: float) -> float:
    """A proved end in people's units: never beyond the range, and rounding never beyond the position."""
    if t >= change.high or t <= change.low:
        return change.shown(change.high if t > 0 else change.low)
    return change.shown(t * (1 - 1e-12))
