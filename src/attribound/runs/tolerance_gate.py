"""The gate for tolerances: is a change proved far enough for enough inputs?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from attribound import checks as check
from attribound.certificates.record import Failure
from attribound.errors import ArgumentError, StoredDataError
from attribound.rounding import exact_text
from attribound.runs.gate import Demand
from attribound.runs.proving import Proved, prove_tolerances
from attribound.runs.store import Store
from attribound.suggest import closest, did_you_mean
from attribound.tolerances.record import ChangeRecord, ToleranceRecord
from attribound.tolerances.words import interval_text


@final
@dataclass(frozen=True, kw_only=True)
class AskedReach(Demand[Proved[ToleranceRecord]]):
    """What a gate asks of tolerances: a cosine under every change up to a reach.

    Attributes:
        change: the change's name.
        reach: explanations must hold for every change up to this, either way, in its unit.
    """

    cosine: float
    change: str
    reach: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check.positive("reach", self.reach)

    @property
    def words(self) -> str:
        """In words."""
        return f"cosine {exact_text(self.cosine)} under {self.change} up to {exact_text(self.reach)}"

    def fitted(self, store: Store) -> "AskedReach":
        """As it is."""
        path, config = store.path, store.config
        if config.kind != "tolerance":
            raise StoredDataError(f"{path} is a run of certificates: expected --epsilon, not --change and --reach")
        if self.change not in config.parts:
            meant = did_you_mean(closest(self.change, config.parts))
            raise ArgumentError(f"expected --change one of {', '.join(config.parts)}, got {self.change!r}{meant}")
        if self.cosine > max(config.cosines):
            known = ", ".join(map(exact_text, config.cosines))
            raise ArgumentError(f"expected --cosine at most one that the run asked for ({known}), got {self.cosine:g}")
        return self

    def proved(self, store: Store) -> Iterator[Proved[ToleranceRecord] | Failure]:
        """The records of the change."""
        for one in prove_tolerances(store):
            if (one if isinstance(one, Failure) else one.record).part == self.change:
                yield one

    def short_of(self, one: Proved[ToleranceRecord]) -> str:
        """The interval that is proved instead."""
        record, change = one.record, one.record.change
        reached, wanted = record.reach(self.cosine), wanted_interval(change, self.reach)
        if not change.low <= wanted[0] <= wanted[1] <= change.high:  # a quality above the best asks for nothing
            tried = f"{change.low:g} to {change.high:g} {change.unit}"
            raise ArgumentError(f"expected --reach within the range that was tried ({tried}), got {self.reach:g}")
        if reached is not None and reached[0] <= wanted[0] and wanted[1] <= reached[1]:
            return ""
        known = f"only {interval_text(reached)} {change.unit} is" if reached else "nothing is"
        return f"{known} proved at cosine {exact_text(self.cosine)}, asked for: {interval_text(wanted)}"

    def violated(self, store: Store) -> dict[int, str]:
        """Inputs about which an attack found a claim false, whatever the change: then nothing follows from the rest."""
        broken = (one for found in store.tolerance_findings().values() for one in found if one.violated)
        return {one.item: f"an attack broke what is proved about {one.change}, at {one.words}" for one in broken}


def wanted_interval(change: ChangeRecord, reach: float) -> tuple[float, float]:
    """What a reach asks for, in the change's unit: both ways, where the change goes both ways.

    A change with one side is asked up to the reach (jpeg: down to this quality); factors from 1 / reach to reach.
    """
    if change.high == change.zero:
        return reach, change.zero
    if change.low == change.zero:
        return change.zero, reach
    if change.zero > 0:
        factor = max(reach, 1 / reach)
        return 1 / factor, factor
    return -reach, reach
