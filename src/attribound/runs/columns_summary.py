"""What a run of column tolerances found."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, final

from attribound.certificates.record import Failure
from attribound.certificates.subject import called
from attribound.rounding import lower_quantile, percent, round_down
from attribound.runs.config import RunConfig
from attribound.runs.proving import prove_columns
from attribound.runs.store import Store
from attribound.sanitise import counted
from attribound.tolerances.columns.record import Asked, ColumnsRecord
from attribound.tolerances.columns.words import together

_NOTES = 5


@final
@dataclass
class PlaceSummary:
    """One statement over all rows: that about the first reason, about the second, ...

    Attributes:
        reaches: of all rows; infinite where no change whatever breaks it.
        exact: how many are exact.
    """

    reaches: list[float] = field(default_factory=list)
    exact: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; null: no change whatever."""
        marks = {str(share): lower_quantile(self.reaches, share) for share in (0.1, 0.25, 0.5, 0.75, 0.9)}
        return {
            "rows": len(self.reaches),
            "exact": self.exact,
            "any_change": sum(map(math.isinf, self.reaches)),
            "quantiles": {share: None if math.isinf(mark) else mark for share, mark in marks.items()},
        }


@final
@dataclass(frozen=True)
class ColumnsSummary:
    """A run of column tolerances in numbers.

    Attributes:
        config: what was run.
        places: the statements about a row, in order.
        first: how often each column is the first reason.
        fragile: the rows whose statements break first.
        rows: rows with a record.
        errors: rows that failed.
        messages: the first few messages of failures.
        doubtful: what is wrong with records, by row.
        seconds: work in all.
    """

    config: RunConfig
    places: list[PlaceSummary]
    first: Counter[str]
    fragile: list[ColumnsRecord]
    rows: int
    errors: int
    messages: list[dict[str, Any]]
    doubtful: dict[str, str]
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether nothing but failures is there."""
        return self.errors == self.rows > 0

    @property
    def asked(self) -> Asked:
        """What was asked."""
        return self.config.columns or Asked()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "config": self.config.to_json(),
            "items": self.rows,
            "records": self.rows,
            "errors": self.errors,
            "messages": self.messages,
            "statements": [one.to_json() for one in self.places],
            "first_reasons": dict(self.first.most_common()),
            "fragile": [
                {"item": one.item, "input": one.subject.input, "reach": one.together.reach, "words": _words(one)}
                for one in self.fragile
            ],
            "doubtful": self.doubtful,
            "seconds": self.seconds,
        }

    def lines(self, name: str) -> list[str]:
        """The run in words."""
        config, asked = self.config, self.asked
        fixed = f"; these do not move: {', '.join(asked.fixed)}" if asked.fixed else ""
        found = [
            f"{name}: {counted(self.rows, 'row')}, {self.errors} failed",
            f"{config.model} on {config.data}; treeshap; keep {asked.keep}; size {asked.size}, in {asked.unit}{fixed}",
            f"One unit: {asked.source}.",
            "Exact, alpha 0: every cell of the forest was accounted for, about the plain SHAP values.",
            "",
            *(self._place(number, one) for number, one in enumerate(self.places)),
        ]
        reasons = ", ".join(f"{column} ({count})" for column, count in self.first.most_common(_NOTES))
        found += [f"First reasons: {reasons}."] if reasons else []
        found += ["The rows that break first:"] if self.fragile else []
        found += [f"  {called(one.item, one.subject.input)}: {_words(one)}" for one in self.fragile]
        found += [
            f"row {key}: {doubt}: it counts as proving nothing" for key, doubt in [*self.doubtful.items()][:_NOTES]
        ]
        return found + [f"{called(one['item'], one['input'])} failed: {one['message']}" for one in self.messages]

    def _place(self, number: int, one: PlaceSummary) -> str:
        what = "The statement" if len(self.places) == 1 else f"Reason {number + 1}"
        count = len(one.reaches)
        unbroken = sum(map(math.isinf, one.reaches))
        median = lower_quantile(one.reaches, 0.5)
        far = "under any change" if math.isinf(median) else f"up to {round_down(median, 4)} {self.asked.unit}"
        return (
            f"{what} holds {far} for at least half of {count} rows; under any change of these columns for {unbroken} "
            f"of {count}; exact for {one.exact} of {count} ({percent(one.exact / count)})."
        )


def _words(record: ColumnsRecord) -> str:
    part = record.together
    return f"{part.words}: {together(record, part)}"


def summarise_columns(store: Store) -> ColumnsSummary:
    """Read a run's records once."""
    places, first = list[PlaceSummary](), Counter[str]()
    fragile, messages, doubtful = list[ColumnsRecord](), list[dict[str, Any]](), dict[str, str]()
    rows, errors, seconds = 0, 0, 0.0
    for one in prove_columns(store):
        record = one if isinstance(one, Failure) else one.record
        rows, seconds = rows + 1, seconds + record.seconds
        if isinstance(one, Failure):
            errors += 1
            named = {"item": one.item, "input": one.input, "message": one.message}
            messages += [named] if len(messages) < _NOTES else []
            continue
        if one.doubts:
            doubtful[str(one.record.item)] = "; ".join(one.doubts)
        _take(places, one.record)
        first[one.record.reasons[0]] += 1
        fragile = sorted([*fragile, one.record], key=lambda known: known.together.size)[:_NOTES]
    return ColumnsSummary(store.config, places, first, fragile, rows, errors, messages, doubtful, seconds)


def _take(places: list[PlaceSummary], record: ColumnsRecord) -> None:
    """Count one record."""
    for number, part in enumerate(record.parts):
        if number == len(places):
            places.append(PlaceSummary())
        places[number].reaches.append(part.size)
        places[number].exact += part.exact
