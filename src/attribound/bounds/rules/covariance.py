"""The covariance rule: it also uses how little the attribution varies under the noise.

Let L be the likelihood ratio of the shifted noise, lambda the largest eigenvalue of the covariance of the draws,
c the norm and M the limit. For *any* truncation W of L (0 <= W <= L, a function of the noise)

    sin(angle) <= (M tau + sqrt(lambda v)) / (c (1 - tau)),   tau = 1 - E[W],  v = Var(W).

Truncating at infinity is plain Cauchy-Schwarz; truncating pays M for the rare draws whose weight explodes and the
spread for the rest. Every truncation is valid, so the best one is searched numerically without risk
(proof, and why the value at epsilon covers all smaller shifts: docs/theory/covariance-rule.md).
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from attribound.bounds.facts import Length, Spread
from attribound.bounds.laws import Law, Truncation
from attribound.bounds.rules.base import Rule
from attribound.bounds.tight import VACUOUS
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence

_ZOOMS, _MANY = 3, 4096
"""Levels are refined twice, but not for more questions at once than this: pages do with the first grid."""

_FEW = 64
"""So few questions look at every level of a grid at once: one call costs more than the levels that it spares."""


@final
class Covariance(Rule):
    """The best truncation of the likelihood ratio, against the largest eigenvalue."""

    name, words = "covariance", "the covariance rule (length, limit and spread)"
    needs = (Length, Spread)
    searches = True

    def applies(self, evidence: "Evidence") -> bool:
        """Only for laws whose likelihood ratio can be truncated."""
        return super().applies(evidence) and evidence.law.levels > 0

    def cosine(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """From the smallest sine over all truncations."""
        limit = np.asarray(evidence.limit, np.float64)
        kappa = np.minimum(np.asarray(evidence.norm_lower) / limit, 1.0)
        spread = _wide(np.sqrt(evidence.eigenvalue) / limit)

        def lengthened(cut: Truncation) -> FloatArray:
            """The sine times kappa."""
            with np.errstate(divide="ignore", invalid="ignore"):
                kept = 1 - cut.missing
                total = cut.missing / kept + spread * (cut.deviation / kept)
            return np.where(np.isnan(total), np.inf, total)

        longest = smallest(lengthened, evidence.law, epsilon, kappa.shape)
        with np.errstate(divide="ignore", invalid="ignore"):  # nan, of no length at all, is not below 1: vacuous
            worst = longest / kappa * (1 + 1e-12)  # a root follows: it magnifies rounding
        return np.where(worst < 1, np.sqrt(np.maximum((1 - worst) * (1 + worst), 0.0)), VACUOUS)

    def displacement(self, evidence: "Evidence", epsilon: FloatArray) -> FloatArray:
        """||h~ - h|| <= (M + ||h||) tau + sqrt(lambda v); here the norm is bounded from *above*."""
        reach = _wide(np.asarray(evidence.limit, np.float64) + evidence.norm_upper)
        spread = _wide(np.sqrt(evidence.eigenvalue))
        return smallest(
            lambda cut: reach * cut.missing + spread * cut.deviation, evidence.law, epsilon, reach.shape[:-1]
        )


def _wide(values: FloatArray) -> FloatArray:
    """With a last axis for the levels."""
    return np.asarray(values, np.float64)[..., None]


def smallest(
    value: Callable[[Truncation], FloatArray], law: Law, epsilon: FloatArray, records: tuple[int, ...]
) -> FloatArray:
    """The smallest value over truncations.

    Args:
        value: of truncations (..., L), for all records at once.
        law: what is truncated.
        epsilon: shifts; broadcast against the records.
        records: shape of the evidence. Many questions at once are answered with a coarser grid, which is valid too.
    """
    shift = np.asarray(epsilon, np.float64)
    if law.levels == 1:
        return value(law.truncate(shift[..., None], np.zeros(1)))[..., 0]
    stride = math.isqrt(law.levels - 1)
    count = int(np.prod(np.broadcast_shapes(records, shift.shape), dtype=int))
    if count <= _MANY:
        return _zoomed(value, law, shift, zooms=_ZOOMS, stride=1 if count <= _FEW else stride)
    stride = 1 if shift.size * _FEW <= count else stride  # records share the levels of a shift that all of them ask
    if shift.ndim == 0 or shift.shape[-1] == 1:
        return _zoomed(value, law, shift, zooms=1, stride=stride)
    columns = [_zoomed(value, law, shift[..., at : at + 1], zooms=1, stride=stride) for at in range(shift.shape[-1])]
    return np.concatenate(columns, axis=-1)


def _zoomed(
    value: Callable[[Truncation], FloatArray], law: Law, shift: FloatArray, *, zooms: int, stride: int
) -> FloatArray:
    """A grid of levels, refined around its smallest value.

    A stride above 1 looks at each stride-th level, then at those between its neighbours: values fall and then rise.
    """
    steps, last = np.linspace(0.0, 1.0, law.levels), law.levels - 1
    low, high = law.level_range(shift)
    best, beside = np.asarray(np.inf), np.arange(1 - stride, stride)

    def look(places: npt.NDArray[np.intp]) -> FloatArray:
        levels = low[..., None] + (high - low)[..., None] * steps[places]
        return value(_truncate(law, shift, levels))

    for zoom in range(zooms):
        places = np.arange(0, law.levels, stride)
        values = look(places)
        if stride > 1:
            places = np.clip(places[np.argmin(values, axis=-1)][..., None] + beside, 0, last)
            values = look(places)
        best = np.minimum(best, values.min(axis=-1))
        if zoom + 1 < zooms:
            at = np.take_along_axis(np.broadcast_to(places, values.shape), np.argmin(values, axis=-1)[..., None], -1)
            ends = np.clip(at + np.array([-1, 1]), 0, last)
            low, high = np.moveaxis(low[..., None] + (high - low)[..., None] * steps[ends], -1, 0)
    return best


def _truncate(law: Law, shift: FloatArray, levels: FloatArray) -> Truncation:
    """Truncations at levels (..., L); records that look at the same levels of the same shift share them."""
    if shift.size > 1 or levels.size <= law.levels:
        return law.truncate(shift[..., None], levels)
    ends = levels[..., 0].ravel() + 1j * levels[..., -1].ravel()
    _, first, where = np.unique(ends, return_index=True, return_inverse=True)
    cut = law.truncate(shift.reshape(1, 1), levels.reshape(-1, levels.shape[-1])[first])
    missing, deviation = (one[where.ravel()].reshape(levels.shape) for one in (cut.missing, cut.deviation))
    return Truncation(missing, deviation)
