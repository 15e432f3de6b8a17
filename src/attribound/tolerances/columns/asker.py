"""From a row to its record: ask the forest, and write down what it says in the table's own words."""

import hashlib
import math
import time
from importlib.metadata import version
from typing import final

import msgspec
import numpy as np

from attribound.certificates.subject import Subject
from attribound.forests import ColumnTolerance, Part, Sheet, TreeShap, tolerance
from attribound.forests.ensemble import FloatArray
from attribound.tolerances.columns.record import Asked, Cell, ColumnsRecord, Ends, Kept, cell_of, cells_of


@final
class ColumnsAsker:
    """Asks the same about one row after another; what belongs to the forest is made once."""

    def __init__(
        self, shap: TreeShap, asked: Asked, *, target: int | None = None, subject: Subject | None = None
    ) -> None:
        self.shap, self.asked, self.target, self.subject = shap, asked, target, subject or Subject()
        self._choices = asked.choices(shap.forest.names, shap.forest.categorical)

    def units(self, values: FloatArray) -> FloatArray:
        """What one unit of each column is for a row."""
        return self.asked.units_at(values, self.shap.forest.categorical)

    def ask(self, values: FloatArray, *, item: int = 0, label: int | None = None) -> ColumnsRecord:
        """The record of one row."""
        started, units = time.perf_counter(), self.units(values)
        sheet = self.sheet(values, units)
        score = float(self.shap.scores_from(self.shap.values(values[None]))[0, sheet.target])
        digest = row_hash(values)
        subject = msgspec.structs.replace(self.subject, item=item, input_sha256=digest)
        return ColumnsRecord(
            item=item,
            label=label,
            target=sheet.target,
            side=sheet.side,
            decides=self.shap.forest.decides,  # type: ignore[arg-type]
            prediction=self._prediction(sheet, score),
            score=score,
            names=self.shap.forest.names,
            row=self._cells(values),
            contributions=tuple(sheet.contributions.tolist()),
            units=tuple(units.tolist()),
            tie=float(self.shap.forest.tie[sheet.target]),
            asked=self.asked,
            parts=tuple(self._kept(part, sheet) for part in sheet.parts),
            seconds=time.perf_counter() - started,
            versions={"attribound": version("attribound"), "numpy": np.__version__},
            model_sha256=self.shap.forest.sha256,
            input_sha256=digest,
            subject=subject,
        )

    def sheet(self, values: FloatArray, units: FloatArray) -> Sheet:
        """What the forest says."""
        asked = self.asked
        return tolerance(
            self.shap,
            values,
            keep=asked.keep,
            size=asked.size,
            scale=units,
            whole=asked.whole,
            choices=self._choices,
            missing=asked.missing,
            target=self.target,
            side=asked.side,
            threshold=asked.threshold,
            boxes=asked.boxes,
            seconds=asked.seconds,
        )

    def _prediction(self, sheet: Sheet, score: float) -> int | None:
        decides = self.shap.forest.decides
        if decides == "sides":
            return int(score > self.asked.threshold)
        return sheet.target if decides == "classes" and self.target is None else None

    def _cells(self, values: FloatArray) -> tuple[Cell, ...]:
        return cells_of(values, self.shap.forest.names, self.asked.words)

    def _kept(self, part: Part, sheet: Sheet) -> Kept:
        together, columns = part.together, tuple(part.columns.values())
        after = score = None
        if together.nearest is not None:
            found = self.shap.values(together.nearest[None])
            after = tuple(found[0, sheet.target].tolist())
            score = float(self.shap.scores_from(found)[0, sheet.target])
        return Kept(
            words=part.words,
            reason=part.reason,
            intervals=tuple(_ends(one) for one in columns),
            alternatives={one.name: self._alternatives(one) for one in columns if one.alternatives},
            absent=tuple(one.missing for one in columns),
            reach=None if math.isinf(together.reach) else together.reach,
            exact=together.exact,
            nearest=None if together.nearest is None else self._cells(together.nearest),
            after=after,
            score=score,
            boxes=together.boxes,
        )

    def _alternatives(self, column: ColumnTolerance) -> dict[str, bool]:
        cells = {
            cell_of(float(number), column.name, self.asked.words): kept for number, kept in column.alternatives.items()
        }
        return {cell if isinstance(cell, str) else f"{cell:.0f}": kept for cell, kept in cells.items()}


def _ends(column: ColumnTolerance) -> Ends:
    low, high = column.values
    if math.isnan(low):
        return None
    return (None if math.isinf(low) else low), (None if math.isinf(high) else high)


def row_hash(values: FloatArray) -> str:
    """SHA-256 over a row in float64; all missing cells are the same bits."""
    return hashlib.sha256(np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes()).hexdigest()
