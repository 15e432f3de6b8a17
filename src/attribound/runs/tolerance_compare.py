"""Two runs of tolerances over the same inputs: whose proved reach shrank?"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from attribound.errors import StoredDataError
from attribound.runs.compared import DOUBTFUL, TOLERANCE, ComparedRuns, PairedRecords, names_of, proved_pairs
from attribound.runs.proving import Proved, prove_tolerances
from attribound.runs.store import Store
from attribound.tolerances.evidence import Interval
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.words import interval_text


@final
@dataclass(frozen=True, kw_only=True)
class ReachPair(PairedRecords):
    """One change of one input in both runs, at one cosine; it shrank if either end came nearer.

    Attributes:
        change: the change's name.
        unit: its unit.
        cosine: what was asked.
        reaches: the proved intervals.
        tried: the left end of the range tried in the first run, no change, and the right end.
        broken: a change that the first run proved harmless breaks the cosine in the second.
        doubtful: one of the records is doubtful, and counts as proving nothing.
    """

    change: str
    unit: str
    cosine: str
    reaches: tuple[Interval, Interval]
    tried: tuple[float, float, float]
    broken: bool
    doubtful: bool = False

    @property
    def shown(self) -> tuple[str, str]:
        """The proved intervals before and after, rounded inward."""
        before, after = map(interval_text, self.reaches)
        return before, after

    @property
    def note(self) -> str:
        """What else is to be known."""
        if self.doubtful:
            return DOUBTFUL
        return "a change that was proved harmless breaks it now" if self.broken else ""

    @property
    def line(self) -> str:
        """In words."""
        before, after = self.shown
        found = f"; {self.note}" if self.note else ""
        where = f"item {self.number}, {self.change} at {self.cosine}"
        return f"{where}: {before} -> {after} {self.unit}{found}"


@final
@dataclass(frozen=True, kw_only=True)
class ReachComparison(ComparedRuns[ReachPair]):
    """Two runs, change by change."""

    verdicts = ("shrank", "same", "grew")

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        counts = self.counts
        found = [
            f"{len(self.pairs)} proved reaches are in both runs: {counts['shrank']} shrank, {counts['same']} are the "
            f"same, {counts['grew']} grew, from {self.names[0]} to {self.names[1]}.",
            "A reach is what is proved: where draws differ, a scanned reach may shrink though nothing changed.",
        ]
        if broken := sum(pair.broken for pair in self.pairs):
            found.append(f"For {broken} a change that was proved harmless breaks the explanation now.")
        return [*found, f"Different between the runs: {self.differences}."]

    @property
    def ordered(self) -> list[ReachPair]:
        """What breaks now comes first, then what shrank, then what grew."""
        order = ("shrank", "grew", "same")
        return sorted(self.pairs, key=lambda pair: (not pair.broken, order.index(pair.verdict)))

    @property
    def lines(self) -> list[str]:
        """Whose reach shrank, those that break now first."""
        return [pair.line for pair in self.ordered if pair.verdict == "shrank"]


def compare_tolerances(first: Path, second: Path) -> ReachComparison:
    """Match records by the hash of their input and their change."""
    with Store.read_any(first) as store, Store.read_any(second) as other:
        configs = store.config, other.config
        both = proved_pairs((store, other), prove_tolerances, lambda record: (record.input_sha256, record.change.spec))
        pairs = [pair for before, after in both for pair in _pairs(before, after)]
    if not pairs:
        raise StoredDataError(f"{first} and {second} have no input and change in common")
    return ReachComparison(names=names_of(first, second), configs=configs, pairs=pairs)


def _pairs(one: Proved[ToleranceRecord], match: Proved[ToleranceRecord]) -> Iterator[ReachPair]:
    """One pair for each cosine that both runs asked for."""
    before, after = one.record, match.record
    change = before.change
    for key, reach in before.reaches.items():
        if key not in after.reaches:
            continue
        broken = after.breaks[key]
        yield ReachPair(
            items=(before.item, after.item),
            verdict=_verdict(reach, after.reaches[key]),
            input=before.subject.input,
            change=before.part,
            unit=change.unit,
            cosine=key,
            reaches=(reach, after.reaches[key]),
            tried=(change.low, change.zero, change.high),
            broken=broken is not None and reach is not None and reach[0] <= broken.value <= reach[1],
            doubtful=bool(one.doubts or match.doubts),
        )


def _verdict(before: Interval, after: Interval) -> str:
    if before is None or after is None:
        return "same" if before == after else "grew" if before is None else "shrank"
    if after[0] > before[0] + TOLERANCE or after[1] < before[1] - TOLERANCE:
        return "shrank"
    return "grew" if after[0] < before[0] - TOLERANCE or after[1] > before[1] + TOLERANCE else "same"
