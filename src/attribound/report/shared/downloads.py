"""The records that a page can give away: re-derived numbers only, by column, what is the same everywhere kept once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from attribound.certificates.finding import Finding
from attribound.certificates.record import Failure
from attribound.runs.export import flat, public_record
from attribound.runs.proved import ProvedRecord

MOST_CHARACTERS = 6_000_000
"""Of all downloads together; records beyond that are left to `attribound export`."""

_MEASURED = 200
"""The size of this number of records says how large the others are."""


@final
@dataclass(frozen=True)
class Downloads:
    """Records by column.

    Attributes:
        count: how many records there are.
        shared: values that all records have in common, by flat key.
        columns: the other values by flat key, one per record.
        twins: flat keys whose column is that of another key.
    """

    count: int
    shared: dict[str, Any]
    columns: dict[str, list[Any]]
    twins: dict[str, str]


@final
@dataclass
class DownloadWriter:
    """Takes records one by one until the downloads are large enough."""

    columns: dict[str, list[Any]] = field(default_factory=dict)
    count: int = 0
    size: int = 0

    def add(self, one: ProvedRecord | Failure, findings: Mapping[int, Finding]) -> None:
        """Take one more record; its size counts where it differs from the one before, and is measured now and then."""
        measured = self.count < _MEASURED
        if self.count and self.size / min(self.count, _MEASURED) * self.count > MOST_CHARACTERS:
            return
        record = public_record(one, findings)
        for key, value in flat({key: value for key, value in record.items() if value is not None}).items():
            column = self.columns.setdefault(key, [])
            column += [None] * (self.count - len(column))
            if measured and (not column or column[-1] != value):
                self.size += len(str(value)) + 3
            column.append(value)
        self.count += 1

    def finish(self) -> Downloads:
        """The records by column."""
        for column in self.columns.values():
            column += [None] * (self.count - len(column))
        same = {key for key, column in self.columns.items() if self.count > 1 and all(v == column[0] for v in column)}
        rest = {key: column for key, column in self.columns.items() if key not in same}
        first: dict[str, str] = {}
        for key, column in rest.items():
            first.setdefault(json.dumps(column), key)
        twins = {key: other for key, column in rest.items() if (other := first[json.dumps(column)]) != key}
        columns = {key: column for key, column in rest.items() if key not in twins}
        return Downloads(self.count, {key: self.columns[key][0] for key in self.columns if key in same}, columns, twins)
