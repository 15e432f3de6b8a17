"""Which features of a map stay above which others, pair by pair (docs/theory/reasons.md)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from attribound.bounds.cells import CellFact
from attribound.bounds.facts import Basis
from attribound.bounds.laws.base import Law
from attribound.bounds.proportions import proportion_lower
from attribound.bounds.shares import SHARES
from attribound.checks import NORM_SLACK, FloatArray
from attribound.errors import ArgumentError

_SLACK = 1e-12
"""Relative rounding allowed in sums of differences, and in a stored alpha."""

_HALVINGS = 40


@final
@dataclass(frozen=True, eq=False)
class Orders(CellFact):
    """How far some features of the map, chosen on the pilot, provably stay above each other feature.

    Attributes:
        features: (k,) which features, the pilot's largest first.
        radius: (k, m) no change of the input up to this brings the other feature level with this one; 0.0: unproved.
        alpha: failure probability of all pairs together.
    """

    features: FloatArray
    radius: FloatArray
    alpha: float
    name = "orders"

    @property
    def size(self) -> int:
        """Cells of the map."""
        return int(self.radius.shape[1])

    @property
    def spent(self) -> float:
        """All of it."""
        return self.alpha

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """A ValueError also for shapes and features from which nothing can be derived."""
        orders = super().from_json(stored)
        shape, chosen = np.shape(orders.radius), orders.features
        if np.ndim(chosen) != 1 or len(shape) != 2 or shape[0] != len(chosen) or not 1 <= shape[0] < shape[1]:
            raise ValueError("orders.radius does not hold one number per feature and cell")
        if not ((chosen >= 0) & (chosen < shape[1]) & (chosen == np.floor(chosen))).all():
            raise ValueError("orders.features are not cells of the map")
        if len(np.unique(chosen)) < len(chosen) or (orders.radius < 0).any() or not 0 < orders.alpha < 1:
            raise ValueError("orders holds a feature twice, or a negative radius, or an alpha that is not in (0, 1)")
        return orders

    @property
    def places(self) -> list[int]:
        """The features as whole numbers."""
        return [int(feature) for feature in self.features]

    def among(self, k: int) -> FloatArray:
        """(len(features),) up to which change each feature provably stays among the k largest: 0.0 if nothing is said.

        A feature that stays above m - k others is among the k largest, however ties are broken.
        """
        rivals = self.radius.copy()
        rivals[np.arange(len(rivals)), self.places] = -1.0  # nothing is above itself
        return np.maximum(np.sort(rivals, axis=1)[:, k], 0.0)

    def problems(self, basis: Basis) -> list[str]:
        """No two features above each other, and within the share of alpha."""
        pairs, share = self.radius[:, self.places], SHARES["orders"] * basis.alpha
        if self.spent > share * (1 + _SLACK):
            return [f"orders spent alpha {self.spent:g}, more than their share {share:g}"]
        if (np.diag(pairs) > 0).any() or ((pairs > 0) & (pairs.T > 0)).any():
            return ["orders put two features above each other"]
        if basis.law is not None and self.radius.max() > self.most(basis.draws, basis.law):
            return [f"orders hold further than {basis.draws} draws can prove"]
        return []

    def most(self, draws: int, law: Law) -> float:
        """No radius is larger than that of an event that all draws show."""
        return float(law.majority_radius(proportion_lower(draws, draws, self.alpha)))


def order_radii(
    start: FloatArray, step: FloatArray, counts: FloatArray, *, tested: int, limit: float, level: float, law: Law
) -> FloatArray:
    """Up to which change the mean of a difference of two features stays positive, from how often it exceeds thresholds.

    With probability at least 1 - level * counts.size all of them hold at once.

    Args:
        start: (...) first threshold of each difference, none below -sqrt(2) limit.
        step: (...) distance of its thresholds, >= 0.
        counts: (..., T) of `tested` draws, how many had a difference of at least start + step * t, t = 0..T - 1.
        tested: independent draws, none of which had a part in choosing the thresholds.
        limit: bound on the norm of every map, so that no difference is beyond sqrt(2) times it.
        level: failure probability of each lower bound on a proportion.
        law: the law of the noise.

    Returns:
        (...) radii, 0.0 where nothing is proved.
    """
    largest = math.sqrt(2.0) * limit * (1 + NORM_SLACK)
    if (start < -largest).any():
        raise ArgumentError(f"expected `start` >= {-largest:g}, the least difference, got {float(start.min()):g}")
    known, where = np.unique(counts, return_inverse=True)
    lower = proportion_lower(known, tested, level)[where.reshape(counts.shape)]

    def positive(epsilon: FloatArray) -> Any:
        kept = law.kept_probability(lower, epsilon[..., None])
        mean = (start + largest) * kept[..., 0] + step * kept[..., 1:].sum(axis=-1) - largest
        return mean > _SLACK * largest * counts.shape[-1]

    low, high = np.zeros(start.shape), np.full(start.shape, law.reach)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        holds = positive(middle)
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low
