"""Two runs of tolerances over the same inputs: whose proved reach shrank?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound.certificates.subject import paired
from attribound.errors import StoredDataError
from attribound.rounding import exact_text
from attribound.runs.config import RunConfig
from attribound.runs.store import Store
from attribound.runs.tolerance_proved import ProvedTolerance, prove_tolerances
from attribound.tolerances.evidence import Interval
from attribound.tolerances.words import interval_text

_TOLERANCE = 1e-9


@final
@dataclass(frozen=True)
class ReachPair:
    """One change of one input in both runs, at one cosine.

    Attributes:
        items: its number in each run.
        change: the change's name.
        unit: its unit.
        cosine: what was asked.
        reaches: the proved intervals.
        tried: the left end of the range tried in the first run, no change, and the right end.
        verdict: "shrank" if either end came nearer, else "grew" or "same".
        broken: a change that the first run proved harmless breaks the cosine in the second.
        input: what people call the input.
        doubtful: one of the records is doubtful, and counts as proving nothing.
    """

    items: tuple[int, int]
    change: str
    unit: str
    cosine: str
    reaches: tuple[Interval, Interval]
    tried: tuple[float, float, float]
    verdict: str
    broken: bool
    input: str = ""
    doubtful: bool = False

    @property
    def number(self) -> str:
        """The input's number, or its two, and its name if it has one."""
        return paired(self.items, self.input)

    @property
    def shown(self) -> tuple[str, str]:
        """The proved intervals before and after, rounded inward."""
        before, after = map(interval_text, self.reaches)
        return before, after

    @property
    def note(self) -> str:
        """What else is to be known."""
        if self.doubtful:
            return "a record is doubtful and counts as proving nothing"
        return "a change that was proved harmless breaks it now" if self.broken else ""

    @property
    def line(self) -> str:
        """In words."""
        before, after = self.shown
        found = f"; {self.note}" if self.note else ""
        where = f"item {self.number}, {self.change} at {self.cosine}"
        return f"{where}: {before} -> {after} {self.unit}{found}"


@final
@dataclass(frozen=True)
class ReachComparison:
    """Two runs, change by change.

    Attributes:
        names: the runs.
        configs: what was run.
        pairs: what both runs have a record of.
    """

    names: tuple[str, str]
    configs: tuple[RunConfig, RunConfig]
    pairs: Sequence[ReachPair]

    @property
    def counts(self) -> dict[str, int]:
        """Pairs by verdict."""
        counts = Counter(pair.verdict for pair in self.pairs)
        return {verdict: counts[verdict] for verdict in ("shrank", "same", "grew")}

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
    def differences(self) -> str:
        """What the runs do differently."""
        return self.configs[0].difference(self.configs[1]) or "nothing that their configurations name"

    @property
    def ordered(self) -> list[ReachPair]:
        """What breaks now comes first, then what shrank, then what grew."""
        order = ("shrank", "grew", "same")
        return sorted(self.pairs, key=lambda pair: (not pair.broken, order.index(pair.verdict)))

    @property
    def lines(self) -> list[str]:
        """Whose reach shrank, those that break now first."""
        return [pair.line for pair in self.ordered if pair.verdict == "shrank"]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "runs": list(self.names),
            "counts": self.counts,
            "differences": self.differences,
            "sentences": self.sentences,
            "pairs": [dict(vars(pair)) for pair in self.pairs],
        }


def compare_tolerances(first: Path, second: Path) -> ReachComparison:
    """Match records by the hash of their input and their change."""
    with Store.read_any(first) as store, Store.read_any(second) as other:
        configs = store.config, other.config
        later = {
            (one.record.input_sha256, one.record.change.spec): one
            for one in prove_tolerances(other.tolerances(), configs[1])
            if isinstance(one, ProvedTolerance)
        }
        pairs: list[ReachPair] = []
        for one in prove_tolerances(store.tolerances(), configs[0]):
            if isinstance(one, ProvedTolerance):
                match = later.pop((one.record.input_sha256, one.record.change.spec), None)
                pairs += [] if match is None else _pairs(one, match)
    if not pairs:
        raise StoredDataError(f"{first} and {second} have no input and change in common")
    names = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    return ReachComparison(names, configs, pairs)


def _pairs(one: ProvedTolerance, match: ProvedTolerance) -> list[ReachPair]:
    before, after = one.record, match.record
    pairs = []
    for cosine in before.cosines:
        key = exact_text(cosine)
        if key not in after.reaches:
            continue
        reaches, broken = (before.reaches[key], after.reaches[key]), after.breaks[key]
        inside = broken is not None and reaches[0] is not None and reaches[0][0] <= broken.value <= reaches[0][1]
        items, change, name = (before.item, after.item), before.change, before.subject.input
        tried, verdict = (change.low, change.zero, change.high), _verdict(*reaches)
        doubtful = bool(one.doubts or match.doubts)
        pair = ReachPair(items, before.part, change.unit, key, reaches, tried, verdict, inside, name, doubtful)
        pairs.append(pair)
    return pairs


def _verdict(before: Interval, after: Interval) -> str:
    if before is None or after is None:
        return "same" if before == after else "grew" if before is None else "shrank"
    if after[0] > before[0] + _TOLERANCE or after[1] < before[1] - _TOLERANCE:
        return "shrank"
    return "grew" if after[0] < before[0] - _TOLERANCE or after[1] > before[1] + _TOLERANCE else "same"
