"""What each record proves at every stop of the page's sliders: a page answers any question about a run by looking up.

Everything is asked of stacked evidence; nothing here knows a rule or a law.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from attribound.bounds.cells import Majority
from attribound.bounds.evidence import Evidence
from attribound.bounds.facts import Closeness
from attribound.bounds.visible import visible_cosine
from attribound.checks import FloatArray
from attribound.rounding import in_units, whole_units

COSINES = (0.0, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
MANY = 5_000
"""Runs with more records have half as many stops: a page must be made in seconds."""
_STEPS, _HALVINGS, _REFINED = 200, 28, 9
_TINY = 1e-9

Units = npt.NDArray[np.int64]


@final
@dataclass(frozen=True)
class Block:
    """Records whose evidence is asked at once.

    Attributes:
        rows: (n,) their places in the run.
        evidence: about all of them.
        draws: (n, 1) draws behind each map.
        stated: per cosine, (n,) the largest epsilon that each record states, all of them proved.
        visible: per cosine, the same for maps as sampled.
    """

    rows: npt.NDArray[np.int64]
    evidence: Evidence
    draws: FloatArray
    stated: dict[float, FloatArray]
    visible: dict[float, FloatArray]

    @classmethod
    def join(cls, parts: Sequence["Block"]) -> "Block":
        """All of them as one; their evidence must have the same shape."""

        def together(name: str) -> dict[float, FloatArray]:
            return {c: np.concatenate([getattr(one, name)[c] for one in parts]) for c in getattr(parts[0], name)}

        return cls(
            rows=np.concatenate([one.rows for one in parts]),
            evidence=Evidence.join([one.evidence for one in parts]),
            draws=np.concatenate([one.draws for one in parts]),
            stated=together("stated"),
            visible=together("visible"),
        )


@final
@dataclass(frozen=True)
class Scale:
    """The stops of the epsilon slider, in units of the last digit shown.

    Attributes:
        digits: digits after the point of every epsilon shown.
        step: units between two stops.
        count: number of stops; the first is at one step.
    """

    digits: int
    step: int
    count: int

    @classmethod
    def up_to(cls, reach: float, steps: int) -> "Scale":
        """About this number of stops, of a round size, that cover the reach."""
        digits = 4 if reach <= 0 else max(3 - math.floor(math.log10(reach)), 0)
        top = whole_units(reach, digits)
        step = _nice(top / steps)
        return cls(digits, step, math.ceil(top / step))

    def grid(self) -> FloatArray:
        """(count,) the stops as epsilons, a hair above their decimal values: a proof there covers those."""
        stops = [float(in_units(self.step * number, self.digits)) for number in range(1, self.count + 1)]
        return np.asarray(np.nextafter(np.array(stops), np.inf))


@final
@dataclass(frozen=True)
class Proofs:
    """What N records prove.

    Attributes:
        cosines: (C,) increasing.
        scale: the stops.
        units: (N, C) largest epsilon proved for each cosine, in units, 0 if none; falls along a row.
        visible: (N, C) the same for maps as sampled.
        curves: by row, the proved cosine at each stop in thousandths, rounded down; -1 if none. Only rows asked for.
        anything: (N,) whether anything is proved at all, however small the change.
        classes: (N,) up to which size of change the smoothed model's class is proved to stay, in units; None if the
            run did not ask.
    """

    cosines: tuple[float, ...]
    scale: Scale
    units: Units
    visible: Units
    curves: dict[int, list[int]]
    anything: npt.NDArray[np.bool_]
    classes: Units | None


def prove(blocks: Sequence[Block], count: int, cosines: Sequence[float], drawn: frozenset[int]) -> Proofs:
    """Derive what the records prove from their evidence.

    Args:
        blocks: all records about which anything is known.
        count: number of rows, errors included.
        cosines: cosines that the slider must stop at.
        drawn: rows whose curves are wanted.
    """
    wanted = tuple(sorted({*COSINES, *cosines}))
    scale = Scale.up_to(_reach(blocks), _STEPS // 2 if count > MANY else _STEPS)
    grid = scale.grid()
    units, visible = (np.zeros((count, len(wanted)), np.int64) for _ in range(2))
    anything, classes = np.zeros(count, bool), np.zeros(count, np.int64)
    curves: dict[int, list[int]] = {}
    for block in blocks:
        tiny = np.array([_TINY * block.evidence.law.value])
        anything[block.rows] = block.evidence.cosine(tiny)[:, 0] >= 0
        if not scale.count:
            continue
        if Majority in block.evidence.facts:
            held = block.evidence.fact(Majority).radius(block.evidence.law)[:, 0]
            classes[block.rows] = [whole_units(radius, scale.digits) for radius in held.tolist()]
        known = block.evidence.cosine(grid)
        units[block.rows] = _largest(known, wanted, block.stated, scale)
        if Closeness in block.evidence.facts:
            seen = visible_cosine(block.evidence, grid, block.draws)
            visible[block.rows] = _largest(seen, wanted, block.visible, scale)
        curves |= {row: _thousandths(known[at]) for at, row in enumerate(block.rows.tolist()) if row in drawn}
    asked = any(Majority in block.evidence.facts for block in blocks)
    return Proofs(wanted, scale, _falling(units), _falling(visible), curves, anything, classes if asked else None)


def _reach(blocks: Sequence[Block]) -> float:
    """No record proves anything beyond this epsilon, or hardly."""
    best = 0.0
    for block in blocks:
        law = block.evidence.law
        halves: FloatArray = law.reach * np.ldexp(1.0, -np.arange(_HALVINGS))
        halves = halves[2 * halves > best]
        held = (block.evidence.cosine(halves) >= 0).any(axis=0)
        if not held.any():
            continue
        low = float(halves[held.argmax()])
        finer: FloatArray = np.linspace(low, min(2 * low, law.reach), _REFINED, dtype=np.float64)
        last = int(np.flatnonzero((block.evidence.cosine(finer) >= 0).any(axis=0)).max(initial=0))
        best = max(best, float(finer[min(last + 1, _REFINED - 1)]))
    return best


def _largest(known: FloatArray, cosines: tuple[float, ...], stated: dict[float, FloatArray], scale: Scale) -> Units:
    """(n, C) the last stop at which each cosine holds, or what a record states.

    A proof at a stop covers all smaller changes.
    """
    found = np.zeros((len(known), len(cosines)), np.int64)
    for column, cosine in enumerate(cosines):
        holds = known >= cosine
        found[:, column] = scale.step * np.where(holds.any(axis=1), holds.shape[1] - holds[:, ::-1].argmax(axis=1), 0)
        if cosine in stated:
            exact = [whole_units(value, scale.digits) for value in stated[cosine].tolist()]
            found[:, column] = np.maximum(found[:, column], np.array(exact, np.int64))
    return found


def _falling(units: Units) -> Units:
    """What is proved for a cosine is proved for every smaller one."""
    return np.asarray(np.maximum.accumulate(units[:, ::-1], axis=1)[:, ::-1])


def _thousandths(curve: FloatArray) -> list[int]:
    return [whole_units(value, 3) if value >= 0 else -1 for value in curve.tolist()]


def _nice(value: float) -> int:
    """The smallest of 1, 2, 5, 10, ... that is not below the value."""
    power = 10 ** max(math.floor(math.log10(value)), 0) if value > 1 else 1
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value)
