"""What a run of tolerances found, change by change; every interval is one that the records' facts prove."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from attribound.certificates.record import Failure
from attribound.certificates.subject import called
from attribound.rounding import exact_text, lower_quantile
from attribound.runs import remarks
from attribound.runs.config import RunConfig
from attribound.runs.proving import Proved, prove_tolerances
from attribound.runs.store import Store
from attribound.runs.summary import chance_level
from attribound.sanitise import counted
from attribound.tolerances.evidence import Interval
from attribound.tolerances.record import ChangeRecord, ToleranceRecord
from attribound.tolerances.words import interval_text

_NOTES = 5
_ENDS = 100
"""Left ends that are tried, about, where an interval is looked for."""


@final
@dataclass
class ChangeSummary:
    """One change over all inputs.

    Attributes:
        change: the change; None if every input failed.
        inputs: inputs with a record of it that is no failure.
        proofs: inputs by how it is proved.
        reaches: by cosine, the proved intervals; None where not even no change is proved.
        class_reaches: the intervals in which the class stays.
        fidelities: cosines of the maps shown with the plain ones.
        sizes: values are sizes of changes that go either way.
    """

    change: ChangeRecord | None = None
    inputs: int = 0
    proofs: Counter[str] = field(default_factory=Counter)
    reaches: dict[str, list[Interval]] = field(default_factory=dict)
    class_reaches: list[Interval] = field(default_factory=list)
    fidelities: list[float] = field(default_factory=list)
    sizes: bool = False

    def take(self, record: ToleranceRecord) -> None:
        """Count one record."""
        self.change, self.inputs = record.change, self.inputs + 1
        self.proofs[record.proof] += 1
        for key, interval in record.reaches.items():
            self.reaches.setdefault(key, []).append(interval)
        self.class_reaches.append(record.class_reach)
        self.fidelities.append(record.fidelity)
        self.sizes = record.sizes

    def median(self, intervals: Sequence[Interval]) -> Interval:
        """At least half of the inputs are proved as far as this to the left, and half to the right."""
        known = [one for one in intervals if one is not None]
        if self.change is None or 2 * len(known) < len(intervals) + 1:
            return None
        zero, rest = self.change.zero, [self.change.zero] * (len(intervals) - len(known))
        left = -lower_quantile([-end for end in [one[0] for one in known] + rest], 0.5)
        return min(left, zero), max(lower_quantile([one[1] for one in known] + rest, 0.5), zero)

    def shared(self, intervals: Sequence[Interval]) -> Interval:
        """An interval all of which at least half of the inputs are proved for; of those tried, the widest.

        The medians of the two ends may be those of different inputs, so that no input need have both.
        """
        known, need = [one for one in intervals if one is not None], (len(intervals) + 1) // 2
        change = self.change
        if change is None or len(known) < max(need, 1):
            return None
        lefts = sorted(one[0] for one in known)[need - 1 :]
        found = []
        for left in lefts[:: max(len(lefts) // _ENDS, 1)]:
            rights = sorted((one[1] for one in known if one[0] <= left), reverse=True)
            width = _part(left - change.zero, change.low - change.zero)
            found.append(
                (width + _part(rights[need - 1] - change.zero, change.high - change.zero), left, rights[need - 1])
            )
        _, left, right = max(found)
        return left, right

    @property
    def fidelity(self) -> float:
        """The median cosine of the maps shown with the plain ones."""
        return lower_quantile(self.fidelities, 0.5)

    def whole(self, key: str) -> int:
        """How many are proved over all of the range tried."""
        change = self.change
        assert change is not None
        return sum(one is not None and one[0] <= change.low and one[1] >= change.high for one in self.reaches[key])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        change = self.change
        if change is None:
            return {"inputs": 0}
        return {
            "spec": change.spec,
            "unit": change.unit,
            "range": [change.low, change.high],
            "inputs": self.inputs,
            "proofs": dict(self.proofs),
            "median_reach": {key: self.median(known) for key, known in self.reaches.items()},
            "whole_range": {key: self.whole(key) for key in self.reaches},
            "nothing_proved": {key: known.count(None) for key, known in self.reaches.items()},
            "median_class_reach": self.median(self.class_reaches),
            "median_fidelity": self.fidelity,
        }


def _part(end: float, whole: float) -> float:
    """How much of one side of a range lies within an end."""
    return end / whole if whole else 0.0


@final
@dataclass(frozen=True)
class ToleranceSummary:
    """A run of tolerances in numbers.

    Attributes:
        config: what was run.
        changes: by name, in the order asked.
        inputs: inputs with a record.
        records: records in all.
        errors: records that failed.
        messages: the first few messages of failures.
        doubtful: what is wrong with records, by item and change.
        chance: the 90 % quantile of the cosines between plain maps of different inputs; None if too few are stored.
        attacked: claims attacked, claims found false and the inputs they are about; None if none was attacked.
        seconds: work in all.
    """

    config: RunConfig
    changes: dict[str, ChangeSummary]
    inputs: int
    records: int
    errors: int
    messages: list[dict[str, Any]]
    doubtful: dict[str, str]
    chance: float | None
    attacked: dict[str, Any] | None
    seconds: float

    @property
    def broken(self) -> list[int]:
        """Inputs about which an attack found a claim false."""
        return list(self.attacked["items"]) if self.attacked else []

    @property
    def failed(self) -> bool:
        """Whether nothing but failures is there."""
        return self.errors == self.records > 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "config": self.config.to_json(),
            "items": self.inputs,
            "records": self.records,
            "errors": self.errors,
            "messages": self.messages,
            "changes": {name: one.to_json() for name, one in self.changes.items()},
            "doubtful": self.doubtful,
            "chance": self.chance,
            "attacked": self.attacked,
            "seconds": self.seconds,
        }

    def table(self) -> list[list[str]]:
        """A head and a row per change: each end is a median of its own, rounded inward."""
        keys = [exact_text(cosine) for cosine in self.config.cosines]
        rows = [["change", "inputs", *(f"cosine {key}" for key in keys), "class stays", "unit", "tried", "proof"]]
        for name, one in self.changes.items():
            if one.change is None:
                rows.append([name, "0", *[""] * (len(keys) + 4)])
                continue
            reaches = [interval_text(one.median(one.reaches.get(key, []))) for key in keys]
            tried = f"{one.change.low:.4g} to {one.change.high:.4g}"
            known = [interval_text(one.median(one.class_reaches)), one.change.unit, tried, " and ".join(one.proofs)]
            rows.append([name, str(one.inputs), *reaches, *known])
        return rows

    def lines(self, name: str) -> list[str]:
        """The run in words, the table aligned, with everything a reader must know to judge it."""
        config, rows = self.config, self.table()
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        cells = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
        map_words = " ".join((config.attribution, *config.maps))
        return [
            f"{name}: {counted(self.inputs, 'input')}, {counted(self.records, 'record')}, {self.errors} failed",
            f"{config.network} on {config.data}; {map_words}, {config.bound}; {config.samples:,} samples per scanned "
            f"change, alpha {exact_text(config.alpha)} for all that is said about one input, seed {config.seed}",
            "How far inputs may change: at least half of the inputs counted reach each end (not always the same half):",
            "",
            *(f"  {'   '.join(row).rstrip()}" for row in cells),
            "",
            *self.warnings(),
            *(
                [f"attacked {counted(self.attacked['claims'], 'claim')}: {self.attacked['violated']} violated"]
                if self.attacked
                else []
            ),
            *(
                f"{called(one['item'], one['input'])}, {one['change']} failed: {one['message']}"
                for one in self.messages
            ),
        ]

    def warnings(self) -> list[str]:
        """What a reader must know to judge the numbers."""
        found = [remark.text for remark in remarks.violated(len(self.broken), self.broken)]
        found += [
            f"{key}: {doubt}: it counts as proving nothing" for key, doubt in list(self.doubtful.items())[:_NOTES]
        ]
        if any(one.proofs["assumed"] for one in self.changes.values()):
            found.append("The limit is ASSUMED: what is scanned is not a certificate.")
        if self.chance is not None and self.chance >= min(self.config.cosines):
            found.append(
                f"Plain maps of different inputs have cosines up to {self.chance:.2f} with each other: a smaller one "
                "says little here."
            )
        return found


def summarise_tolerances(
    store: Store, look: Callable[[Proved[ToleranceRecord] | Failure], None] = lambda one: None
) -> ToleranceSummary:
    """Read a run's records once; `look` is called with each."""
    config = store.config
    changes = {name: ChangeSummary() for name in config.parts}
    inputs, messages, doubtful = set[int](), list[dict[str, Any]](), dict[str, str]()
    records, errors, seconds = 0, 0, 0.0
    for one in prove_tolerances(store):
        look(one)
        record = one if isinstance(one, Failure) else one.record
        records, seconds = records + 1, seconds + record.seconds
        inputs.add(record.item)
        if isinstance(record, Failure):
            errors += 1
            if len(messages) < _NOTES:
                called_so = {"item": record.item, "input": record.input}
                messages.append({**called_so, "change": record.part, "message": record.message})
            continue
        if isinstance(one, Proved) and one.doubts:
            doubtful[f"{called(record.item, record.subject.input)}, {record.part}"] = "; ".join(one.doubts)
        changes.setdefault(record.part, ChangeSummary()).take(record)
    chance = chance_level(store, name="plain")
    attacked = _attacked(store)
    return ToleranceSummary(
        config, changes, len(inputs), records, errors, messages, doubtful, chance, attacked, seconds
    )


def _attacked(store: Store) -> dict[str, Any] | None:
    """What became of the claims that were attacked."""
    known = [one for found in store.tolerance_findings().values() for one in found]
    broken = [one for one in known if one.violated]
    items = sorted({one.item for one in broken})
    return {"claims": len(known), "violated": len(broken), "items": items} if known else None
