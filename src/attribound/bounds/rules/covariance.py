"""The covariance rule: it also uses how little the attribution varies under the noise.

Let L be the likelihood ratio of the shifted noise, lambda the largest eigenvalue of the covariance of the draws,
c the norm and M the limit. For *any* truncation W of L (0 <= W <= L, a function of the noise)

    sin(angle) <= (M tau + sqrt(lambda v)) / (c (1 - tau)),   tau = 1 - E[W],  v = Var(W).

Truncating at infinity is plain Cauchy-Schwarz; truncating pays M for the rare draws whose weight explodes and the
spread for the rest. Every truncation is valid, so the best one is searched numerically without risk
(proof, and why the value at epsilon covers all smaller shifts: docs/theory/covariance-rule.md).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from attribound.bounds.facts import Length, Spread
from attribound.bounds.laws import Law, Truncation
from attribound.bounds.rules.base import Rule
from attribound.bounds.tight import VACUOUS
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence

IntArray = npt.NDArray[np.intp]

_ZOOMS, _MANY = 3, 4096
"""Levels are refined twice, but not for more questions at once than this: pages do with the first grid."""

_FEW = 64
"""So few questions look at every level of a grid at once: one call costs more than the levels that it spares."""

_NARROW = (0.2, 0.05)
"""Of the distance between levels: how far apart three more are, around where the best seems to be."""

_FLAT = 1e-12
"""What may still be gained, in relation to a value, where it is not looked for: less than is allowed for rounding."""

_WINDOW = np.arange(-2, 3)
"""Levels of the next grid that are looked at, around where the best seems to be."""


_STEPS = 4
"""Newton's steps of a quick search: one less leaves a few records to the full one."""


