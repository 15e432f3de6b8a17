"""What records of tolerances prove: one that contradicts itself or its run states nothing.

Stated intervals count only where a record's facts give at least as much.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, final

import msgspec

from attribound.certificates.record import Failure
from attribound.runs.config import RunConfig
from attribound.runs.membership import plain_spec, same_method
from attribound.runs.store import Store
from attribound.tolerances.columns.record import ColumnsRecord, Kept
from attribound.tolerances.columns.verify import problems as columns_problems
from attribound.tolerances.evidence import WINDOW
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.verify import problems as tolerance_problems

R = TypeVar("R", ToleranceRecord, ColumnsRecord)


@final
@dataclass(frozen=True)
class Proved(Generic[R]):
    """A record without contradictions.

    Attributes:
        record: the record; where anything is wrong with it, stating nothing.
        doubts: what was wrong with the record as stored, in words; empty if nothing was.
    """

    record: R
    doubts: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Proving(Generic[R]):
    """How records of one kind are proved.

    Attributes:
        kind: their type.
        problems: where a record contradicts itself.
        foreign: where it does not belong to its run.
        silenced: the record without anything that it claims.
    """

    kind: type[R]
    problems: Callable[[R], list[str]]
    foreign: Callable[[R, RunConfig], list[str]]
    silenced: Callable[[R], R]

    def __call__(self, store: Store) -> Iterator[Proved[R] | Failure]:
        """Check a run's records in their order; failures pass through."""
        config, sharing = store.config, set[str]()
        for record in store.only(self.kind):
            if isinstance(record, Failure):
                yield record
            else:
                yield self.prove(record, config, _unshared(record, config, sharing))

    def prove(self, record: R, config: RunConfig, more: Sequence[str] = ()) -> Proved[R]:
        """Check one record; `more` is what is wrong with it among the others of its run."""
        doubts = (*self.problems(record), *self.foreign(record, config), *more)
        return Proved(self.silenced(record) if doubts else record, doubts)


def _unshared(record: ToleranceRecord | ColumnsRecord, config: RunConfig, sharing: set[str]) -> list[str]:
    """A line if one change more is scanned than the run shares alpha among; `sharing` are those met so far."""
    if record.proof == "exact" or record.part in sharing:
        return []
    if len(sharing) >= config.scanned:
        return [f"is scanned, but its run shares alpha among {config.scanned} other changes"]
    sharing.add(record.part)
    return []


def _strange(record: ToleranceRecord | ColumnsRecord, config: RunConfig) -> list[str]:
    """What no record of its run has: another model, or no seal."""
    other = config.model_sha256 and record.model_sha256 != config.model_sha256
    return ["is about another model than its run"] * bool(other) + ["has no seal"] * (not record.seal)


def _foreign_tolerance(record: ToleranceRecord, config: RunConfig) -> list[str]:
    """Where a record does not belong to its run."""
    subject, exact = record.subject, record.proof == "exact"
    pairs = {
        "change": (record.change.spec, dict(zip(config.parts, config.changes, strict=True)).get(record.part)),
        "cosines": (record.cosines, config.cosines),
        "seed": (record.seed, config.seed),
        "bound": (plain_spec(subject.bound), plain_spec(config.bound)),
        "output": (subject.output, config.output),
        "maps": (
            tuple(map(plain_spec, subject.maps)),
            tuple(plain_spec(one) for one in config.maps if one != "raw"),
        ),
        "alpha": (record.alpha, 0.0 if exact else config.alpha / max(config.scanned, 1)),
        "samples": (record.samples, 0 if exact else config.samples),
        "reference": (record.reference, "plain" if exact else config.against),
        "precision": (subject.precision, config.precision),
    }
    found = [f"has {name} {mine}, its run {whole}" for name, (mine, whole) in pairs.items() if mine != whole]
    if not exact and not _same_window(record, config):
        found.append(f"has a window of {record.window:g} {record.change.unit}, which its run did not ask for")
    if not same_method(subject.attribution, config.attribution):
        found.append(f"has attribution {subject.attribution}, its run {config.attribution}")
    return found + _strange(record, config)


def _same_window(record: ToleranceRecord, config: RunConfig) -> bool:
    """Whether a scan's window is the one that was asked for, or else the default: a wide one makes reach of nothing."""
    asked = config.windows.get(record.part)
    if asked is None:
        return math.isclose(record.window_share, WINDOW, rel_tol=1e-9)
    return record.window is not None and math.isclose(record.window, asked, rel_tol=1e-9)


def _silent_tolerance(record: ToleranceRecord) -> ToleranceRecord:
    """The record without anything that it claims."""
    nothing = dict.fromkeys(record.reaches)
    # A gate computes with the largest alpha of all records.
    alpha = record.alpha if 0 <= record.alpha < 1 else 0.0
    return msgspec.structs.replace(record, alpha=alpha, reaches=nothing, class_reach=None, breaks=dict(nothing))


prove_tolerances = Proving(ToleranceRecord, tolerance_problems, _foreign_tolerance, _silent_tolerance)


def _foreign_row(record: ColumnsRecord, config: RunConfig) -> list[str]:
    """Where a record does not belong to its run."""
    found = [] if record.asked == config.columns else ["was asked something else than its run"]
    return found + _strange(record, config)


def _silent_row(record: ColumnsRecord) -> ColumnsRecord:
    """The record without anything that it claims."""
    return msgspec.structs.replace(record, parts=tuple(_nothing(part) for part in record.parts))


def _nothing(part: Kept) -> Kept:
    return msgspec.structs.replace(
        part,
        intervals=(None,) * len(part.intervals),
        alternatives={},
        absent=(None,) * len(part.absent),
        reach=0.0,
        exact=False,
        nearest=None,
        after=None,
        score=None,
    )


prove_columns = Proving(ColumnsRecord, columns_problems, _foreign_row, _silent_row)
