"""Two runs of column tolerances over the same rows: whose first reason changed, whose tolerance shrank?"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound.certificates.subject import paired
from attribound.errors import StoredDataError
from attribound.runs.columns_proved import ProvedColumns, prove_columns
from attribound.runs.config import RunConfig
from attribound.runs.store import Store
from attribound.tolerances.columns.record import ColumnsRecord
from attribound.tolerances.columns.words import size_text

OTHER = "other reason"
"""The verdict on a row whose first reason changed."""
_ORDER = (OTHER, "shrank", "grew", "same")
_TOLERANCE = 1e-9
_Key = tuple[object, ...]


@final
@dataclass(frozen=True)
class RowPair:
    """One row in both runs.

    Attributes:
        items: its number in each run.
        reasons: the column that is the first reason in each,
        titles: and what people call it.
        classes: the class in each,
        answers: and its name.
        sizes: how far what is kept holds in each; None: under any change,
        reaches: and in words.
        verdict: "shrank", "same" or "grew"; "other reason" where reaches are about different reasons.
        input: what people call the row; empty if it has no name.
        doubtful: one of the records is doubtful, and counts as proving nothing.
    """

    items: tuple[int, int]
    reasons: tuple[str, str]
    titles: tuple[str, str]
    classes: tuple[int | None, int | None]
    answers: tuple[str, str]
    sizes: tuple[float | None, float | None]
    reaches: tuple[str, str]
    verdict: str
    input: str = ""
    doubtful: bool = False

    @property
    def number(self) -> str:
        """The row's number, or its two, and its name if it has one."""
        return paired(self.items, self.input)

    @property
    def note(self) -> str:
        """What else is to be known."""
        return "a record is doubtful and counts as proving nothing" if self.doubtful else ""

    @property
    def line(self) -> str:
        """In words."""
        turned = f"answer {' -> '.join(self.answers)}, " if self.answers[0] != self.answers[1] else ""
        moved = f"first reason {' -> '.join(self.titles)}, " if self.verdict == OTHER else ""
        held = f"row {self.number}: {turned}{moved}holds up to {' -> '.join(self.reaches)}"
        return f"{held}; {self.note}" if self.note else held


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
        return {verdict: counts[verdict] for verdict in (OTHER, "shrank", "same", "grew")}

    @property
    def sentences(self) -> list[str]:
        """What was found, in words."""
        counts, classes = self.counts, sum(pair.classes[0] != pair.classes[1] for pair in self.pairs)
        return [
            f"{len(self.pairs)} rows are in both runs: the first reason changed for {counts[OTHER]}; of the "
            f"others the tolerance shrank for {counts['shrank']}, is the same for {counts['same']} and grew for "
            f"{counts['grew']}, from {self.names[0]} to {self.names[1]}.",
            f"The class changed for {classes}.",
            f"Different between the runs: {self.differences}.",
        ]

    @property
    def differences(self) -> str:
        """What the runs do differently."""
        return self.configs[0].difference(self.configs[1]) or "nothing that their configurations name"

    @property
    def ordered(self) -> list[RowPair]:
        """Changed first reasons come first, then tolerances that shrank; among them the most fragile rows."""

        def key(pair: RowPair) -> tuple[int, float]:
            after = pair.sizes[1]
            return _ORDER.index(pair.verdict), math.inf if after is None else after

        return sorted(self.pairs, key=key)

    @property
    def lines(self) -> list[str]:
        """Rows whose first reason changed or whose tolerance shrank, in this order."""
        return [pair.line for pair in self.ordered if pair.verdict in (OTHER, "shrank")]

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
        later = {_key(one.record): one for one in _proved(other)}
        pairs = [_pair(one, match) for one in _proved(store) if (match := later.get(_key(one.record)))]
    if not pairs:
        raise StoredDataError(f"{first} and {second} have no row in common")
    names = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    return ColumnsComparison(names, configs, pairs)


def _proved(store: Store) -> list[ProvedColumns]:
    return [one for one in prove_columns(store.columns(), store.config) if isinstance(one, ProvedColumns)]


def _key(record: ColumnsRecord) -> _Key:
    return (*record.names, *record.row)


def _pair(one: ProvedColumns, match: ProvedColumns) -> RowPair:
    before, after = one.record, match.record
    first, second = before.together.size, after.together.size
    if before.reasons[0] != after.reasons[0]:
        verdict = OTHER
    elif second < first * (1 - _TOLERANCE):
        verdict = "shrank"
    else:
        verdict = "grew" if first < second * (1 - _TOLERANCE) else "same"
    return RowPair(
        items=(before.item, after.item),
        reasons=(before.reasons[0], after.reasons[0]),
        titles=(_title(before), _title(after)),
        classes=(before.prediction, after.prediction),
        answers=(_answer(before), _answer(after)),
        sizes=(before.together.reach, after.together.reach),
        reaches=(_reach(before), _reach(after)),
        verdict=verdict,
        input=before.subject.input,
        doubtful=bool(one.doubts or match.doubts),
    )


def _reach(record: ColumnsRecord) -> str:
    part = record.together
    least = "" if part.exact or part.reach is None else "at least "
    return least + size_text(record, part)


def _title(record: ColumnsRecord) -> str:
    """The first reason, as people call it."""
    name = record.reasons[0]
    return (record.asked.called[name].title if name in record.asked.called else "") or name


def _answer(record: ColumnsRecord) -> str:
    """The class by its name."""
    number, names = record.prediction, record.asked.classes
    return "" if number is None else names[number] if 0 <= number < len(names) else f"class {number}"
