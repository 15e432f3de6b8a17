"""What each record proves on a common grid: enough for a page to answer any question about the run by looking up."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import final

import numpy as np

from attribound.bounds.curvature import CURVATURE
from attribound.bounds.many import cosines_of_many, family
from attribound.bounds.rules import Evidence
from attribound.checks import FloatArray

COSINES = (0.0, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
_STEPS, _SHOWN, _BLOCK = 400, 80, 1000
_ALARMING_STEPS = 3
"""A stated epsilon so many grid steps above the one derived here is reported: it does not follow from the evidence."""


@final
@dataclass(frozen=True)
class Proofs:
    """What N records prove.

    Attributes:
        cosines: (C,) increasing.
        epsilons: (N, C) largest epsilon proved for each cosine, 0.0 if none; falls along a row.
        grid: (S,) epsilons at which the curves are known.
        curves: (N, S) proved cosine at each of them, -1.0 if none.
        overstated: records whose stated numbers do not follow from their evidence; the derived ones are used.
    """

    cosines: tuple[float, ...]
    epsilons: FloatArray
    grid: FloatArray
    curves: FloatArray
    overstated: list[int]


def prove(
    evidences: Sequence[Evidence | None], stated: Sequence[Mapping[float, float]], cosines: Sequence[float]
) -> Proofs:
    """Derive what the records prove from their evidence, and take over what they state where it follows from it.

    Args:
        evidences: one per record; None where nothing is known (an error).
        stated: per record, the largest epsilon that it states by cosine.
        cosines: cosines that the grid must have.
    """
    wanted = tuple(sorted({*COSINES, *cosines}))
    top = max((_reach(group) for group in _families(evidences).values()), default=0.0)
    grid = np.linspace(0.0, top, _STEPS + 1)[1:]
    every = grid[:: _STEPS // _SHOWN]
    found = np.zeros((len(evidences), len(wanted)))
    curves = np.full((len(evidences), len(every)), -1.0)
    for members in _families(evidences).values():
        for block in (members[start : start + _BLOCK] for start in range(0, len(members), _BLOCK)):
            rows = [row for row, _ in block]
            known = cosines_of_many([one for _, one in block], grid)
            found[rows] = np.stack([_largest(known >= cosine, grid) for cosine in wanted], axis=1)
            curves[rows] = known[:, :: _STEPS // _SHOWN]
    alarming = _ALARMING_STEPS * top / _STEPS
    overstated = [
        row
        for row, (evidence, one) in enumerate(zip(evidences, stated, strict=True))
        if evidence is not None and not _take_over(found[row], wanted, one, evidence, alarming)
    ]
    return Proofs(wanted, np.maximum.accumulate(found[:, ::-1], axis=1)[:, ::-1], every, curves, overstated)


Members = list[tuple[int, Evidence]]


def _families(evidences: Sequence[Evidence | None]) -> dict[object, Members]:
    groups: dict[object, Members] = defaultdict(list)
    for row, one in enumerate(evidences):
        if one is not None and one.norm_lower > 0:
            groups[family(one)].append((row, one))
    return groups


def _reach(members: Members) -> float:
    """No record of the group proves anything beyond this epsilon: that of the best norm with the best spread."""
    first = members[0][1]
    best = Evidence(
        dim=first.dim,
        noise_kind=first.noise_kind,
        scale=first.scale,
        limit=1.0,
        norm_lower=min(max(one.norm_lower / one.limit for _, one in members), 1.0),
        eigenvalue_upper=min(one.eigenvalue / one.limit**2 for _, one in members),
    )
    if not (first.probability_gradient and first.noise_kind == "gaussian"):
        return best.max_epsilon(0.0)
    by_curvature = max(one.norm_lower for _, one in members) * first.scale**2 / CURVATURE
    return max(best.max_epsilon(0.0), by_curvature)


def _largest(holds: np.ndarray, grid: FloatArray) -> FloatArray:
    """(N,) the largest epsilon at which each row holds; a proof at epsilon covers every smaller one."""
    last = holds.shape[1] - 1 - holds[:, ::-1].argmax(axis=1)
    return np.where(holds.any(axis=1), grid[last], 0.0)


def _take_over(
    found: FloatArray,
    cosines: tuple[float, ...],
    stated: Mapping[float, float],
    evidence: Evidence,
    alarming: float,
) -> bool:
    """Replace grid values by the exact ones that a record states and its evidence proves.

    What is not proved is never taken over, however little it is; False if it is alarmingly more.
    """
    honest = True
    for cosine, epsilon in stated.items():
        column = cosines.index(cosine)
        if epsilon > found[column]:
            honest = honest and epsilon <= found[column] + alarming
            found[column] = epsilon if evidence.best(epsilon)[0] >= cosine else found[column]
    return honest


def whole_units(values: FloatArray, digits: int) -> list[int]:
    """Values in units of 10^-digits, rounded down exactly."""
    scale = Decimal(1).scaleb(digits)
    return [int((Decimal(float(value)) * scale).to_integral_value(ROUND_FLOOR)) for value in values]
