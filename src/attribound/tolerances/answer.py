"""What is proved about one change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from attribound.bounds.scan import Curve
from attribound.changes.base import Continuous
from attribound.errors import ArgumentError
from attribound.rounding import exact_text
from attribound.tolerances.evidence import Interval, Listed, Scanned
from attribound.tolerances.record import BreakRecord, ChangeRecord, Proof, ToleranceRecord
from attribound.tolerances.words import sentence

_ROUNDING = 1e-12
"""Of a position, relative."""


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

    @property
    def record(self) -> BreakRecord:
        """What is stored of it beside its pictures."""
        return BreakRecord(float(self.value), self.label, float(self.cosine))


@final
@dataclass(frozen=True)
class Answer:
    """What a way to prove found out about one change, before it becomes a record.

    Attributes:
        evidence: what the answers follow from.
        proof: how it is proved.
        alpha: failure probability.
        broken: for each cosine asked, the nearest change found that breaks it, if any.
        shown: the map that the claim compares with, in the field's shape.
        reference: "plain" or "shown".
        fidelity: cosine of `shown` with the plain map.
        draws: how many maps were computed.
        window: half-width of the windows in the unit; None if exact.
        window_share: half-width of the windows over the range; 0.0 if exact.
        angles: the curve, in the change's unit.
        bounds: the range tried, in the unit.
    """

    evidence: Listed | Scanned
    proof: Proof
    alpha: float
    broken: Mapping[float, Break | None]
    shown: Tensor
    reference: str
    fidelity: float
    draws: int
    window: float | None
    window_share: float
    angles: Curve
    bounds: tuple[float, float]


@final
@dataclass(frozen=True)
class Tolerance:
    """What is proved about one change of one input.

    Attributes:
        record: everything but pictures.
        broken: for each cosine asked, the nearest change found that breaks it, if any.
        shown: the map that the claim compares with, in the field's shape.
        angles: the curve, in the change's unit.
    """

    record: ToleranceRecord
    broken: Mapping[float, Break | None]
    shown: Tensor
    angles: Curve

    @property
    def change(self) -> ChangeRecord:
        """What happens to the input."""
        return self.record.change

    def __repr__(self) -> str:
        return self.words()

    @property
    def name(self) -> str:
        """The change's name."""
        return self.record.part

    @property
    def proof(self) -> Proof:
        """Exact: every alternative was tried; alpha: false with that probability at most; assumed: no certificate."""
        return self.record.proof

    @property
    def alpha(self) -> float:
        """Failure probability of all that is said here; 0.0 if exact."""
        return self.record.alpha

    @property
    def reaches(self) -> Mapping[float, Interval]:
        """For each cosine asked, the proved interval."""
        return {float(key): interval for key, interval in self.record.reaches.items()}

    @property
    def class_reach(self) -> Interval:
        """In this interval the class is proved to stay."""
        return self.record.class_reach

    @property
    def reference(self) -> str:
        """What maps are compared with, "plain" or "shown"."""
        return self.record.reference

    @property
    def fidelity(self) -> float:
        """Cosine of the map shown with the plain map."""
        return self.record.fidelity

    @property
    def draws(self) -> int:
        """How many maps were computed, the pilot and the search for breaks included."""
        return self.record.draws

    @property
    def window(self) -> float | None:
        """Half-width of the windows in the unit; None if exact."""
        return self.record.window

    @property
    def window_share(self) -> float:
        """Half-width of the windows over the range; 0.0 if exact."""
        return self.record.window_share

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
            raise ArgumentError(f"expected a `cosine` no larger than one that was asked ({asked}), got {cosine:g}")
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
        return sentence(self.record, next(iter(self.reaches)) if cosine is None else self._asked(cosine))

    @property
    def pictures(self) -> dict[str, Tensor]:
        """Maps and inputs to keep beside the record, by name."""
        kept = {f"shown:{self.name}": self.shown} if self.window is not None else {}
        for cosine, one in self.broken.items():
            if one is not None:
                key = f"{self.name}:{exact_text(cosine)}"
                kept |= {f"broken:{key}": one.input, f"broken-map:{key}": one.map}
        return kept

    @classmethod
    def opened(cls, record: ToleranceRecord, pictures: Mapping[str, Tensor]) -> "Tolerance":
        """A stored tolerance with the pictures that were kept with it."""
        broken: dict[float, Break | None] = {}
        none = torch.zeros(0)
        for key, one in record.breaks.items():
            seen = [pictures.get(f"{kind}:{record.part}:{key}", none) for kind in ("broken", "broken-map")]
            broken[float(key)] = None if one is None else Break(one.value, one.label, one.cosine, seen[0], seen[1])
        shown = pictures.get(f"shown:{record.part}", pictures.get("plain", none))
        return cls(record, broken, shown, stored_curve(record))


def stored_curve(record: ToleranceRecord) -> Curve:
    """The curve that a record's facts give: proved angles are those of the cosines asked, where they reach."""
    evidence = record.evidence()
    if isinstance(evidence, Scanned):
        values, sampled = evidence.values, evidence.scan.angles
    else:
        assert isinstance(evidence, Listed)
        values = np.unique(evidence.values)
        lowest = [evidence.cosines[evidence.values == value].min() for value in values]
        sampled = np.degrees(np.arccos(np.array(lowest)))
        return Curve(values, sampled, sampled)
    proved = np.full(len(values), np.nan)
    for cosine in sorted(record.cosines):
        if (interval := record.reach(cosine)) is not None:
            inside = (values >= interval[0]) & (values <= interval[1])
            proved[inside] = np.degrees(np.arccos(cosine))
    return Curve(values, proved, sampled)


def inward(change: Continuous, t: float) -> float:
    """A proved end in people's units: never beyond the range, and rounding never beyond the position."""
    end = change.high if t > 0 else change.low
    if abs(t) >= abs(end) * (1 - _ROUNDING):  # the last position is the range's end, but for rounding
        return change.shown(end)
    return change.shown(t * (1 - _ROUNDING))
