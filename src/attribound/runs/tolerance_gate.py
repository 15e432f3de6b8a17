"""The gate for tolerances: is a change proved far enough for enough inputs?"""

from dataclasses import dataclass
from pathlib import Path
from typing import final

from attribound import checks as check
from attribound.certificates.explain import FIDELITY, unfaithful
from attribound.certificates.record import Failure
from attribound.errors import ArgumentError, StoredDataError
from attribound.rounding import exact_text
from attribound.runs.config import RunConfig
from attribound.runs.gate import Confident, Gate, GatedInput, Judging
from attribound.runs.store import Store
from attribound.runs.tolerance_proved import ProvedTolerance, prove_tolerances
from attribound.suggest import closest, did_you_mean
from attribound.tolerances.evidence import Interval
from attribound.tolerances.record import ChangeRecord
from attribound.tolerances.words import interval_text


@final
@dataclass(frozen=True)
class AskedReach(Confident):
    """What a gate asks of tolerances.

    Attributes:
        change: the change's name.
        reach: explanations must hold for every change up to this, either way, in its unit.
        cosine: the cosine that they must keep.
        share: the share of all inputs of which this must be proved.
        confidence: probability with which what is said about the share holds.
        population: whether the share that is *proved* for the population must reach `share`.
        fidelity: the least cosine of the map shown and the plain map; inputs below it do not count.
    """

    change: str
    reach: float
    cosine: float
    share: float
    confidence: float = 0.95
    population: bool = False
    fidelity: float = FIDELITY

    def __post_init__(self) -> None:
        super().__post_init__()
        check.positive("reach", self.reach)

    @property
    def words(self) -> str:
        """In words."""
        return f"cosine {exact_text(self.cosine)} under {self.change} up to {exact_text(self.reach)}"


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


def judge_tolerances(path: Path, asked: AskedReach) -> Gate:
    """Ask of every input of a run whether a change is proved far enough; what is doubtful in any way is not."""
    with Store.read_any(path) as store:
        _check_asked(path, store.config, asked)
        judging = Judging(alpha=0.0)
        for one in prove_tolerances(store.tolerances(), store.config):
            record = one if isinstance(one, Failure) else one.record
            if record.part == asked.change:
                judging.take(_case(one, asked), record)
        return judging.gate(store, asked, maps="plain")


def _check_asked(path: Path, config: RunConfig, asked: AskedReach) -> None:
    if config.kind != "tolerance":
        raise StoredDataError(f"{path} is a run of certificates: expected --epsilon, not --change and --reach")
    if asked.change not in config.parts:
        meant = did_you_mean(closest(asked.change, config.parts))
        raise ArgumentError(f"expected --change one of {', '.join(config.parts)}, got {asked.change!r}{meant}")
    if asked.cosine > max(config.cosines):
        known = ", ".join(map(exact_text, config.cosines))
        raise ArgumentError(f"expected --cosine at most one that the run asked for ({known}), got {asked.cosine:g}")


def _case(one: ProvedTolerance | Failure, asked: AskedReach) -> GatedInput:
    if isinstance(one, Failure):
        return GatedInput(one.item, "error", one.message, one.seconds)
    record = one.record
    reached, wanted = record.reach(asked.cosine), wanted_interval(record.change, asked.reach)
    if wanted[0] < record.change.low or wanted[1] > record.change.high:
        tried = f"{record.change.low:g} to {record.change.high:g} {record.change.unit}"
        raise ArgumentError(f"expected --reach within the range that was tried ({tried}), got {asked.reach:g}")
    if one.doubts:
        return GatedInput(record.item, "doubtful", "; ".join(one.doubts), record.seconds)
    if not _covers(reached, wanted):
        known = f"only {interval_text(reached)} {record.change.unit} is" if reached else "nothing is"
        reason = f"{known} proved at cosine {exact_text(asked.cosine)}, asked for: {interval_text(wanted)}"
        return GatedInput(record.item, "uncertified", reason, record.seconds)
    if record.proof == "assumed":
        return GatedInput(record.item, "assumed", "the limit is ASSUMED: this is not a certificate", record.seconds)
    if warning := unfaithful(record.fidelity, asked.fidelity):
        return GatedInput(record.item, "unfaithful", warning, record.seconds)
    return GatedInput(record.item, "certified", "", record.seconds)


def _covers(reached: Interval, wanted: tuple[float, float]) -> bool:
    return reached is not None and reached[0] <= wanted[0] and wanted[1] <= reached[1]
