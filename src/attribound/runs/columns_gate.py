"""The gate for column tolerances: does what is kept hold far enough for enough rows?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound import checks as check
from attribound.certificates.record import Failure
from attribound.errors import ArgumentError, StoredDataError
from attribound.rounding import exact_text
from attribound.runs.columns_proved import ProvedColumns, prove_columns
from attribound.runs.gate import Confident, Gate, GatedInput, Judging
from attribound.runs.store import Store
from attribound.tolerances.columns.words import size_text, together

_KEPT = {"first": "the first reason holds", "class": "the class holds", "sign": "the reason's sign holds"}


@final
@dataclass(frozen=True)
class AskedKept(Confident):
    """What a gate asks of column tolerances.

    Attributes:
        keep: what must hold, as the run was asked.
        reach: under every change up to this size, in the run's units.
        share: the share of all rows of which this must be proved.
        confidence: probability with which what is said about the population holds.
        population: whether the share that is *proved* for the population must reach `share`.
        unit: of the reach, for words.
    """

    keep: str
    reach: float
    share: float
    confidence: float = 0.95
    population: bool = False
    unit: str = ""
    cosine: float = 0.0
    fidelity: float = 0.0

    def __post_init__(self) -> None:
        check.positive("reach", self.reach)
        check.fraction("share", self.share)
        check.alpha(self.confidence, "confidence")

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


def judge_columns(path: Path, asked: AskedKept) -> Gate:
    """Ask of every row of a run whether it holds far enough; what is doubtful in any way does not."""
    with Store.read_any(path) as store:
        config = store.config
        if config.columns is None:
            raise StoredDataError(f"{path} is not a run about columns: --keep is for those of forests")
        if asked.keep != config.columns.keep:
            raise ArgumentError(f"expected --keep {config.columns.keep}, as the run was asked, got {asked.keep!r}")
        violated = {item for item, found in store.columns_findings().items() if any(one.violated for one in found)}
        wanted, judging = AskedKept(**{**vars(asked), "unit": config.columns.unit}), Judging(0.0)
        for one in prove_columns(store.columns(), config):
            judging.take(_case(one, asked, violated), one if isinstance(one, Failure) else one.record)
        return judging.gate(store, wanted, maps="plain")


def _case(one: ProvedColumns | Failure, asked: AskedKept, violated: set[int]) -> GatedInput:
    if isinstance(one, Failure):
        return GatedInput(one.item, "error", one.message, one.seconds)
    record = one.record
    if record.item in violated:
        return GatedInput(record.item, "violated", "an attack broke it inside its reach", record.seconds)
    if one.doubts:
        return GatedInput(record.item, "doubtful", "; ".join(one.doubts), record.seconds)
    part = record.together
    if part.size > asked.reach:  # a change as large as the reach itself may break it
        return GatedInput(record.item, "certified", "", record.seconds)
    reason = f"only {size_text(record, part)}: {together(record, part)}"
    return GatedInput(record.item, "uncertified", reason, record.seconds)
