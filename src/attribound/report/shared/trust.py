"""Which cells of a drawn record may be relied on, at every epsilon: what the page's trust mask is made of."""

from typing import Any

import numpy as np

from attribound.bounds.cells import Votes
from attribound.certificates.certificate import Certificate
from attribound.certificates.record import Record
from attribound.rounding import exact_text, whole_units

_MOST_CELLS, _MOST_NUMBERS = 1024, 300_000
"""A map with more cells has no mask on the page, nor has a page with more numbers: it must stay small."""


def trust(record: Record, digits: int, drawn: int) -> dict[str, Any] | None:
    """Per fraction and cell, up to which epsilon it is proved hot (positive) or cold (negative), in units.

    Args:
        record: whose cells.
        digits: units are of this many digits after the point.
        drawn: how many records the page draws.

    Returns:
        The shape of the map and the cells by fraction; None if they were not counted, or are too many.
    """
    if Votes.name not in record.facts:
        return None
    certificate = Certificate(record)
    votes = certificate.evidence.fact(Votes)
    if votes.size > _MOST_CELLS or votes.hot.size * drawn > _MOST_NUMBERS:
        return None
    shape = [size for size in certificate.cells(float(votes.fractions[0]), 0.0).shape if size > 1]
    return {
        "shape": shape,
        "fractions": {exact_text(float(part)): _signed(certificate, float(part), digits) for part in votes.fractions},
    }


def _signed(certificate: Certificate, fraction: float, digits: int) -> list[int]:
    radii = np.ravel(certificate.cell_radius(fraction)).tolist()
    sides = np.ravel(certificate.cells(fraction, 0.0)).tolist()
    return [side * whole_units(radius, digits) for side, radius in zip(sides, radii, strict=True)]
