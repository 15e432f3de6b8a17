"""What records of tolerances prove: stated intervals count only where the record's facts give at least as much."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import msgspec

from attribound.certificates.record import Failure
from attribound.runs.config import RunConfig
from attribound.runs.membership import plain_spec, same_method
from attribound.tolerances.evidence import WINDOW
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.verify import problems


@final
@dataclass(frozen=True)
class ProvedTolerance:
    """A record whose stated intervals all follow from its facts.

    Attributes:
        record: the record; where anything is wrong with it, stating nothing.
        doubts: what was wrong with the record as stored, in words; empty if nothing was.
    """

    record: ToleranceRecord
    doubts: tuple[str, ...] = ()


def prove_tolerances(
    records: Iterable[ToleranceRecord | Failure], config: RunConfig
) -> Iterator[ProvedTolerance | Failure]:
    """Check records in their order; failures pass through."""
    sharing: set[str] = set()
    for record in records:
        if isinstance(record, Failure):
            yield record
            continue
        doubts = [*problems(record), *foreign(record, config)]
        if record.proof != "exact" and record.part not in sharing:
            if len(sharing) >= config.scanned:
                doubts.append(f"is scanned, but its run shares alpha among {config.scanned} other changes")
            else:
                sharing.add(record.part)
        yield ProvedTolerance(_silenced(record) if doubts else record, tuple(doubts))


def foreign(record: ToleranceRecord, config: RunConfig) -> list[str]:
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
    if config.model_sha256 and record.model_sha256 != config.model_sha256:
        found.append("is about another model than its run")
    if not record.seal:
        found.append("has no seal")
    return found


def _same_window(record: ToleranceRecord, config: RunConfig) -> bool:
    """Whether a scan's window is the one that was asked for, or else the default: a wide one makes reach of nothing."""
    asked = config.windows.get(record.part)
    if asked is None:
        return math.isclose(record.window_share, WINDOW, rel_tol=1e-9)
    return record.window is not None and math.isclose(record.window, asked, rel_tol=1e-9)


def _silenced(record: ToleranceRecord) -> ToleranceRecord:
    """The record without anything that it claims."""
    nothing = dict.fromkeys(record.reaches)
    return msgspec.structs.replace(record, reaches=nothing, class_reach=None, breaks=dict(nothing))
