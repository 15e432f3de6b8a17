"""Check a stored certificate: derive its numbers again from what it rests on, and optionally sample it again."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound.certificate import Certificate, certificate_from, read_record

_TOLERANCE = 1e-9


@final
@dataclass(frozen=True)
class Verification:
    """Outcome of a check: the certificate as rebuilt, and every line in which the file disagrees with it."""

    certificate: Certificate
    problems: list[str]

    @property
    def passed(self) -> bool:
        """Whether nothing disagrees."""
        return not self.problems


def verify(path: str | Path) -> Verification:
    """Re-derive every number that a stored certificate states from the evidence it stores.

    A stated number may be smaller than what is derived (rounded down), never larger.
    """
    record = read_record(path)
    certificate = certificate_from(record, str(path))
    problems = _out_of_range(certificate)
    if problems:
        return Verification(certificate, problems)
    problems = _disagreements(certificate, record)
    for key, answer in (("cosine", certificate.cosine), ("max_epsilon", certificate.max_epsilon)):
        for at, stated in _table(record, key).items():
            derived = answer(at)
            if not stated <= derived + _TOLERANCE:
                problems.append(f"states {key}({at:g}) = {stated:.9g}, but its evidence gives only {derived:.9g}")
    return Verification(certificate, problems)


def compare_runs(stored: Certificate, again: Certificate) -> list[str]:
    """What differs between a stored certificate and the same computation done again."""
    problems: list[str] = []
    for name in ("model_sha256", "input_sha256"):
        if getattr(stored, name) != getattr(again, name):
            problems.append(f"{name} differs: stored {getattr(stored, name)[:12]}, here {getattr(again, name)[:12]}")
    for name in ("norm_lower", "eigenvalue_upper", "norm"):
        old, new = getattr(stored, name), getattr(again, name)
        if not math.isclose(old, new, rel_tol=1e-5, abs_tol=1e-9):
            problems.append(f"{name} differs: stored {old:.9g}, sampled again {new:.9g}")
    return problems


def _out_of_range(certificate: Certificate) -> list[str]:
    """Values from which nothing can be derived; NaN fails every comparison."""
    evidence, problems = certificate.evidence, []
    if not 0 < certificate.alpha < 1:
        problems.append(f"alpha {certificate.alpha:g} is not in (0, 1)")
    if not (0 < evidence.scale < math.inf and 0 < evidence.limit < math.inf and evidence.dim >= 2):
        problems.append("noise scale, limit or dim is out of range")
    if not 0 <= evidence.norm_lower <= evidence.limit:
        problems.append(f"norm_lower {evidence.norm_lower:g} is not in [0, limit {evidence.limit:g}]")
    for name, value in (
        ("eigenvalue_upper", evidence.eigenvalue_upper),
        ("map_radius", certificate.map_radius),
        ("norm", certificate.norm),
    ):
        if not 0 <= value < math.inf:
            problems.append(f"{name} {value:g} is out of range")
    return problems


def _disagreements(certificate: Certificate, record: dict[str, Any]) -> list[str]:
    """Stored numbers that contradict each other."""
    evidence, problems = certificate.evidence, []
    for key in ("norm_lower", "eigenvalue_upper"):
        if not math.isclose(float(record[key]), getattr(certificate, key), rel_tol=1e-9, abs_tol=1e-12):
            problems.append(f"states {key} = {record[key]}, but its evidence holds {getattr(certificate, key):.9g}")
    length = float((certificate.attribution**2).sum()) ** 0.5
    if not math.isclose(length, certificate.norm, rel_tol=1e-9, abs_tol=1e-12):
        problems.append(f"states norm = {certificate.norm:.9g}, but its map has norm {length:.9g}")
    if evidence.norm_lower > length + certificate.map_radius + _TOLERANCE:
        problems.append("norm_lower is larger than the map and its radius allow")
    if record["status"] != certificate.status:
        problems.append(f"states status {record['status']!r}, but its evidence gives {certificate.status!r}")
    return problems


def _table(record: dict[str, Any], key: str) -> dict[float, float]:
    return {float(at): float(value) for at, value in record[key].items()}
