"""Make a change again: every alternative, or the same draws of a scan; compare up to a stated rounding."""

import math
from dataclasses import replace

import numpy as np
from torch import Tensor

from attribound.changes.base import Change
from attribound.changes.registry import parse_change
from attribound.errors import AttriboundError
from attribound.fields.bounded import Bounded
from attribound.fields.precision import in_precision
from attribound.tolerances.asker import Asker
from attribound.tolerances.evidence import Evidence, Listed, Scanned
from attribound.tolerances.record import ChangeRecord, ToleranceRecord
from attribound.tolerances.verify import overstatements

ROUNDING = 1e-4
"""Cosines and window means may differ by this between processors; on the same one they are equal."""

_BREAK_STEP = 0.05
"""Part of the range by which a break may be found further out where rounding differs: the search goes in steps."""


def ask_again(record: ToleranceRecord, field: Bounded, x: Tensor) -> tuple[list[str], list[str]]:
    """Repeat a stored tolerance on the same model and input.

    Args:
        record: what was stored.
        field: the field that it is about.
        x: the input.

    Returns:
        What differs by more than rounding, and what a reader should know.
    """
    try:
        asker = asker_of(record, field)
        (change,) = asker.changes.values()
        about = asker.look(x, record.target, seed=record.seed, item=record.item, label=record.label)
        again = asker.ask(change.name, about).record
    except AttriboundError as error:
        return [f"cannot be made again: {error}"], []
    remarks = _versions(record, again, change)
    if again.prediction != record.prediction:
        return [f"states class {record.prediction}, but the model gives {again.prediction}"], remarks
    found = [*_described(record, again, same_library=not remarks), *differences(record.evidence(), again.evidence())]
    found += _milder(record, again)
    found = found or overstatements(record, loosened(again.evidence()))
    if not found:
        remarks += [f"{line}, made again: rounding explains it" for line in overstatements(record, again.evidence())]
    return found, remarks


def asker_of(record: ToleranceRecord, field: Bounded) -> Asker:
    """Asks what a record was asked.

    Args:
        record: what was stored.
        field: the field that it is about.
    """
    change = parse_change(record.change.spec)
    scanned = isinstance(record.evidence(), Scanned)
    return Asker(
        in_precision(field, record.subject.precision),
        [change],
        cosine=record.cosines,
        samples=max(record.samples, 1),
        alpha=record.alpha or 0.5,
        window={change.name: record.window} if scanned and record.window is not None else None,
        reference=record.reference,
    )


def _versions(record: ToleranceRecord, again: ToleranceRecord, change: Change) -> list[str]:
    """Libraries that decide what the changed input is and are not those of the record."""
    return [
        f"was made with {name} {record.versions.get(name, '(it does not say which)')}, now {again.versions[name]}"
        for name in change.versions
        if again.versions[name] != record.versions.get(name)
    ]


def _described(record: ToleranceRecord, again: ToleranceRecord, *, same_library: bool) -> list[str]:
    """Where a record words or measures its change otherwise than the change itself."""
    found = []
    for name in ChangeRecord.__struct_fields__:
        stated, known = getattr(record.change, name), getattr(again.change, name)
        same = math.isclose(stated, known, rel_tol=1e-9) if isinstance(known, float) else stated == known
        if not same and (same_library or name != "made"):
            found.append(f"states {name} {stated} of the change, which has {known}")
    if abs(record.fidelity - again.fidelity) > ROUNDING:
        found.append(f"states fidelity {record.fidelity:g}, found again: {again.fidelity:g}")
    if record.map_shape != again.map_shape:
        found.append(f"states maps of shape {record.map_shape}, found again: {again.map_shape}")
    return found


def _milder(record: ToleranceRecord, again: ToleranceRecord) -> list[str]:
    """Breaks that were found again, nearer than the record has them or where it has none."""
    found, spare = [], _BREAK_STEP * (again.change.high - again.change.low)
    for key, known in again.breaks.items():
        if known is None or known.cosine > float(key) - ROUNDING:
            continue
        stated = record.breaks.get(key)
        zero = again.change.zero
        if stated is None or abs(stated.value - zero) > abs(known.value - zero) + spare:
            said = "none" if stated is None else f"one at {stated.value:g}"
            found.append(f"states as the nearest break of cosine {key} {said}, found again: {known.label}")
    return found


def loosened(evidence: Evidence) -> Evidence:
    """The same, with everything better by the rounding allowed: what an honest record may state at most."""
    if isinstance(evidence, Listed):
        return replace(evidence, cosines=np.minimum(evidence.cosines + ROUNDING, 1.0))
    assert isinstance(evidence, Scanned)
    scan, spare = evidence.scan, np.uint32(ROUNDING * evidence.scan.draws)
    decisions = {key: replace(one, smallest=one.smallest + np.float32(ROUNDING)) for key, one in scan.decisions.items()}
    hits = np.minimum(scan.hits + spare, np.uint32(scan.draws))
    return replace(evidence, scan=replace(scan, decisions=decisions, hits=hits))


def differences(stored: Evidence, again: Evidence) -> list[str]:
    """Where facts differ by more than rounding."""
    size = max(float(np.abs(again.values).max(initial=0.0)), 1.0)
    first, second = _arrays(stored, size), _arrays(again, size)
    if {name: one.shape for name, one in first.items()} != {name: one.shape for name, one in second.items()}:
        return ["its facts are about other alternatives or positions than those that were tried again"]
    found = []
    for name, one in first.items():
        apart = float(np.abs(one - second[name]).max(initial=0.0))
        if apart > ROUNDING:
            found.append(f"its {name} differ by {apart:.2g} from those found again, more than the {ROUNDING:g} allowed")
    return found


def _arrays(evidence: Evidence, size: float) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Facts as numbers of size 1; `size` is that of the values."""
    if isinstance(evidence, Listed):
        return {
            "kinds of places": np.array([evidence.sizes, evidence.empty, evidence.zero / size]),
            "places": evidence.places,
            "values": evidence.values / size,
            "cosines": evidence.cosines,
            "classes": evidence.kept.astype(np.float64),
        }
    assert isinstance(evidence, Scanned)
    scan = evidence.scan
    arrays = {
        "positions": evidence.values / size,
        "window means along the reference": scan.along.astype(np.float64),
        "window means across it": scan.across.astype(np.float64),
        "shares of the class": scan.hits / scan.draws,
    }
    for cosine, one in scan.decisions.items():
        decision = one.decision()
        arrays |= {f"proofs at {cosine:g}": decision.smallest, f"bounds at {cosine:g}": decision.least}
    return arrays
