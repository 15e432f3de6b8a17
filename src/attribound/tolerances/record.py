"""Records of tolerances: one per input and change, typed, sealed, and read here and nowhere else. No torch.

A record holds facts and states answers. Answers are derived anew wherever they matter; the stated ones are for readers
without this library.
"""

from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct

from attribound.bounds.scan.evidence import KeptDecision, ScanEvidence
from attribound.bounds.scan.grid import Grid
from attribound.certificates.record import FORMAT, read_json
from attribound.certificates.sealed import WRONG, no_record
from attribound.certificates.subject import Subject
from attribound.rounding import exact_text
from attribound.tolerances.evidence import Evidence, Interval, Listed, Scanned
from attribound.tolerances.packed import Packed

Proof = Literal["exact", "alpha", "assumed"]


class ChangeRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A change in words and numbers; low and high are the range tried and zero is no change, in its unit."""

    name: str
    spec: str
    unit: str
    made: str
    adds_up: bool
    moves: bool
    low: float
    zero: float
    high: float


class BreakRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A change that was found to break the claim: where, in words, and the cosine there."""

    value: float
    label: str
    cosine: float


class ListFacts(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="list"):
    """Every alternative of a finite change: `tolerances.evidence.Listed`."""

    places: Packed
    values: Packed
    zero: float
    cosines: Packed
    kept: Packed
    sizes: bool = False
    empty: bool = False

    @classmethod
    def of(cls, known: Listed) -> "ListFacts":
        """Pack a list."""
        packed = [Packed.of(values, "f8") for values in (known.places, known.values, known.cosines)]
        kept = Packed.of(known.kept, "u1")
        return cls(packed[0], packed[1], known.zero, packed[2], kept, known.sizes, known.empty)

    def evidence(self) -> Listed:
        """The arrays; a ValueError if they are none."""
        return Listed(
            places=self.places.values(),
            values=self.values.values(),
            zero=self.zero,
            cosines=self.cosines.values(),
            kept=self.kept.values() == 1,
            sizes=self.sizes,
            empty=self.empty,
        )


class DecisionFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """A decision about one cosine: `bounds.scan.evidence.KeptDecision`."""

    smallest: Packed
    bet: Packed
    least: Packed


class ScanFacts(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="scan"):
    """What is kept of a scan: `tolerances.evidence.Scanned`; the window is in the change's parameter."""

    window: float
    half: int
    left: int
    right: int
    cells: int
    draws: int
    values: Packed
    along: Packed
    across: Packed
    decisions: dict[str, DecisionFacts]
    hits: Packed
    bets: Packed

    @classmethod
    def of(cls, known: Scanned) -> "ScanFacts":
        """Pack a scan."""
        scan, grid = known.scan, known.scan.grid
        return cls(
            window=float(grid.window),
            half=grid.half,
            left=grid.left,
            right=grid.right,
            cells=grid.cells,
            draws=scan.draws,
            values=Packed.of(known.values, "f8"),
            along=Packed.of(scan.along, "f4"),
            across=Packed.of(scan.across, "f4"),
            decisions={
                exact_text(cosine): DecisionFacts(
                    Packed.of(one.smallest, "f4"), Packed.of(one.bet, "u1"), Packed.of(one.least, "u2")
                )
                for cosine, one in scan.decisions.items()
            },
            hits=Packed.of(scan.hits, "u4"),
            bets=Packed.of(scan.bets, "u2"),
        )

    def evidence(self) -> Scanned:
        """The arrays; a ValueError if they are none."""
        scan = ScanEvidence(
            grid=Grid(self.window, self.half, self.left, self.right, self.cells),
            draws=self.draws,
            along=self.along.values(),
            across=self.across.values(),
            decisions={
                float(cosine): KeptDecision(one.smallest.values(), one.bet.values(), one.least.values())
                for cosine, one in self.decisions.items()
            },
            hits=self.hits.values(),
            bets=self.bets.values(),
        )
        return Scanned(scan, self.values.values())


Facts = ListFacts | ScanFacts
"""A new way to prove adds a tagged type here: its `evidence()` answers."""


