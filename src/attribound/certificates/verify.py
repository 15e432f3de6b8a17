"""Check stored records: derive their numbers again from what they rest on."""

import base64
import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import msgspec
import numpy as np

from attribound.bounds.cells import CellFact
from attribound.bounds.confidence import mean_radius
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Basis, Closeness, Length, ProbabilityGradient, Spread
from attribound.bounds.rules import RULES
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record, map_hash
from attribound.certificates.statements.registry import STATEMENTS
from attribound.certificates.subject import Subject
from attribound.checks import LEAST_LIMIT, MOST_LIMIT, FloatArray

_NEEDED = (Length, Spread, Closeness)
"""What every certificate rests on."""

TOLERANCE = 1e-9
_STACKED = 128
"""Records whose facts are derived together."""


@final
@dataclass(frozen=True)
class Verification:
    """Outcome of a check: the certificate as rebuilt, and every line in which the record disagrees with it."""

    certificate: Certificate
    problems: list[str]

    @property
    def passed(self) -> bool:
        """Whether nothing disagrees."""
        return not self.problems


def verify(path: str | Path) -> Verification:
    """Re-derive every number that a stored certificate states from the evidence it stores."""
    return verify_record(Certificate.load(path))


def verify_record(certificate: Certificate) -> Verification:
    """The same for a record that was read.

    A stated number may be smaller than what is derived (rounded down), never larger.
    """
    record = certificate.record
    problems = _first(certificate, consistency, _overstatements)
    if record.seal and not record.sealed:
        problems = [*problems, "its seal does not fit its content: the file was changed after it was written"]
    return Verification(certificate, problems)


def consistency(certificate: Certificate) -> list[str]:
    """What cannot be in a record, or contradicts itself, whatever it states: quick enough for every record of a run."""
    return consistency_of([certificate])[0]


def consistency_of(certificates: Sequence[Certificate]) -> list[list[str]]:
    """The same for many records: what takes long is derived for all of them at once."""
    found = [_first(one, _out_of_range, _infeasible) for one in certificates]
    for check in (_unproved, _disagreeing):
        sound = [place for place, problems in enumerate(found) if not problems]
        for place, problems in zip(sound, check([certificates[place] for place in sound]), strict=True):
            found[place] = problems
    return [problems or _first(one, _sizes) for one, problems in zip(certificates, found, strict=True)]


def _unproved(certificates: Sequence[Certificate]) -> list[list[str]]:
    """Facts that do not follow from others by the rule that they are for."""
    clear = [False] * len(certificates)
    for places in _alike(certificates):
        for place, fine in zip(places, _cleared([certificates[place] for place in places]), strict=True):
            clear[place] = fine
    return [[] if fine else _first(one, _underived) for one, fine in zip(certificates, clear, strict=True)]


def _alike(certificates: Sequence[Certificate]) -> list[list[int]]:
    """Places of the certificates whose evidence can be stacked, a few at a time: what is in the cache is quick."""
    families: dict[object, list[int]] = defaultdict(list)
    for place, one in enumerate(certificates):
        families[one.evidence.family].append(place)
    return [places[at : at + _STACKED] for places in families.values() for at in range(0, len(places), _STACKED)]


def _cleared(certificates: Sequence[Certificate]) -> list[bool]:
    """Of records alike: for which no rule has a problem; False also where that takes a closer look."""
    try:
        evidence = Evidence.stack([one.evidence for one in certificates])
        clear = [rule.clear(evidence) for rule in RULES if rule.applies(evidence)]
        return [bool(one) for one in np.logical_and.reduce(np.broadcast_arrays(np.ones(len(certificates)), *clear))]
    except (ValueError, ArithmeticError):
        return [False] * len(certificates)


def _underived(certificate: Certificate) -> list[str]:
    evidence = certificate.evidence
    return [problem for rule in RULES if rule.applies(evidence) for problem in rule.problems(evidence)]


def _disagreeing(certificates: Sequence[Certificate]) -> list[list[str]]:
    """Stored numbers that contradict each other."""
    if not certificates:
        return []
    again = _radii_again(certificates)
    return [
        _first(one, partial(_disagreements, radius=radius)) for one, radius in zip(certificates, again, strict=True)
    ]


