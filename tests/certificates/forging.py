"""Changed certificates: what a forger, or an accident, does to a stored file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from attribound.certificates.record import Record
from attribound.certificates.sealed import seal_of
from attribound.certificates.verify import Verification, verify

Change = Callable[[dict[str, Any]], Any]


def resealed(stored: dict[str, Any]) -> dict[str, Any]:
    """The same record with a seal that fits: anybody who can change a file can do this."""
    record = msgspec.convert(stored, Record, strict=True)
    return {**stored, "seal": seal_of(record)}


def changed(certificate, path: Path, change: Change, *, reseal: bool) -> Path:
    """Store a certificate, change it, and store it again, with its old seal or with a new one."""
    certificate.save(path)
    stored = json.loads(path.read_text())
    change(stored)
    if reseal:
        stored = resealed(stored)
    path.write_text(json.dumps(stored))
    return path


def problems(certificate, path: Path, change: Change, *, reseal: bool = True) -> list[str]:
    return verify(changed(certificate, path, change, reseal=reseal)).problems


def claims(outcome: Verification, like: Verification | None = None) -> dict[str, float]:
    """The numbers that somebody would read: larger is a larger claim.

    Args:
        outcome: a certificate that verify accepted.
        like: another one; where both rest on the same evidence, only what is stated is compared.
    """
    certificate, record = outcome.certificate, outcome.certificate.record
    found = {"stated status": float({"certified": 2, "assumed": 1, "uncertified": 0}[record.status])}
    for name in ("cosine", "visible_cosine", "max_epsilon", "max_visible_epsilon"):
        found |= {f"stated {name}({key})": value for key, value in getattr(record, name).items()}
    if like is not None and _basis(like) == _basis(outcome):
        return found
    for epsilon in (0.05, 0.2):
        found[f"cosine({epsilon})"] = certificate.cosine(epsilon)
        found[f"visible({epsilon})"] = certificate.visible_cosine(epsilon)
    return found | {f"max_epsilon({cosine})": certificate.max_epsilon(cosine) for cosine in (0.5, 0.8)}


def _basis(outcome: Verification) -> tuple[Any, ...]:
    return outcome.certificate.evidence, outcome.certificate.draws
