"""The gate for column tolerances: does what is kept hold far enough for enough rows?"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

from attribound import checks as check
from attribound.certificates.record import Failure
from attribound.errors import ArgumentError, StoredDataError
from attribound.rounding import exact_text
from attribound.runs.gate import Demand
from attribound.runs.proving import Proved, prove_columns
from attribound.runs.store import Store
from attribound.tolerances.columns.record import ColumnsRecord
from attribound.tolerances.columns.words import size_text, together

_KEPT = {"first": "the first reason holds", "class": "the class holds", "sign": "the reason's sign holds"}


@final
@dataclass(frozen=True, kw_only=True)
class AskedKept(Demand[Proved[ColumnsRecord]]):
    """What a gate asks of column tolerances.

    Attributes:
        keep: what must hold, as the run was asked.
        reach: under every change up to this size, in the run's units.
        unit: of the reach, for words.
    """

    keep: str
    reach: float
    unit: str = ""
    fidelity: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check.positive("reach", self.reach)

    @property
    def words(self) -> str:
        """In words."""
        kind, _, number = self.keep.partition(":")
        kept = _KEPT.get(kind) or {
            "stays": f"each of the first {number} reasons stays among them",
            "top": f"the set of the first {number} reasons holds",
        }.get(kind, self.keep)
        return f"{kept} at {exact_text(self.reach)} {self.unit}".rstrip()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: value for name, value in vars(self).items() if name not in ("cosine", "fidelity")}

    def fitted(self, store: Store) -> "AskedKept":
        """With the unit of the run."""
        columns = store.config.columns
        if columns is None:
            raise StoredDataError(f"{store.path} is not a run about columns: --keep is for those of forests")
        if self.keep != columns.keep:
            raise ArgumentError(f"expected --keep {columns.keep}, as the run was asked, got {self.keep!r}")
        return replace(self, unit=columns.unit)

    def proved(self, store: Store) -> Iterator[Proved[ColumnsRecord] | Failure]:
        """All rows."""
        return prove_columns(store)

    def short_of(self, one: Proved[ColumnsRecord]) -> str:
        """How far it holds instead."""
        record, part = one.record, one.record.together
        if part.size > self.reach:  # a change as large as the reach itself may break it
            return ""
        return f"only {size_text(record, part)}: {together(record, part)}"

    def violated(self, store: Store) -> dict[int, str]:
        """Rows of which an attack broke a statement."""
        broken = store.columns_findings().items()
        return {
            item: "an attack broke it inside its reach" for item, found in broken if any(one.violated for one in found)
        }
