"""Two runs of column tolerances over the same rows: whose first reason changed, whose tolerance shrank?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound.errors import StoredDataError
from attribound.runs.columns_proved import ProvedColumns, prove_columns
from attribound.runs.config import RunConfig
from attribound.runs.store import Store
from attribound.tolerances.columns.record import ColumnsRecord
from attribound.tolerances.columns.words import size_text

_TOLERANCE = 1e-9
_Key = tuple[object, ...]


@final
@dataclass(frozen=True)
class RowPair:
    """One row in both runs.

    Attributes:
        items: its number in each run.
        reasons: the first reason in each.
        classes: the class in each.
        reaches: how far what is kept holds in each, in words.
        verdict: "shrank", "same" or "grew"; "other reason" where reaches are about different reasons.
    """

    items: tuple[int, int]
    reasons: tuple[str, str]
    classes: tuple[int | None, int | None]
    reaches: tuple[str, str]
    verdict: str

    @property
    def line(self) -> str:
        """In words."""
        number = str(self.items[0]) if self.items[0] == self.items[1] else f"{self.items[0]} / {self.items[1]}"
        turned = f"class {self.classes[0]} -> {self.classes[1]}, " if self.classes[0] != self.classes[1] else ""
        moved = f"first reason {self.reasons[0]} -> {self.reasons[1]}, " if self.reasons[0] != self.reasons[1] else ""
        return f"row {number}: {turned}{moved}holds up to {self.reaches[0]} -> {self.reaches[1]}"


@final
@dataclass(frozen=True)
class ColumnsComparison:
    """Two runs, row by row.

    Attributes:
        names: the runs.
        configs: what was run.
        pairs: rows that both runs have a record of.
    """

    names: tuple[str, str]
    configs: tuple[RunConfig, RunConfig]
    pairs: Sequence[RowPair]

    @property
    def counts(self) -> dict[str, int]:
        """Rows by verdict."""
        counts = Counter(pair.verdict for pair in self.pairs)
        return {verdict: counts[verdict] for verdict in ("other reason", "shrank", "same", "grew")}

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        counts, classes = self.counts, sum(pair.classes[0] != pair.classes[1] for pair in self.pairs)
        difference = self.configs[0].difference(self.configs[1]) or "nothing that their configurations name"
        return [
            f"{len(self.pairs)} rows are in both runs: the first reason changed for {counts['other reason']}; of the "
            f"others the tolerance shrank for {counts['shrank']}, is the same for {counts['same']} and grew for "
            f"{counts['grew']}, from {self.names[0]} to {self.names[1]}.",
            f"The class changed for {classes}.",
            f"Different between the runs: {difference}.",
        ]

    @property
    def lines(self) -> list[str]:
        """Rows whose first reason changed or whose tolerance shrank, in this order."""
        order = ("other reason", "shrank")
        chosen = sorted(
            (pair for pair in self.pairs if pair.verdict in order), key=lambda one: order.index(one.verdict)
        )
        return [pair.line for pair in chosen]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        pairs = [dict(vars(pair)) for pair in self.pairs]
        return {"runs": list(self.names), "counts": self.counts, "sentences": self.sentences, "pairs": pairs}


def compare_columns(first: Path, second: Path) -> ColumnsComparison:
    """Match rows by their names and cells."""
    with Store.read_any(first) as store, Store.read_any(second) as other:
        configs = store.config, other.config
        for name in ("keep", "size", "units"):
            before, after = (getattr(config.columns, name) for config in configs)
            if before != after:
                raise StoredDataError(f"expected two runs with the same {name}, got {before} and {after}")
        later = {_key(one.record): one.record for one in _proved(other)}
        pairs = [_pair(one.record, match) for one in _proved(store) if (match := later.get(_key(one.record)))]
    if not pairs:
        raise StoredDataError(f"{first} and {second} have no row in common")
    names = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    return ColumnsComparison(names, configs, pairs)


def _proved(store: Store) -> list[ProvedColumns]:
    return [one for one in prove_columns(store.columns(), store.config) if isinstance(one, ProvedColumns)]


def _key(record: ColumnsRecord) -> _Key:
    return (*record.names, *record.row)


def _pair(before: ColumnsRecord, after: ColumnsRecord) -> RowPair:
    reasons = before.reasons[0], after.reasons[0]
    sizes = before.together.size, after.together.size
    if reasons[0] != reasons[1]:
        verdict = "other reason"
    elif sizes[1] < sizes[0] * (1 - _TOLERANCE):
        verdict = "shrank"
    else:
        verdict = "grew" if sizes[0] < sizes[1] * (1 - _TOLERANCE) else "same"
    reaches = size_text(before, before.together), size_text(after, after.together)
    classes = before.prediction, after.prediction
    return RowPair((before.item, after.item), reasons, classes, reaches, verdict)