class ToleranceRecord(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True, tag_field="kind", tag="tolerance"
):
    """What is known and stated about one change of one input.

    Attributes:
        item: number of the input.
        label: its class, if it has one.
        target: the class that is explained.
        prediction: the class that the model gives to the unchanged input.
        change: what happens to the input.
        proof: "exact": every alternative was tried; "alpha": false with probability at most `alpha`; "assumed": as
            "alpha", but conditional on a limit that is only a guess, so no certificate.
        alpha: failure probability of all that is said here; 0.0 if exact.
        reaches: by cosine, the proved interval in the change's unit; null where not even no change is proved.
        class_reach: in this interval the class is proved to stay.
        breaks: by cosine, the nearest change found that breaks it.
        reference: what maps are compared with, "plain" or "shown".
        fidelity: cosine of the map shown with the plain one of the model in float32.
        samples: draws asked for; 0 if exact.
        draws: maps computed, the pilot and the search for breaks included.
        window: half-width of the windows in the unit; null if exact.
        window_share: half-width of the windows over the range; 0.0 if exact.
        seed: of the draws.
        map_shape: of the map.
        facts: what all this follows from.
    """

    format: int = FORMAT
    item: int
    label: int | None = None
    target: int
    prediction: int
    change: ChangeRecord
    proof: Proof
    alpha: float
    reaches: dict[str, tuple[float, float] | None]
    class_reach: tuple[float, float] | None
    breaks: dict[str, BreakRecord | None]
    reference: Literal["shown", "plain"]
    fidelity: float
    samples: int
    draws: int
    window: float | None
    window_share: float
    seed: int
    map_shape: tuple[int, ...]
    facts: Facts
    seconds: float = 0.0
    versions: dict[str, str] = {}
    model_sha256: str = ""
    input_sha256: str = ""
    subject: Subject = Subject()
    seal: str = ""

    @property
    def part(self) -> str:
        """Which part of what is said about the input: the change's name."""
        return self.change.name

    @property
    def cosines(self) -> tuple[float, ...]:
        """What was asked, in this order."""
        return tuple(float(key) for key in self.reaches)

    @property
    def sizes(self) -> bool:
        """Whether values are sizes of changes that go either way."""
        return isinstance(self.facts, ListFacts) and self.facts.sizes

    def reach(self, cosine: float) -> Interval:
        """The stated interval at the smallest cosine asked that is not smaller; None if there is none."""
        fitting = [asked for asked in self.cosines if asked >= cosine]
        return self.reaches[exact_text(min(fitting))] if fitting else None

    def evidence(self) -> Evidence:
        """What the answers follow from; a ValueError if it is none."""
        return self._evidence

    @cached_property
    def _evidence(self) -> Evidence:
        return self.facts.evidence()


def decode(text: str | bytes, name: str) -> ToleranceRecord:
    """The record in a stored text; whatever is wrong with it is one StoredDataError that names the file."""
    try:
        return convert(read_json(text))
    except WRONG as error:
        raise no_record(name, error) from None


def convert(stored: Any) -> ToleranceRecord:
    """The record in parsed JSON; a ValueError if it is none."""
    record = msgspec.convert(stored, ToleranceRecord, strict=True)
    for key in (*record.reaches, *record.breaks):
        if not (0 <= float(key) < 1 and exact_text(float(key)) == key):
            raise ValueError(f"the key {key!r} is not a cosine that can be asked for")
    if record.format != FORMAT:  # one inside a sheet: that of a file is looked at first
        raise ValueError(f"a record has format {record.format}, expected {FORMAT}")
    if not record.reaches or record.item < 0:
        raise ValueError("it answers nothing")
    record.evidence()
    return record


def is_tolerance(text: str | bytes) -> bool:
    """Whether a stored text says that it is a tolerance."""
    head = text[:200].encode() if isinstance(text, str) else text[:200]
    return b'"kind":"tolerance"' in head or b'"kind": "tolerance"' in head


def float_map(values: Any) -> Packed:
    """A picture or a map as it is kept beside records: float32."""
    return Packed.of(np.asarray(values), "f4")
