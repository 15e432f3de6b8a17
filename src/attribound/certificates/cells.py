"""What a certificate says about single cells and about the class, and how records state it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from attribound.bounds.cells import Majority, Votes
from attribound.bounds.features import error_bars
from attribound.checks import FloatArray
from attribound.errors import StoredDataError
from attribound.rounding import exact_text

if TYPE_CHECKING:
    from attribound.certificates.certificate import Certificate

Marks = npt.NDArray[np.int8]


class CellTally(Struct, frozen=True, forbid_unknown_fields=True):
    """How many cells are proved hot, proved cold, and neither."""

    hot: int
    cold: int
    unproved: int


def marks(certificate: "Certificate", fraction: float, epsilon: float, samples: int | None) -> Marks:
    """+1 where a cell is proved hot at that fraction and epsilon, -1 where cold, 0 elsewhere; in the map's shape."""
    sides, radii = _votes(certificate).radii(fraction, certificate.law, samples)
    found = np.where((radii > 0) & (radii >= epsilon), sides, 0).astype(np.int8)
    return found.reshape(_shape(certificate, found.size))


def radii(certificate: "Certificate", fraction: float, samples: int | None) -> FloatArray:
    """How far each cell's mark is proved; in the map's shape."""
    found = _votes(certificate).radii(fraction, certificate.law, samples)[1]
    return found.reshape(_shape(certificate, found.size))


def interval(certificate: "Certificate") -> tuple[FloatArray, FloatArray]:
    """The sampled map less and plus its error bars, within the limit."""
    half = np.broadcast_to(np.ravel(error_bars(certificate.evidence)), certificate.attribution.size)
    error, limit = half.reshape(certificate.attribution.shape), certificate.limit
    return np.clip(certificate.attribution - error, -limit, limit), np.clip(
        certificate.attribution + error, -limit, limit
    )


def prediction(certificate: "Certificate") -> tuple[int | None, float]:
    """The smoothed classifier's class and how far it is proved; (None, 0.0) where it abstains."""
    if Majority not in certificate.evidence.facts:
        return None, 0.0
    majority = certificate.evidence.fact(Majority)
    radius = float(majority.radius(certificate.law))
    return (int(majority.winner), radius) if radius > 0 else (None, 0.0)


def tallies(certificate: "Certificate", epsilons: Sequence[float]) -> dict[str, dict[str, CellTally]]:
    """For every fraction that was counted and every epsilon, how many cells are proved."""
    if Votes not in certificate.evidence.facts:
        return {}
    votes = certificate.evidence.fact(Votes)
    return {
        exact_text(float(fraction)): {
            exact_text(float(epsilon)): tally(marks(certificate, float(fraction), epsilon, None))
            for epsilon in epsilons
        }
        for fraction in votes.fractions
    }


def tally(found: Marks) -> CellTally:
    """Count marks."""
    hot, cold = int((found > 0).sum()), int((found < 0).sum())
    return CellTally(hot, cold, found.size - hot - cold)


def _votes(certificate: "Certificate") -> Votes:
    if Votes not in certificate.evidence.facts:
        raise StoredDataError("no votes were counted for this certificate: certify with cells=(0.5, 0.3, 0.1)")
    return certificate.evidence.fact(Votes)


def _shape(certificate: "Certificate", size: int) -> tuple[int, ...]:
    shape = certificate.record.map_shape
    return shape if math.prod(shape) == size else (size,)