@final
@dataclass(frozen=True)
class Covariance(Rule):
    """The best truncation of the likelihood ratio, against the largest eigenvalue.

    Attributes:
        hasty: whether a good truncation will do where there are many questions: enough to check what is stated.
    """

    hasty: bool = False
    name, words = "covariance", "the covariance rule (length, limit and spread)"
    needs = (Length, Spread)
    searches = True

    def applies(self, evidence: "Evidence") -> bool:
        """Only for laws whose likelihood ratio can be truncated."""
        return super().applies(evidence) and evidence.law.levels > 0

    @property
    def quick(self) -> "Covariance":
        """Every truncation is valid, so one that is almost the best proves what is stated."""
        return Covariance(hasty=True)

    def cosine(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """From the smallest sine over all truncations."""
        limit = np.asarray(evidence.limit, np.float64)
        kappa = np.minimum(np.asarray(evidence.norm_lower) / limit, 1.0)
        spread = np.sqrt(evidence.eigenvalue) / limit
        # The sine times kappa.
        longest = _smallest(_Price(np.ones(()), spread, kept=True), evidence.law, epsilon, hasty=self.hasty)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # nan, of no length, is not below 1
            worst = longest / kappa * (1 + 1e-12)  # a root follows: it magnifies rounding
            known = (worst < 1) & (kappa > 0)  # a zero may be written with a minus
            return np.where(known, np.sqrt(np.maximum((1 - worst) * (1 + worst), 0.0)), VACUOUS)

    def displacement(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """||h~ - h|| <= (M + ||h||) tau + sqrt(lambda v); here the norm is bounded from *above*."""
        reach = np.asarray(evidence.limit, np.float64) + evidence.norm_upper
        price = _Price(reach, np.sqrt(evidence.eigenvalue), kept=False)
        return _smallest(price, evidence.law, epsilon, hasty=self.hasty)


@final
@dataclass(frozen=True)
class _Price:
    """What a truncation costs each record.

    Attributes:
        missing: per mass that the truncation leaves out.
        deviation: per deviation of what it leaves.
        kept: whether all of it is divided by the mass that is left.
    """

    missing: FloatArray
    deviation: FloatArray
    kept: bool

    def of(self, cut: Truncation) -> FloatArray:
        """The cost of truncations that broadcast against the records; what says nothing costs infinitely much."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            missing, deviation = _parts(cut, self.kept)
            total = self.missing * missing + self.deviation * deviation
        return np.where(np.isnan(total), np.inf, total)

    def spread(self, shape: tuple[int, ...]) -> "_Price":
        """The same for flat records of this shape."""
        return _Price(_spread(self.missing, shape), _spread(self.deviation, shape), self.kept)

    def of_levels(self, cut: Truncation) -> FloatArray:
        """The same with a last axis for levels."""
        return _Price(self.missing[..., None], self.deviation[..., None], self.kept).of(cut)


def _parts(cut: Truncation, kept: bool) -> tuple[FloatArray, FloatArray]:
    left = 1 - cut.missing if kept else np.ones(())
    return cut.missing / left, cut.deviation / left


def _smallest(price: _Price, law: Law, epsilon: FloatArray, *, hasty: bool = False) -> FloatArray:
    """The smallest cost over truncations; shifts broadcast against the records. Every truncation is valid."""
    shift = np.asarray(epsilon, np.float64)
    if law.levels == 1:
        return price.of_levels(law.truncate(shift[..., None], np.zeros(1)))[..., 0]
    records = np.broadcast_shapes(price.missing.shape, price.deviation.shape)
    shape = np.broadcast_shapes(records, shift.shape)
    count = int(np.prod(shape, dtype=int))
    if count <= _FEW:
        return _zoomed(price, law, shift)
    search = _descended if hasty else _bracketed if count <= _MANY else _rough
    if shift.ndim > 1 or records[-1:] != (1,) or shift.size * _FEW > count:
        return search(price.spread(shape), law, _spread(shift, shape)).reshape(shape)
    each = price.spread(records)  # all of them share the truncations of each shift
    columns = [search(each, law, shift.reshape(-1)[at : at + 1]).reshape(records) for at in range(shift.size)]
    return np.concatenate(columns, axis=-1)


def _spread(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Flat, one number for each of the shape."""
    return np.broadcast_to(values, shape).ravel()


def _zoomed(price: _Price, law: Law, shift: FloatArray) -> FloatArray:
    """Of few questions: a grid of levels, refined around its smallest value."""
    low, high = law.level_range(shift)
    best = np.asarray(np.inf)
    for _ in range(_ZOOMS):
        grid = _Grid(low, high, law.levels)
        values = price.of_levels(law.truncate(shift[..., None], grid.levels(np.arange(law.levels))))
        best = np.minimum(best, values.min(axis=-1))
        low, high = grid.around(np.argmin(values, axis=-1))
    return best


@final
@dataclass(frozen=True)
class _Grid:
    """Levels at equal distances, for each question its own: from `low` (...) to `high` (...)."""

    low: FloatArray
    high: FloatArray
    count: int

    def levels(self, places: npt.NDArray[Any]) -> FloatArray:
        """(..., L) the levels at places (..., L) of 0 to count - 1; parts of places count too."""
        steps = np.linspace(0.0, 1.0, self.count)
        parts = steps[places] if places.dtype.kind == "i" else places / (self.count - 1)
        return self.low[..., None] + (self.high - self.low)[..., None] * parts

    def around(self, place: IntArray) -> tuple[FloatArray, FloatArray]:
        """Ends of the next grid: the levels beside a place (...)."""
        ends = self.levels(np.clip(place[..., None] + np.array([-1, 1]), 0, self.count - 1))
        return ends[..., 0], ends[..., 1]


def _bracketed(price: _Price, law: Law, shift: FloatArray) -> FloatArray:
    """Of many questions (N,) the same, shifts (N,) or (1,): only levels around where parabolas say the best ones are.

    Values fall and then rise, so the smallest of a few neighbours is that of the whole grid unless it is at their end.
    Where it is, and values still fall, every level is looked at.
    """
    count, every = law.levels, np.arange(len(price.missing))
    low, high = (np.broadcast_to(end, every.shape) for end in law.level_range(shift))
    grid = _Grid(low, high, count)

    def look(levels: FloatArray) -> FloatArray:
        return price.of_levels(law.truncate(shift[:, None], levels))

    best, at, three = _first(price, law, shift, grid)
    guess = at + _vertex(three)
    for width in _NARROW:
        guess += width * _vertex(look(grid.levels(guess[:, None] + width * np.arange(-1.0, 2.0))))
    lost = np.zeros(every.shape, bool)
    for _ in range(_ZOOMS - 1):
        before, after = np.clip(at - 1, 0, count - 1), np.clip(at + 1, 0, count - 1)
        grid = _Grid(*grid.around(at), count)
        wanted = np.nan_to_num((guess - before) / (after - before)) * (count - 1)
        places = np.clip(np.rint(wanted), 2, count - 3).astype(np.intp)[:, None] + _WINDOW
        values = look(grid.levels(places))
        chosen = np.argmin(values, axis=1)
        smallest, at = values[every, chosen], places[every, chosen]
        best, middle = np.minimum(best, smallest), np.clip(chosen, 1, len(_WINDOW) - 2)
        falling = (chosen != middle) & (at > 0) & (at < count - 1)
        with np.errstate(invalid="ignore"):  # where every cost is infinite, nothing is lost
            lost |= falling & (count * (values[every, middle] - smallest) > _FLAT * smallest)
        guess = places[every, middle] + _vertex(values[every[:, None], middle[:, None] + np.arange(-1, 2)])
    if lost.any():
        again = _Price(price.missing[lost], price.deviation[lost], price.kept)
        best[lost] = _zoomed(again, law, shift if shift.size == 1 else shift[lost])
    return best


def _descended(price: _Price, law: Law, shift: FloatArray) -> FloatArray:
    """Of many questions (N,) a cost that is nearly the smallest, by Newton's steps from the first grid's best level.

    Shifts (N,) begin at the place of the best level in the grid of their median.
    """
    low, high = law.level_range(shift)
    place = _hull(law, float(np.median(shift)), price.kept).cheapest(price)[1]
    level = low + (high - low) * place / (law.levels - 1)
    best = np.full(level.shape, np.inf)
    for _ in range(_STEPS):
        cut = law.truncate(shift, level)
        cost = price.of(cut)
        best = np.minimum(best, cost)
        # Where costs are divided by the mass left, the smallest one is that of so much more per missing mass.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = (price.missing + cost * price.kept) / price.deviation
        level = np.clip(law.better_level(shift, level, cut, ratio), low, high)
    return best


def _rough(price: _Price, law: Law, shift: FloatArray) -> FloatArray:
    """Of very many questions (N,), the smallest of the first grid only."""
    if shift.size > 1:
        return _first(price, law, shift, _Grid(*law.level_range(shift), law.levels))[0]
    return price.of(_hull(law, float(shift[0]), price.kept).cheapest(price)[0])


def _first(price: _Price, law: Law, shift: FloatArray, grid: _Grid) -> tuple[FloatArray, IntArray, FloatArray]:
    """Of the first grid the smallest costs (N,), their places (N,) and three costs (N, 3) around these.

    Records that share a shift share its truncations. Others look at each stride-th level, then between its neighbours.
    """
    count, every = law.levels, np.arange(len(price.missing))[:, None]
    if shift.size == 1:
        hull = _hull(law, float(shift[0]), price.kept)
        around = np.clip(hull.cheapest(price)[1], 1, count - 2)[:, None] + np.arange(-1, 2)
        three = price.of_levels(Truncation(hull.cut.missing[around], hull.cut.deviation[around]))
        return three.min(axis=1), around[every[:, 0], np.argmin(three, axis=1)], three
    stride = math.isqrt(count - 1)
    coarse = np.arange(0, count, stride)
    values = price.of_levels(law.truncate(shift[:, None], grid.levels(coarse)))
    places = np.clip(coarse[np.argmin(values, axis=1)][:, None] + np.arange(1 - stride, stride), 0, count - 1)
    values = price.of_levels(law.truncate(shift[:, None], grid.levels(places)))
    chosen = np.argmin(values, axis=1)[:, None]
    inner = np.clip(chosen, 1, values.shape[1] - 2)
    return values[every, chosen][:, 0], places[every, chosen][:, 0], values[every, inner + np.arange(-1, 2)]


@final
@dataclass(frozen=True)
class _Hull:
    """The first grid of a shift that many records share: costs are lines in the price of deviation.

    Attributes:
        cut: truncations (L,).
        corners: (C,) those that cost least at some price, by rising price of deviation over that of missing mass.
        ratios: (C - 1,) the prices at which the next corner takes over.
    """

    cut: Truncation
    corners: IntArray
    ratios: FloatArray

    def cheapest(self, price: _Price) -> tuple[Truncation, IntArray]:
        """(N,) the truncations that cost records least, and their places in the grid."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = price.deviation / price.missing
        at = self.corners[np.minimum(np.searchsorted(self.ratios, ratio), len(self.ratios))]
        return Truncation(self.cut.missing[at], self.cut.deviation[at]), at


@lru_cache(maxsize=512)
def _hull(law: Law, shift: float, kept: bool) -> _Hull:
    """The corners of the convex hull below missing mass and deviation of a grid's truncations."""
    low, high = law.level_range(np.array([shift]))
    cut = law.truncate(np.array([shift]), _Grid(low, high, law.levels).levels(np.arange(law.levels))[0])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        missing, deviation = (part.tolist() for part in _parts(cut, kept))
    corners, ratios = list[int](), list[float]()
    # From the largest deviation to the smallest: the more a deviation costs, the further one goes.
    for place in reversed(range(len(missing))):
        if not (math.isfinite(missing[place]) and math.isfinite(deviation[place])):
            continue
        while corners:
            spared = deviation[corners[-1]] - deviation[place]
            turn = (missing[place] - missing[corners[-1]]) / spared if spared > 0 else math.inf
            if not ratios or turn > ratios[-1]:
                ratios.append(turn)
                break
            ratios.pop()
            corners.pop()
        corners.append(place)
    return _Hull(cut, np.array(corners or [0]), np.array(ratios))


def _vertex(three: FloatArray) -> FloatArray:
    """(N,) where the parabola through values (N, 3) at -1, 0 and 1 is smallest, in [-2, 2]; 0 if nowhere."""
    before, here, after = three.T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bend = before - 2 * here + after
        place = np.clip(0.5 * (before - after) / bend, -2.0, 2.0)
    return np.where((bend > 0) & np.isfinite(place), place, 0.0)
