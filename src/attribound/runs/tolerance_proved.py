"""What records of tolerances prove: stated intervals count only where the record's facts give at least as much."""

import math

import msgspec

from attribound.runs.config import RunConfig
from attribound.runs.membership import plain_spec, same_method
from attribound.runs.proving import Proving, strange
from attribound.tolerances.evidence import WINDOW
from attribound.tolerances.record import ToleranceRecord
from attribound.tolerances.verify import problems


def _foreign(record: ToleranceRecord, config: RunConfig) -> list[str]:
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
    return found + strange(record, config)


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


prove_tolerances = Proving(ToleranceRecord, problems, _foreign, _silenced)
