"""Check what stored records say about cells and the class: derived again from the counts that they keep."""

import math
from dataclasses import fields

import numpy as np

from attribound.bounds.cells import CellFact
from attribound.bounds.facts import Fact
from attribound.bounds.orders import Orders
from attribound.certificates.cells import tally
from attribound.certificates.certificate import Certificate
from attribound.certificates.reasons import overstated_reasons
from attribound.errors import AttriboundError

_TOLERANCE = 1e-9
_SAMPLED_AGAIN = 1e-5
"""Relative difference that another processor's last digits may make in a sampled number."""

_COUNTS = {"hot": "draws", "tied": "draws", "count": "tested"}
_RECOUNTED, _RECOUNTED_PART = 2.0, 1e-3
"""Counts, and of what: they may differ by so much, and by no larger part of the draws, for a vote between nearly equal
cells or classes hangs on last digits too."""

_REORDERED, _REORDERED_PART = 1e-3, 1e-4
"""Of itself and of the largest radius: radii of orders follow from counts at many thresholds, of which last digits move
one draw now and then."""


def cell_problems(certificate: Certificate) -> list[str]:
    """What does not fit, whatever is stated: alpha, shapes, names and radii that cannot be."""
    record, facts = certificate.record, certificate.evidence.facts.values()
    problems = _orders(certificate)
    if (spent := sum(fact.spent for fact in facts)) > record.alpha * (1 + _TOLERANCE):
        problems.append(f"its facts spent alpha {spent:g}, more than {record.alpha:g}")
    for size in [fact.size for fact in facts if isinstance(fact, CellFact)]:
        if size != math.prod(record.map_shape):
            problems.append(f"holds facts about {size} cells of a map of shape {record.map_shape}")
    if certificate.map is not None and record.map_shape not in ((), certificate.map.shape):
        problems.append(f"states map_shape {record.map_shape}, but its map has shape {certificate.map.shape}")
    return problems


def _orders(certificate: Certificate) -> list[str]:
    """Names and radii that cannot be."""
    record, orders = certificate.record, certificate.evidence.facts.get(Orders)
    problems = []
    if certificate.features and len(certificate.features) != math.prod(record.map_shape):
        problems.append(f"names {len(certificate.features)} features of a map of shape {record.map_shape}")
    if isinstance(orders, Orders) and orders.radius.max() > orders.most(record.draws, certificate.law):
        problems.append(f"orders hold further than {record.draws} draws can prove")
    return problems


def overstated_cells(certificate: Certificate) -> list[str]:
    """What is stated about cells, reasons and the class, and the evidence does not give."""
    problems = [*_overstated_tallies(certificate), *overstated_reasons(certificate)]
    stated, given = certificate.record.prediction_radius, certificate.prediction_radius
    if stated is not None and not stated <= given + _TOLERANCE:
        problems.append(f"states prediction_radius {stated:.9g}, but its evidence gives only {given:.9g}")
    return problems


def _overstated_tallies(certificate: Certificate) -> list[str]:
    """Fractions that were not counted, and cells stated as proved that are not."""
    problems = []
    for fraction, table in certificate.record.cells.items():
        for epsilon, stated in table.items():
            try:
                derived = tally(certificate.cells(float(fraction), float(epsilon)))
            except AttriboundError as error:
                problems.append(f"states cells at {fraction}: {error}")
                continue
            whole = stated.hot + stated.cold + stated.unproved == derived.hot + derived.cold + derived.unproved
            if not (whole and 0 <= stated.hot <= derived.hot and 0 <= stated.cold <= derived.cold):
                problems.append(f"states cells({fraction}, {epsilon}) = {stated}, but its evidence gives {derived}")
    return problems


def facts_alike(stored: Fact, again: Fact) -> bool:
    """Whether a fact is what the same draws prove again, up to what another processor's last digits change."""
    for field in fields(again):
        a, b = (np.asarray(getattr(fact, field.name), np.float64) for fact in (stored, again))
        relative, absolute = _slack(again, field.name)
        if a.shape != b.shape or not np.allclose(a, b, rtol=relative, atol=absolute):
            return False
        if _is_radius(again, field.name) and (a[b == 0] > 0).any():  # no last digits prove what was not proved
            return False
    return True


def _slack(fact: Fact, name: str) -> tuple[float, float]:
    """Relative and absolute difference that one of a fact's numbers may have when it is sampled again."""
    if name in _COUNTS:
        return 0.0, min(_RECOUNTED, _RECOUNTED_PART * float(getattr(fact, _COUNTS[name])))
    if _is_radius(fact, name):
        return _REORDERED, _REORDERED_PART * float(np.max(getattr(fact, name)))
    return _SAMPLED_AGAIN, _TOLERANCE


def _is_radius(fact: Fact, name: str) -> bool:
    return isinstance(fact, Orders) and name == "radius"
