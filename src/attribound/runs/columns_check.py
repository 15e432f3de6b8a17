"""Check records of column tolerances against themselves, their run and its table, and search again."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import final

import numpy as np

from attribound.certificates.record import Failure
from attribound.certification.again import Again
from attribound.data import Arrays, Dataset
from attribound.errors import AttriboundError
from attribound.forests import TreeShap
from attribound.runs.check import Checking, RunCheck, repeated
from attribound.runs.columns_setup import fully_asked
from attribound.runs.job import cells_of
from attribound.runs.proving import prove_columns
from attribound.tolerances.columns.again import search_again
from attribound.tolerances.columns.asker import row_hash
from attribound.tolerances.columns.record import PART, Asked, ColumnsRecord

_ROUNDING = 1e-9
"""Standard deviations on another machine."""


@final
class CheckedColumns(Checking):
    """Derives every record anew, without searching."""

    @cached_property
    def _opened(self) -> tuple[TreeShap, Dataset]:
        config = self.store.config
        return self.opener.table(config.subject, cells_of(config))

    def all(self, found: RunCheck) -> list[tuple[int, str]]:
        """Each row is a record."""
        fine, inputs = list[tuple[int, str]](), defaultdict[str, list[int]](list)
        if self.look:
            found.whole += self._asked()
        for one in prove_columns(self.store):
            found.records += 1
            if isinstance(one, Failure):
                continue
            inputs[one.record.input_sha256].append(one.record.item)
            found.doubt(one.record.item, one.doubts)
            if self.look:
                found.doubt(one.record.item, _about_data(one.record, self._opened[1]))
            if one.record.item not in found.problems:
                fine.append((one.record.item, PART))
        found.remarks += repeated(inputs.values(), self.data)
        return fine

    def _asked(self) -> list[str]:
        """Where what the run asks is not what its table and forest give: units, words, titles."""
        shap, data = self._opened
        asked = self.store.config.columns
        if asked is None or not isinstance(data, Arrays):
            return ["is not about a table"]
        try:
            again = fully_asked(asked, data, shap)
        except AttriboundError as error:
            return [f"its units cannot be found again: {error}"]
        # The words for units name the table, which may be another file of the same rows.
        names = [name for name in Asked.__struct_fields__ if name not in ("units", "source" * self.opener.names_data)]
        found = [name for name in names if getattr(asked, name) != getattr(again, name)]
        same = len(asked.units) == len(again.units) and np.allclose(asked.units, again.units, rtol=_ROUNDING, atol=0)
        return [f"asks with other {name} than {data.name} gives" for name in (*found, *(["units"] * (not same)))]

    def again(self, item: int, part: str) -> Again:
        """Search again."""
        record = self.store.record(item, part)
        assert isinstance(record, ColumnsRecord)
        return Again(search_again(record, self._opened[0]), [])


def _about_data(record: ColumnsRecord, data: Dataset) -> Iterator[str]:
    try:
        row = data.row(record.item)
    except (AttriboundError, IndexError):
        yield f"{data.name} has no row {record.item} that can be read"
        return
    if row_hash(row) != record.input_sha256:
        yield f"row {record.item} of {data.name} is not the row that was asked about"
    if (said := record.subject.input) != (own := data.input_name(record.item)):
        yield f"calls its row {said!r}, {data.name} calls it {own!r}"
    if record.label not in (None, data.label(record.item)):
        yield f"has label {record.label}, {data.name} says {data.label(record.item)}"
