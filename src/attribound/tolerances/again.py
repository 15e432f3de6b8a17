"""Make a change again: every alternative, or the very draws of a scan; compare up to a stated rounding."""

import numpy as np
from torch import Tensor

from attribound.changes.registry import parse_change
from attribound.errors import AttriboundError
from attribound.fields.bounded import Bounded
from attribound.fields.precision import in_precision
from attribound.tolerances.asker import Asker
from attribound.tolerances.evidence import Evidence, Listed, Scanned
from attribound.tolerances.record import ToleranceRecord

ROUNDING = 1e-4
"""Cosines and window means may differ by this between processors; on the same one they are equal."""


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
        change = parse_change(record.change.spec)
        scanned = isinstance(record.evidence(), Scanned)
        window = {change.name: record.window} if scanned and record.window is not None else None
        asker = Asker(
            in_precision(field, record.subject.precision),
            [change],
            cosine=record.cosines,
            samples=max(record.samples, 1),
            alpha=record.alpha or 0.5,
            window=window,
            reference=record.reference,
        )
        about = asker.look(x, record.target, seed=record.seed, item=record.item, label=record.label)
        again = asker.ask(change.name, about).record
    except AttriboundError as error:
        return [f"cannot be made again: {error}"], []
    remarks = [
        f"was made with {name} {known}, now {again.versions.get(name)}"
        for name, known in record.versions.items()
        if name in change.versions and again.versions.get(name) != known
    ]
    if again.prediction != record.prediction:
        return [f"states class {record.prediction}, but the model gives {again.prediction}"], remarks
    return differences(record.evidence(), again.evidence()), remarks


def differences(stored: Evidence, again: Evidence) -> list[str]:
    """Where facts differ by more than rounding."""
    first, second = _arrays(stored), _arrays(again)
    if {name: one.shape for name, one in first.items()} != {name: one.shape for name, one in second.items()}:
        return ["its facts are about other alternatives or positions than those that were tried again"]
    found = []
    for name, one in first.items():
        apart = float(np.abs(one - second[name]).max(initial=0.0))
        if apart > ROUNDING:
            found.append(f"its {name} differ by {apart:.2g} from those found again, more than the {ROUNDING:g} allowed")
    return found


def _arrays(evidence: Evidence) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Facts as numbers of size 1."""
    if isinstance(evidence, Listed):
        size = max(float(np.abs(evidence.places).max(initial=0.0)), 1.0)
        return {
            "places": evidence.places / size,
            "cosines": evidence.cosines,
            "classes": evidence.kept.astype(np.float64),
        }
    assert isinstance(evidence, Scanned)
    scan = evidence.scan
    size = max(float(np.abs(evidence.values).max(initial=0.0)), 1.0)
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