def _first(certificate: Certificate, *checks: Callable[[Certificate], list[str]]) -> list[str]:
    """What the first check finds that finds anything: from numbers that contradict each other nothing is derived."""
    try:
        return next((found for check in checks if (found := check(certificate))), [])
    except (ValueError, ArithmeticError) as error:
        return [f"nothing can be derived from its evidence: {error}"]


def _out_of_range(certificate: Certificate) -> list[str]:
    """Values from which nothing can be derived; NaN fails every comparison."""
    record = certificate.record
    checks = {
        f"alpha {record.alpha:g} is not in (0, 1)": 0 < record.alpha < 1,
        f"draws {record.draws} is not in 2..{max(record.budget, 2)}": 2 <= record.draws <= max(record.budget, 2),
        f"samples {record.samples} is not a multiple of {record.draws} draws": record.samples % max(record.draws, 1)
        == 0
        and record.samples >= record.draws,
        f"limit {record.bound.limit:g} is out of range": LEAST_LIMIT <= record.bound.limit <= MOST_LIMIT,
        f"a unit field has limit 1, not {record.bound.limit:g}": record.bound.kind != "unit" or record.bound.limit == 1,
        f"target {record.target} or prediction {record.prediction} is negative": min(record.target, record.prediction)
        >= 0,
    }
    if changes := record.subject.changes:
        fitting = len(changes) == record.dim and record.noise.units is None
        checks[f"{len(changes)} changes have as many amounts and no other units, not dim {record.dim}"] = fitting
    missing = sorted({fact.name for fact in _NEEDED} - set(record.facts))
    problems = [problem for problem, fine in checks.items() if not fine]
    return problems + [f"the fact {name} is missing" for name in missing]


def _infeasible(certificate: Certificate) -> list[str]:
    """Facts that no draws of this number can prove at this alpha, or that this field cannot have."""
    record, evidence = certificate.record, certificate.evidence
    basis = Basis(record.bound.limit, record.draws, record.alpha, record.block, certificate.law)
    problems = [problem for fact in evidence.facts.values() for problem in fact.problems(basis)]
    stated = ProbabilityGradient in evidence.facts
    if stated and (
        record.bound.kind in ("unit", "clip") or record.output == "logit" or record.maps or evidence.budget.changes
    ):
        problems.append("the curvature rule does not apply to this field")
    return problems


def _disagreements(certificate: Certificate, radius: float) -> list[str]:
    """Stored numbers that contradict each other."""
    record, evidence, law = certificate.record, certificate.evidence, certificate.law
    pairs: dict[str, tuple[object, object]] = {
        "noise.radius": (record.noise.radius, law.radius),
        "noise.sigma": (record.noise.sigma, law.sigma),
        "norm": (record.norm, evidence.fact(Length).sampled),
        "norm_lower": (record.norm_lower, evidence.fact(Length).lower),
        "eigenvalue_upper": (record.eigenvalue_upper, evidence.fact(Spread).eigenvalue),
        "map_radius": (record.map_radius, evidence.fact(Closeness).radius),
        "map_radius again": (record.map_radius, radius),
        "the subject's noise": (record.subject.noise, law.spec),
        "the subject's units": (record.subject.units, evidence.budget.units),
        "the subject's seed": (record.subject.seed, record.seed),
        "the subject's item": (record.subject.item, record.item),
        "the subject's attribution": (record.subject.attribution, record.attribution),
        "the subject's maps": (record.subject.maps, record.maps),
        "the subject's reference": (_named_hash(record.subject), _reference_hash(record.subject)),
        "the subject's output": (record.subject.output, record.output),
        "the subject's bound": (record.subject.bound, record.bound.spec),
        "the subject's model": (record.subject.model_sha256, record.model_sha256),
        "the subject's input": (record.subject.input_sha256, record.input_sha256),
    }
    problems = [
        f"states {name} {stated}, but its evidence gives {held}"
        for name, (stated, held) in pairs.items()
        if not _same(stated, held)
    ]
    return problems + _about_map(certificate)


def _named_hash(subject: Subject) -> str:
    """The hash by which a relative map names its reference; empty if no map is relative."""
    return next((spec.rpartition("@")[2] for spec in subject.maps if spec.startswith("relative:")), "")


