"""Is a certificate what the same draws give again? Every number is compared, up to what rounding explains."""

import math
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np
import numpy.typing as npt

from attribound.bounds.cells import IntArray, Majority, Votes
from attribound.bounds.facts import Fact
from attribound.bounds.orders import Orders
from attribound.certificates.certificate import Certificate

_TOLERANCE = 1e-9
LAST_DIGITS = 1e-5
"""Relative difference that is not worth a word in a sampled number."""

SAFETY = 4.0
"""Another processor's rounding may be this multiple of what is measured here."""

_REORDERED, _REORDERED_PART = 1e-3, 1e-4
"""Of itself and of the largest radius: radii of orders follow from counts at many thresholds, of which rounding moves
one draw now and then."""

_FIXED = ("alpha", "attacked_alpha", "cosine", "fractions", "draws", "tested", "winner", "features", "stretch")
"""Numbers of facts that no rounding of a draw changes a little."""

_SETTINGS = (
    "model_sha256",
    "input_sha256",
    "target",
    "prediction",
    "dim",
    "noise",
    "attribution",
    "maps",
    "output",
    "samples",
    "draws",
    "budget",
    "until",
    "stopped",
    "alpha",
    "seed",
    "item",
)
_IN_LIMITS = {"length": 1, "spread": 2, "closeness": 1, "error_bars": 1}
"""Facts that are measured in a power of the limit; all others have no unit."""
_SAMPLED = {"norm": 1, "norm_lower": 1, "eigenvalue_upper": 2, "map_radius": 1, "fidelity": 0}
"""Numbers that were sampled, and the power of the limit that they are measured in."""


@final
@dataclass(frozen=True)
class Precision:
    """What rounding may change in numbers that are sampled again, as measured on the draws.

    Attributes:
        apart: mean distance between a draw and the same draw rounded otherwise, over the limit.
        norm: norm of the sampled map, over the limit.
        gained: draws that may change to the class that was counted.
        lost: draws that may change from it.
        hotter: (fractions, cells) draws in which a cell may become hot; None if votes were not counted.
        colder: likewise, cold.
    """

    apart: float
    norm: float
    gained: int = 0
    lost: int = 0
    hotter: IntArray | None = None
    colder: IntArray | None = None

    @property
    def relative(self) -> float:
        """Relative difference that rounding explains in a sampled number.

        Directions of projection turn by apart / norm; squares, and the slopes of the bounds, double what reaches them.
        """
        if self.apart == 0:
            return 0.0
        return 4 * SAFETY * self.apart * (1 + 1 / max(self.norm, self.apart))


def compare(stored: Certificate, again: Certificate, precision: Precision | None = None) -> list[str]:
    """What differs between a stored certificate and the same computation done again: every number, and the map.

    Args:
        stored: the certificate.
        again: the same, sampled again.
        precision: what rounding may change, if it was measured; without, only last digits may differ, and no count.
    """
    mine, theirs = stored.record, again.record
    problems = [_differs(name, mine, theirs) for name in _SETTINGS if getattr(mine, name) != getattr(theirs, name)]
    if mine.bound.spec != theirs.bound.spec:
        problems.append(f"bound differs: stored {mine.bound.spec}, sampled again {theirs.bound.spec}")
    relative = _relative(precision)
    problems += [
        _differs(name, mine, theirs)
        for name, power in _SAMPLED.items()
        if not _close(getattr(mine, name), getattr(theirs, name), relative, stored.limit**power)
    ]
    facts, others = stored.evidence.facts, again.evidence.facts
    problems += [
        f"the facts differ: {kind.name} is not what the same draws prove again"
        for kind in sorted({*facts, *others}, key=lambda one: one.name)
        if kind not in facts
        or kind not in others
        or not facts_alike(facts[kind], others[kind], precision, unit=stored.limit ** _IN_LIMITS.get(kind.name, 0))
    ]
    if stored.map is not None and again.map is not None:
        distance = float(np.linalg.norm(stored.map - again.map)) if stored.map.shape == again.map.shape else math.inf
        if distance > relative * stored.limit:
            problems.append(f"the map differs from the one sampled again by {distance:.3g}")
    return problems


def facts_alike(stored: Fact, again: Fact, precision: Precision | None = None, *, unit: float = 1.0) -> bool:
    """Whether a fact, in numbers of this unit, is what the same draws prove again, up to what rounding explains."""
    for field in fields(again):
        a, b = (np.asarray(getattr(fact, field.name), np.float64) for fact in (stored, again))
        if a.shape != b.shape:
            return False
        if isinstance(again, Majority | Votes) and field.name in ("count", "hot", "tied"):
            more, fewer = _recounted(again, precision)
            if field.name == "tied":  # a tie may become either, and either a tie
                more = fewer = more + fewer
            alike = bool(((a <= b + more) & (a >= b - fewer)).all())
        elif field.name in _FIXED:
            alike = bool(np.allclose(a, b, rtol=_TOLERANCE, atol=0.0))
        elif isinstance(again, Orders) and field.name == "radius":
            alike = _same_radii(a, b, precision)
        else:
            relative = _relative(precision)
            absolute = min(unit, 1.0) * (_TOLERANCE if precision is None else relative)
            alike = bool(np.allclose(a, b, rtol=relative, atol=absolute))
        if not alike:
            return False
    return True


def _recounted(fact: Fact, precision: Precision | None) -> tuple[Any, Any]:
    """By how much a stored count may be larger and smaller: by the draws that rounding may turn, and no others."""
    if precision is None:
        return 0, 0
    if isinstance(fact, Majority):
        return precision.gained, precision.lost
    return (0, 0) if precision.hotter is None else (precision.hotter, precision.colder)


def _same_radii(stored: npt.NDArray[np.float64], again: npt.NDArray[np.float64], precision: Precision | None) -> bool:
    if (stored[again == 0] > 0).any():  # no last digits prove what was not proved
        return False
    if precision is None or precision.apart == 0:
        return bool(np.allclose(stored, again, rtol=LAST_DIGITS, atol=0.0))
    return bool(np.allclose(stored, again, rtol=_REORDERED, atol=_REORDERED_PART * float(again.max(initial=0.0))))


def _relative(precision: Precision | None) -> float:
    return LAST_DIGITS if precision is None else max(LAST_DIGITS, precision.relative)


def _differs(name: str, mine: object, theirs: object) -> str:
    return f"{name} differs: stored {getattr(mine, name)}, sampled again {getattr(theirs, name)}"


def _close(first: object, second: object, relative: float, unit: float) -> bool:
    """Whether two sampled numbers agree up to rounding."""
    if first is None or second is None:
        return first is second
    absolute = _TOLERANCE * min(unit, 1.0) if relative == LAST_DIGITS else relative * unit
    return bool(np.isclose(float(first), float(second), rtol=relative, atol=absolute))  # type: ignore[arg-type]
