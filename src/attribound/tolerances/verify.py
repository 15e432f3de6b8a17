"""Check stored tolerances: derive every stated number again from the facts."""

import math

import numpy as np

from attribound.certificates.sealed import broken_seal
from attribound.rounding import exact_text
from attribound.tolerances.evidence import MARGIN, Evidence, Interval, Listed, Scanned
from attribound.tolerances.record import BreakRecord, ListFacts, ToleranceRecord

_TOLERANCE = 1e-9
_NEARLY = 1e-6
"""Positions are rounded inward, and the last one may lie a little beyond the range."""


def problems(record: ToleranceRecord) -> list[str]:
    """Every line in which a record disagrees with its facts; it may state less than they give, never more."""
    try:
        evidence = record.evidence()
        found = evidence.problems() or _out_of_range(record, evidence)
        found = found or [*overstatements(record, evidence), *_about_breaks(record, evidence)]
    except (ValueError, ArithmeticError, KeyError) as error:
        found = [f"nothing can be derived from its facts: {error}"]
    return found + broken_seal(record, record.seal)


def _out_of_range(record: ToleranceRecord, evidence: Evidence) -> list[str]:
    """Values from which nothing can be derived, and parts that contradict each other."""
    exact, change = record.proof == "exact", record.change
    checks = {
        "says that it is exact, but holds no list of alternatives": exact == isinstance(record.facts, ListFacts),
        f"has alpha {record.alpha:g}": record.alpha == 0 if exact else 0 < record.alpha < 1,
        f"has proof {record.proof} with bound {record.subject.bound}": exact
        or (record.proof == "assumed") == record.subject.bound.startswith("assumed"),
        f"has {record.draws} draws, its facts {evidence.draws}": record.draws >= evidence.draws,
        f"has a window {record.window} of share {record.window_share:g}": _window_fits(record, evidence),
        f"has fidelity {record.fidelity:g}": _fidelity_fits(record),
        f"is compared with the map {record.reference}": not exact or record.reference == "plain",
        f"tried the range {change.low:g} to {change.high:g}": change.low <= change.zero <= change.high,
        f"has a range {change.low:g} to {change.high:g} that its facts are not about": _range_fits(record, evidence),
        "has a target or a prediction below 0": min(record.target, record.prediction) >= 0,
        "answers other cosines than its facts are about": _same_cosines(record),
        "has another subject": _same_subject(record),
    }
    return [problem for problem, fine in checks.items() if not fine]


def _fidelity_fits(record: ToleranceRecord) -> bool:
    """The plain map is proved itself where every alternative was tried, but not that of a model rounded meanwhile."""
    itself = record.proof == "exact" and record.subject.precision == "float32"
    return record.fidelity == 1 if itself else -1 <= record.fidelity <= 1


def _window_fits(record: ToleranceRecord, evidence: Evidence) -> bool:
    facts = record.facts
    if isinstance(facts, ListFacts):
        return record.window is None and record.window_share == 0
    assert isinstance(evidence, Scanned)
    reach = max(facts.left, facts.right) * facts.window / facts.half
    share = math.isclose(record.window_share, facts.window / reach, rel_tol=1 / max(facts.left, facts.right))
    known = record.window if evidence.window is None else evidence.window
    return share and record.window is not None and math.isclose(record.window, known or 0.0, rel_tol=_NEARLY)


def _range_fits(record: ToleranceRecord, evidence: Evidence) -> bool:
    """Whether the range stated is the one that was tried: a gate asks both sides only of a change that has both."""
    change, known = record.change, evidence.tried
    slack = _NEARLY * (known[2] - known[0])
    return all(abs(a - b) <= slack for a, b in zip((change.low, change.zero, change.high), known, strict=True))


def _same_cosines(record: ToleranceRecord) -> bool:
    asked = set(record.reaches)
    decided = asked if isinstance(record.facts, ListFacts) else set(record.facts.decisions)
    return asked == set(record.breaks) == decided


def _same_subject(record: ToleranceRecord) -> bool:
    subject = record.subject
    return (subject.item, subject.seed, subject.model_sha256, subject.input_sha256) == (
        record.item,
        record.seed,
        record.model_sha256,
        record.input_sha256,
    )


def overstatements(record: ToleranceRecord, evidence: Evidence) -> list[str]:
    """Intervals that are wider than what the facts give."""
    derived = evidence.reaches(record.cosines, record.alpha)
    pairs = {f"cosine {exact_text(cosine)}": (record.reach(cosine), derived[cosine]) for cosine in record.cosines}
    pairs["the class"] = (record.class_reach, evidence.class_reach(record.alpha))
    found = []
    for name, (stated, known) in pairs.items():
        if not _within(stated, known):
            found.append(f"states {_shown(stated)} {record.change.unit} for {name}, but its facts give {_shown(known)}")
        if stated is not None and not (
            record.change.low - _TOLERANCE <= stated[0] <= stated[1] <= record.change.high + _TOLERANCE
        ):
            found.append(f"states {_shown(stated)} for {name}, beyond the range that was tried")
    return found


def _within(stated: Interval, known: Interval) -> bool:
    if stated is None or known is None:
        return stated is None
    slack = _TOLERANCE * max(map(abs, known))
    return bool(known[0] - slack <= stated[0] and stated[1] <= known[1] + slack)


def _shown(interval: Interval) -> str:
    return "nothing" if interval is None else f"{interval[0]:.9g} to {interval[1]:.9g}"


def _about_breaks(record: ToleranceRecord, evidence: Evidence) -> list[str]:
    """A break breaks its cosine and lies beyond the proved end; of a list, it is the nearest that does."""
    found = []
    for key, one in record.breaks.items():
        interval = record.reaches[key]
        if isinstance(evidence, Listed) and not _nearest(one, evidence, float(key)):
            found.append(f"states a break of cosine {key} that is none of its alternatives, or not the nearest")
        if one is None:
            continue
        inside = interval is not None and interval[0] < one.value < interval[1]
        if not -1 <= one.cosine < float(key) + MARGIN or inside:
            found.append(f"states that {one.value:g} breaks cosine {key}, which it does not")
    return found


def _nearest(one: BreakRecord | None, evidence: Listed, cosine: float) -> bool:
    """Whether a stated break is among the nearest alternatives that fail; None: whether none fails."""
    failing = ~evidence.holds(cosine)
    sizes = np.abs(evidence.places)
    nearest = failing & (sizes == sizes[failing].min(initial=np.inf))
    if one is None:
        return not nearest.any()
    return bool((nearest & (np.abs(evidence.values) == abs(one.value)) & (evidence.cosines == one.cosine)).any())
