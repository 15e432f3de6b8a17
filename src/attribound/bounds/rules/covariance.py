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

from attribound.bounds.facts import Length, Spread
from attribound.bounds.laws import Law, Truncation
from attribound.bounds.rules.base import Rule
from attribound.bounds.tight import VACUOUS
from attribound.checks import FloatArray

if TYPE_CHECKING:
    from attribound.bounds.evidence import Evidence

_STEPS, _MANY = 5, 4096
"""Parabolas that refine the best level, but not for more questions at once than this: pages do with the grid."""

_AROUND, _CLOSER = np.arange(-1, 2), 0.3
"""The three levels of a parabola, and how much closer those of the next one are."""


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
        return _searched(value, law, shift, 0 if many else _STEPS)
    columns = [_searched(value, law, shift[..., at : at + 1], 0) for at in range(shift.shape[-1])]
    return np.concatenate(columns, axis=-1)


def _searched(value: Callable[[Truncation], FloatArray], law: Law, shift: FloatArray, steps: int) -> FloatArray:
    """The smallest value on a grid of levels, and at the lowest points of parabolas through the best three.

    A parabola's lowest point is closer to the minimum by an order, and three levels closer around it make the next one.
    """
    if law.levels == 1:
        return value(law.truncate(shift[..., None], np.zeros(1)))[..., 0]
    low, high = law.level_range(shift)
    width = (high - low)[..., None] / (law.levels - 1)
    levels = low[..., None] + width * np.arange(law.levels)
    values = value(law.truncate(shift[..., None], levels))
    best, at = values.min(axis=-1), np.clip(np.argmin(values, axis=-1), 1, law.levels - 2)[..., None]
    three = np.take_along_axis(values, at + _AROUND, -1)
    middle = np.take_along_axis(np.broadcast_to(levels, values.shape), at, -1)
    for _ in range(steps):
        middle, width = middle + width * _lowest(three), width * _CLOSER
        three = value(law.truncate(shift[..., None], middle + width * _AROUND))
        best = np.minimum(best, three.min(axis=-1))
    return np.asarray(best)


def _lowest(three: FloatArray) -> FloatArray:
    """(..., 1) where the parabola through values (..., 3) at -1, 0 and 1 is lowest, between them."""
    left, middle, right = np.moveaxis(three, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lowest = (left - right) / (2 * (left - 2 * middle + right))
    within: FloatArray = np.clip(np.where(np.isfinite(lowest), lowest, 0.0), -1.0, 1.0)[..., None]
    return within
