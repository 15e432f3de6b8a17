"""Two runs of column tolerances over the same rows: whose first reason changed, whose tolerance shrank?"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import final

from attribound.errors import StoredDataError
from attribound.runs.compared import DOUBTFUL, TOLERANCE, ComparedRuns, PairedRecords, names_of, proved_pairs
from attribound.runs.proving import Proved, prove_columns
from attribound.runs.store import Store
from attribound.tolerances.columns.record import ColumnsRecord
from attribound.tolerances.columns.words import size_text

OTHER = "other reason"
"""The verdict on a row whose first reason changed."""
_ORDER = (OTHER, "shrank", "grew", "same")


@final
@dataclass(frozen=True, kw_only=True)
class RowPair(PairedRecords):
    """One row in both runs; where reaches are about different reasons, that is the verdict.

    Attributes:
        reasons: the column that is the first reason in each,
        titles: and what people call it.
        classes: the class in each,
        answers: and its name.
        sizes: how far what is kept holds in each; None: under any change,
        reaches: and in words.
        doubtful: one of the records is doubtful, and counts as proving nothing.
    """

    reasons: tuple[str, str]
    titles: tuple[str, str]
    classes: tuple[int | None, int | None]
    answers: tuple[str, str]
    sizes: tuple[float | None, float | None]
    reaches: tuple[str, str]
    doubtful: bool = False

    @property
    def note(self) -> str:
        """What else is to be known."""
        return DOUBTFUL if self.doubtful else ""

    @property
    def line(self) -> str:
        """In words."""
        turned = f"answer {' -> '.join(self.answers)}, " if self.answers[0] != self.answers[1] else ""
        moved = f"first reason {' -> '.join(self.titles)}, " if self.verdict == OTHER else ""
        held = f"row {self.number}: {turned}{moved}holds up to {' -> '.join(self.reaches)}"
        return f"{held}; {self.note}" if self.note else held


@final
@dataclass(frozen=True, kw_only=True)
class ColumnsComparison(ComparedRuns[RowPair]):
    """Two runs, row by row."""

    verdicts = (OTHER, "shrank", "same", "grew")

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


def compare_columns(first: Path, second: Path) -> ColumnsComparison:
    """Match rows by their names and cells."""
    with Store.read_any(first) as store, Store.read_any(second) as other:
        configs = store.config, other.config
        for name in ("keep", "size", "units"):
            before, after = (getattr(config.columns, name) for config in configs)
            if before != after:
                raise StoredDataError(f"expected two runs with the same {name}, got {before} and {after}")
        if len({config.columns is not None and config.columns.scale == "percent" for config in configs}) > 1:
            raise StoredDataError("expected two runs with the same units: in one they are per cent of the row's values")
        both = proved_pairs((store, other), prove_columns, lambda record: (*record.names, *record.row))
        pairs = [_pair(before, after) for before, after in both]
    if not pairs:
        raise StoredDataError(f"{first} and {second} have no row in common")
    return ColumnsComparison(names=names_of(first, second), configs=configs, pairs=pairs)


def _pair(one: Proved[ColumnsRecord], match: Proved[ColumnsRecord]) -> RowPair:
    before, after = one.record, match.record
    first, second = before.together.size, after.together.size
    if before.reasons[0] != after.reasons[0]:
        verdict = OTHER
    elif second < first * (1 - TOLERANCE):
        verdict = "shrank"
    else:
        verdict = "grew" if first < second * (1 - TOLERANCE) else "same"
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
