r"""SHAP values of one tree on its grid.

For a leaf of value v whose path asks the columns 1..k, let o_j be 1 if the row passes the column's splits, else 0, and
z_j the share of training data that passes them. The leaf's share of the path-dependent SHAP value of column j is

    v (o_j - z_j) \int_0^1 \prod_{i != j} (z_i (1 - t) + o_i t) dt,

for the integral of t^s (1 - t)^(k - 1 - s) is s! (k - 1 - s)! / k!, the weight of a set of s columns. The integrand is
a polynomial of degree k - 1, so Gauss-Legendre nodes, half as many as columns, give it exactly; all its factors are
positive, so nothing cancels. Every factor depends on one column only: on a grid the values are sums over leaves and
nodes of products of one vector per column, two matrix products per tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attribound.forests.ensemble import FloatArray, IntArray
from attribound.forests.paths import Paths

_MOST_KEPT = 2**16
"""Numbers per tree that are kept for the next grid."""


@dataclass(frozen=True, eq=False)
class Terms:
    """A tree's leaves times nodes of integration, ready to be multiplied.

    Attributes:
        paths: the tree.
    """

    paths: Paths

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        points, weights = np.polynomial.legendre.leggauss(max(1, (self.paths.longest + 1) // 2))
        return (points + 1) / 2, weights / 2

    @cached_property
    def weights(self) -> FloatArray:
        """(terms, outputs): leaf value times weight of the node."""
        _, weights = self._nodes
        product = weights[:, None, None] * self.paths.value
        return product.reshape(-1, self.paths.value.shape[1])

    @cached_property
    def halves(self) -> tuple["Terms", "Terms"]:
        """The leaves below the two sides of the topmost split."""
        one, other = self.paths.halves()
        return Terms(one), Terms(other)

    @cached_property
    def _kept(self) -> list[tuple[FloatArray, FloatArray]] | None:
        """The factors of all classes, if these are few."""
        if len(self.weights) * sum(self.paths.shape) > _MOST_KEPT:
            return None
        return [self._factors(slot, np.arange(count)) for slot, count in enumerate(self.paths.shape)]

    def factors(self, slot: int, classes: IntArray) -> tuple[FloatArray, FloatArray]:
        """(terms, classes) twice: a column's factor, and what stands in its place in the column's own value."""
        if self._kept is None:
            return self._factors(slot, classes)
        factor, own = self._kept[slot]
        return factor[:, classes], own[:, classes]

    def _factors(self, slot: int, classes: IntArray) -> tuple[FloatArray, FloatArray]:
        points, _ = self._nodes
        passes = self.paths.inside[slot][:, classes].astype(np.float64)
        share = self.paths.share[:, slot][:, None]
        factor = share * (1 - points)[:, None, None] + passes * points[:, None, None]
        own = np.broadcast_to(passes - share, factor.shape)
        terms = factor.shape[0] * factor.shape[1]
        return factor.reshape(terms, -1), own.reshape(terms, -1)

    def grid(self, classes: Sequence[IntArray], outputs: IntArray) -> FloatArray:
        """SHAP values on a grid.

        Args:
            classes: the chosen classes of every asked column.
            outputs: positions among the tree's outputs.

        Returns:
            (cells, asked columns, outputs), the last column's classes changing fastest.
        """
        parts = [self.factors(slot, chosen) for slot, chosen in enumerate(classes)]
        moving = [slot for slot, chosen in enumerate(classes) if len(chosen) != 1]
        weights = self.weights[:, outputs]
        for slot, (factor, _) in enumerate(parts):
            if slot not in moving:
                weights = weights * factor
        middle = _middle([len(classes[slot]) for slot in moving])
        front = _products([parts[slot] for slot in moving[:middle]], len(weights))
        back = _products([parts[slot] for slot in moving[middle:]], len(weights))
        values = np.empty((front[0].shape[1], back[0].shape[1], len(parts), len(outputs)))
        for slot, (factor, own) in enumerate(parts):
            one, other, weight = front[0], back[0], weights
            if slot not in moving:
                weight = weights * (own / factor)
            elif (place := moving.index(slot)) < middle:
                one = front[1 + place]
            else:
                other = back[1 + place - middle]
            for output in range(len(outputs)):
                values[:, :, slot, output] = (one * weight[:, output, None]).T @ other
        return values.reshape(-1, len(parts), len(outputs))

    def rows(self, classes: Sequence[IntArray]) -> FloatArray:
        """SHAP values of single rows, (rows, asked columns, outputs), from their classes by column."""
        parts = [self.factors(slot, chosen) for slot, chosen in enumerate(classes)]
        values = np.empty((len(classes[0]), len(parts), self.weights.shape[1]))
        before = np.ones_like(parts[0][0])
        after = [before] * len(parts)
        for slot in range(len(parts) - 1, 0, -1):
            after[slot - 1] = after[slot] * parts[slot][0]
        for slot, (factor, own) in enumerate(parts):
            values[:, slot] = (before * after[slot] * own).T @ self.weights
            before = before * factor
        return values


def _products(parts: list[tuple[FloatArray, FloatArray]], terms: int) -> list[FloatArray]:
    """The product of all factors on the grid of some columns, then those with one column's own factor in place."""
    plain = np.ones((terms, 1))
    replaced: list[FloatArray] = []
    for factor, own in parts:
        replaced = [_outer(one, factor) for one in replaced] + [_outer(plain, own)]
        plain = _outer(plain, factor)
    return [plain, *replaced]


def _outer(one: FloatArray, other: FloatArray) -> FloatArray:
    product: FloatArray = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
    return product


def _middle(counts: list[int]) -> int:
    """Where to cut the columns so that both grids together are smallest."""
    sizes = [float(np.prod(counts[:at])) + float(np.prod(counts[at:])) for at in range(len(counts) + 1)]
    return int(np.argmin(sizes))
