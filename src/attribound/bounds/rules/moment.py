"""The moment rule: a saturating loss sees that projections are close to normal (docs/theory/moment-rule.md).

It answers for the cosines that were asked before the draws; between them, the larger one's epsilon holds too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from attribound.bounds.facts import Basis, Fact, Length, Numbers
from attribound.bounds.moment import BoolArray, Design, Moments, largest_shift, supports
from attribound.bounds.rules.base import Rule
from attribound.bounds.shares import SHARES
from attribound.bounds.tight import VACUOUS
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence

_SLACK = 1e-9
_MOMENTS = ("cosine", "centre", "tilt", "stretch", "second", "fourth", "draws")
_LOSS = ("quadratic", "quartic", "ceiling")


@final
@dataclass(frozen=True, eq=False)
class MomentBounds(Fact):
    """Moments of the draws along the directions that matter, one column per cosine that was asked.

    Attributes:
        cosine: (C,) the cosines.
        shift: (C,) the largest shift, in sigmas, up to which each is certified; it follows from the rest and the norm.
        centre: (C,) length of the pilot's mean, over the limit.
        tilt: (C,) upper bound on the angle between the pilot's mean and the exact map.
        stretch: (C,) by how much the draws' part along the pilot's mean was stretched.
        second: (C,) upper bound on the sampled second moments.
        fourth: (C,) upper bound on the sampled fourth moments.
        quadratic: (C,) the loss's coefficients, fixed on the pilot.
        quartic: (C,) likewise.
        ceiling: (C,) likewise.
        draws: (C,) draws after the pilot.
        alpha: (C,) failure probability of each cosine's own event.
    """

    cosine: FloatArray
    shift: FloatArray
    centre: FloatArray
    tilt: FloatArray
    stretch: FloatArray
    second: FloatArray
    fourth: FloatArray
    quadratic: FloatArray
    quartic: FloatArray
    ceiling: FloatArray
    draws: FloatArray
    alpha: FloatArray
    name, boxed = "moments", True

    @classmethod
    def of(cls, moments: Moments, *, norm: float, limit: float, alpha: float) -> Self:
        """The fact of one record, with the shifts that follow; `moments` hold an array of cosines."""
        shape = np.shape(moments.cosine)
        columns = {name: getattr(moments, name) for name in _MOMENTS} | vars(moments.design)
        columns["shift"] = largest_shift(moments, norm_lower=norm, limit=limit, alpha=alpha)
        columns["alpha"] = alpha
        return cls(**{name: np.broadcast_to(np.float64(column), shape).copy() for name, column in columns.items()})

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """A ValueError also for columns from which nothing can be derived."""
        moments = super().from_json(stored)
        columns = [getattr(moments, name) for name in stored]
        if (
            len({np.shape(column) for column in columns}) != 1
            or np.ndim(moments.cosine) != 1
            or not len(moments.cosine)
        ):
            raise ValueError("moments do not hold one number per cosine")
        if min(map(min, columns)) < 0 or max(moments.cosine) >= 1:
            raise ValueError("moments hold a number that is negative, or a cosine that is not below 1")
        if not (min(moments.alpha) > 0 and max(moments.alpha) < 1 and min(moments.draws) >= 1):
            raise ValueError("moments have an alpha that is not in (0, 1), or no draws")
        if not (min(moments.stretch) > 0 and min(moments.ceiling) > 0):
            raise ValueError("moments have a stretch or a ceiling that is not above 0")
        return moments

    def all(self) -> Moments:
        """The columns, without what follows from them."""
        design = Design(self.quadratic, self.quartic, self.ceiling)
        return Moments(design=design, **{name: getattr(self, name) for name in _MOMENTS})

    def each(self) -> list[Moments]:
        """The cosines one by one."""
        columns = {name: getattr(self, name).tolist() for name in (*_MOMENTS, *_LOSS)}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return [Moments(design=Design(*(row.pop(name) for name in _LOSS)), **row) for row in rows]

    @property
    def width(self) -> int:
        """One per cosine."""
        return len(self.cosine)

    @property
    def spent(self) -> float:
        """All cosines together."""
        return float(self.alpha.sum())

    def problems(self, basis: Basis) -> list[str]:
        """Within the draws and the share of alpha."""
        share, found = SHARES["moments"] * basis.alpha, []
        if self.spent > share * (1 + _SLACK) or not (self.alpha > 0).all():
            found.append(f"the moments spent alpha {self.spent:g}, more than their share {share:g}")
        if not ((self.draws >= 1) & (self.draws < basis.draws)).all():
            found.append(f"moments of {float(self.draws.max()):g} draws, of {basis.draws} with the pilot")
        if basis.block > 1:
            found.append("the moment rule does not apply to block means")
        return found


@final
class Moment(Rule):
    """Each cosine that was asked holds up to its shift."""

    name, words = "moment", "the moment rule (length, limit, second and fourth moments)"
    needs = (Length, MomentBounds)
    rounded = True

    def applies(self, evidence: "Evidence") -> bool:
        """Only for normal noise."""
        return super().applies(evidence) and evidence.law.normal_shift(0.0) is not None

    def cosine(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """The largest of the cosines whose shift is not exceeded."""
        moments, shift = evidence.fact(MomentBounds), evidence.law.normal_shift(epsilon)
        assert shift is not None
        holds = (np.asarray(shift)[..., None] <= moments.shift) & (moments.shift > 0)
        return np.asarray(np.where(holds, moments.cosine, VACUOUS).max(axis=-1))

    def start(self, evidence: "Evidence", cosine: float) -> FloatArray:
        """The largest shift of the cosines that are at least the one asked: the certified cosine falls in a step."""
        moments, unit = evidence.fact(MomentBounds), evidence.law.normal_shift(1.0)
        shift = np.where(moments.cosine >= cosine, moments.shift, 0.0).max(axis=-1) / unit
        return np.asarray(shift * (1 - 4e-16)).reshape(np.shape(evidence.norm_lower) or 1)

    def displacement(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """It says how far the map turns, not how far it moves."""
        return np.full(np.shape(epsilon), np.inf)

    def clear(self, evidence: "Evidence") -> BoolArray:
        """All records at once."""
        stacked = evidence.fact(MomentBounds)
        columns = {field.name: getattr(stacked, field.name)[:, 0] for field in fields(stacked)}
        return np.asarray(given(MomentBounds(**columns), evidence.norm_lower, evidence.limit).all(axis=-1))

    def problems(self, evidence: "Evidence") -> list[str]:
        """Shifts that are larger than what follows from the moments."""
        moments = evidence.fact(MomentBounds)
        bad = ~given(moments, evidence.norm_lower, evidence.limit)
        return [
            f"states the shift {shift:.9g} at cosine {cosine:g}, which its moments do not give"
            for shift, cosine in zip(moments.shift[bad], moments.cosine[bad], strict=True)
        ]


def given(moments: MomentBounds, norm: Numbers, limit: Numbers) -> BoolArray:
    """(..., C) which stated shifts follow from the moments; norm and limit (..., 1) or numbers."""
    shift = moments.shift * (1 - _SLACK)
    return (shift <= 0) | supports(moments.all(), shift, norm_lower=norm, limit=limit, alpha=moments.alpha)
