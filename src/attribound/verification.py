"""Check a stored certificate: derive its numbers again from what it rests on, and optionally sample it again."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from attribound.bounds.confidence import mean_radius
from attribound.certificate import Certificate, certificate_from, read_record
from attribound.errors import StoredDataError

_TOLERANCE = 1e-9
_SCALES = {"uniform": "radius", "gaussian": "sigma"}


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
    try:
        problems = _disagreements(certificate, record) + _overstatements(certificate, record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoredDataError(f"{path} is not a certificate: {type(error).__name__} at {error}") from None
    return Verification(certificate, problems)


def _overstatements(certificate: Certificate, record: dict[str, Any]) -> list[str]:
    """Stated answers that are larger than what the evidence gives."""
    problems: list[str] = []
    for key, answer in (("cosine", certificate.cosine), ("max_epsilon", certificate.max_epsilon)):
        for at, stated in _table(record, key).items():
            derived = answer(at)
            if not stated <= derived + _TOLERANCE:
                problems.append(f"states {key}({at:g}) = {stated:.9g}, but its evidence gives only {derived:.9g}")
    return problems


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
    if certificate.draws < 1 or not 0 < certificate.attacked_map_alpha <= certificate.alpha / 8:
        problems.append("draws or attacked_map_alpha is out of range")
    if certificate.bound_kind not in ("unit", "clip", "proved", "assumed"):
        problems.append(f"bound kind {certificate.bound_kind!r} is unknown")
    if certificate.bound_kind == "unit" and evidence.limit != 1.0:
        problems.append(f"a unit field has limit 1, not {evidence.limit:g}")
    if evidence.probability_gradient and (certificate.bound_kind in ("unit", "clip") or certificate.output == "logit"):
        problems.append("the curvature rule does not apply to this field")
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
    noise, kind = record["noise"], evidence.noise_kind
    if noise["kind"] != kind or not math.isclose(float(noise[_SCALES[kind]]), evidence.scale, rel_tol=1e-9):
        problems.append(f"states noise {noise}, but its evidence holds {kind} {evidence.scale:g}")
    for key, stated, held in (
        ("dim", record["dim"], certificate.dim),
        ("limit", record["bound"]["limit"], certificate.limit),
        ("rule", record["rule"], certificate.rule),
    ):
        if stated != held:
            problems.append(f"states {key} {stated}, but its evidence gives {held}")
    smallest = mean_radius(
        limit=certificate.limit,
        norm_lower=certificate.norm_lower,
        samples=certificate.draws,
        alpha=certificate.alpha / 8,
        eigenvalue_upper=0.0,
    )
    if certificate.map_radius < smallest * (1 - _TOLERANCE):
        problems.append(f"map_radius {certificate.map_radius:g} is smaller than {certificate.draws} draws allow")
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