def _reference_hash(subject: Subject) -> str:
    """The hash of the reference itself; a ValueError if it is not base64."""
    if subject.reference is msgspec.UNSET:
        return ""
    return hashlib.sha256(base64.b64decode(subject.reference, validate=True)).hexdigest()[:16]


def _radii_again(certificates: Sequence[Certificate]) -> list[float]:
    """The maps' radii from everything that they follow from: limit, draws, norm, spread and their share of alpha."""
    records = [one.record for one in certificates]
    rows = [
        (one.bound.limit, one.norm_lower, one.draws, one.eigenvalue_upper / one.block, closeness.attacked_alpha)
        for one, closeness in zip(records, (known.evidence.fact(Closeness) for known in certificates), strict=True)
    ]
    names = ("limit", "norm", "draws", "eigenvalue", "alpha")
    again = radii_again(**dict(zip(names, np.array(rows, np.float64).T, strict=True)))
    return [float(radius) for radius in again]


def radii_again(
    *, limit: FloatArray, norm: FloatArray, draws: FloatArray, eigenvalue: FloatArray, alpha: FloatArray
) -> FloatArray:
    """(N,) the maps' radii; eigenvalues are those of the means of blocks."""
    # A stated norm or spread that is none contradicts its fact; here it may only do no harm.
    norm, eigenvalue = np.clip(norm, 0.0, limit), np.maximum(eigenvalue, 0.0)
    again = mean_radius(limit=limit, norm_lower=norm, samples=draws, alpha=alpha, eigenvalue_upper=eigenvalue)
    return np.asarray(again)


def _about_map(certificate: Certificate) -> list[str]:
    values, record = certificate.map, certificate.record
    problems = []
    if values is not None and not _same(float(np.linalg.norm(values)), record.norm):
        problems.append(f"states norm {record.norm:.9g}, but its map has norm {float(np.linalg.norm(values)):.9g}")
    if values is not None and record.map_sha256 not in (msgspec.UNSET, map_hash(values)):
        problems.append("its map is not the one that it was written with: map_sha256 does not fit")
    if record.norm_lower > (record.norm + record.map_radius) * (1 + TOLERANCE):
        problems.append("norm_lower is larger than the map and its radius allow")
    if record.fidelity is not None and not -1 - TOLERANCE <= record.fidelity <= 1 + TOLERANCE:
        problems.append(f"fidelity {record.fidelity:g} is not in [-1, 1]")
    return problems


def _sizes(certificate: Certificate) -> list[str]:
    """Alpha, shapes and names that cannot be."""
    record, facts = certificate.record, certificate.evidence.facts.values()
    problems, size = list[str](), math.prod(record.map_shape)
    if (spent := sum(fact.spent for fact in facts)) > record.alpha * (1 + TOLERANCE):
        problems.append(f"its facts spent alpha {spent:g}, more than {record.alpha:g}")
    for held in [fact.size for fact in facts if isinstance(fact, CellFact)]:
        if held != size:
            problems.append(f"holds facts about {held} cells of a map of shape {record.map_shape}")
    if certificate.map is not None and record.map_shape not in ((), certificate.map.shape):
        problems.append(f"states map_shape {record.map_shape}, but its map has shape {certificate.map.shape}")
    if certificate.features and len(certificate.features) != size:
        problems.append(f"names {len(certificate.features)} features of a map of shape {record.map_shape}")
    return problems


def _overstatements(certificate: Certificate) -> list[str]:
    """Stated answers that are larger than what the evidence gives, and names that it does not give."""
    record = certificate.record
    problems = [problem for one in STATEMENTS.values() for problem in one.problems(certificate)]
    problems += unknown_answers(record)
    for name, stated, derived in (
        ("rule", record.rule, certificate.rule),
        ("status", record.status, certificate.status),
    ):
        if stated != derived:
            problems.append(f"states {name} {stated}, but its evidence gives {derived}")
    return problems


def unknown_answers(record: Record) -> list[str]:
    """Answers of statements that nobody knows, so that nobody can check them."""
    unknown = {name for name in record.stated_answers if name not in STATEMENTS}
    return [f"answers {name}, which is not a known statement" for name in sorted(unknown)]


def _same(first: object, second: object) -> bool:
    if isinstance(first, float) and isinstance(second, float | np.ndarray):
        return math.isclose(first, float(second), rel_tol=TOLERANCE)
    return first == second
