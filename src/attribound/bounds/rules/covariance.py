"""The covariance rule: it also uses how little the attribution varies under the noise.

Let L be the likelihood ratio of the shifted noise, lambda the largest eigenvalue of the covariance of the draws,
c the norm and M the limit. For *any* truncation W of L (0 <= W <= L, a function of the noise)

    sin(angle) <= (M tau + sqrt(lambda v)) / (c (1 - tau)),   tau = 1 - E[W],  v = Var(W).

Truncating at infinity is plain Cauchy-Schwarz; truncating pays M for the rare draws whose weight explodes and the
spread for the rest. Every truncation is valid, so the best one is searched numerically without risk
(proof, and why the value at epsilon covers all smaller shifts: docs/theory/covariance-rule.md).
"""

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
        kappa = _wide(np.minimum(np.asarray(evidence.norm_lower) / limit, 1.0))
        spread = _wide(np.sqrt(evidence.eigenvalue) / limit)

        def sine(cut: Truncation) -> FloatArray:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = (cut.missing + spread * cut.deviation) / (kappa * (1 - cut.missing))
            return np.where(np.isnan(ratio), np.inf, ratio)

        worst = smallest(sine, evidence.law, epsilon, kappa.shape[:-1]) * (
            1 + 1e-12
        )  # a root follows: it magnifies rounding
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
    many = np.prod(np.broadcast_shapes(records, shift.shape), dtype=int) > _MANY
    if not many or law.levels == 1 or shift.ndim == 0 or shift.shape[-1] == 1:
        return _zoomed(value, law, shift, 1 if many else _ZOOMS)
    columns = [_zoomed(value, law, shift[..., at : at + 1], 1) for at in range(shift.shape[-1])]
    return np.concatenate(columns, axis=-1)


def _zoomed(value: Callable[[Truncation], FloatArray], law: Law, shift: FloatArray, zooms: int) -> FloatArray:
    """A grid of levels, refined around its smallest value."""
    if law.levels == 1:
        return value(law.truncate(shift[..., None], np.zeros(1)))[..., 0]
    steps = np.linspace(0.0, 1.0, law.levels)
    low, high = law.level_range(shift)
    best = np.asarray(np.inf)
    for zoom in range(zooms):
        levels = low[..., None] + (high - low)[..., None] * steps
        values = value(_truncate(law, shift, levels))
        best = np.minimum(best, values.min(axis=-1))
        if zoom + 1 < zooms:
            near = _near(np.argmin(values, axis=-1), law)
            low, high = np.moveaxis(np.take_along_axis(np.broadcast_to(levels, values.shape), near, -1), -1, 0)
    return best


def _truncate(law: Law, shift: FloatArray, levels: FloatArray) -> Truncation:
    """Truncations at levels (..., L); records that look at the same levels of the same shift share them."""
    if shift.size > 1 or levels.size <= law.levels:
        return law.truncate(shift[..., None], levels)
    ends = levels[..., 0].ravel() + 1j * levels[..., -1].ravel()
    _, first, where = np.unique(ends, return_index=True, return_inverse=True)
    cut = law.truncate(shift.reshape(1, 1), levels.reshape(-1, law.levels)[first])
    missing, deviation = (one[where.ravel()].reshape(levels.shape) for one in (cut.missing, cut.deviation))
    return Truncation(missing, deviation)


def _near(at: npt.NDArray[np.intp], law: Law) -> npt.NDArray[np.intp]:
    """(..., 2) the places on both sides."""
    near: npt.NDArray[np.intp] = np.minimum(np.maximum(at[..., None] + np.array([-1, 1]), 0), law.levels - 1)
    return near
